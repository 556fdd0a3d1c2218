"""Sessions about which commands once disagreed, each a builder with its name; real files are seldom like that."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from tests.builder import SessionBuilder, call, text, timestamp, uuid_of
from tests.stores import ONE

PICTURE: Final = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def session() -> SessionBuilder:
    """An empty one."""
    return SessionBuilder(session_id=ONE)


def forked_twice() -> SessionBuilder:
    """Somebody went back to the same place two times."""
    built = session().prompt("Hi").response(text("Yes?")).prompt("One").response(text("First."))
    built.back_to(2).prompt("Two").response(text("Second."))
    return built.back_to(2).prompt("Three").response(text("Third."))


def forked_at_one_time() -> SessionBuilder:
    """Two prompts behind one response have the same time, and other words."""
    time = timestamp(50)
    built = session().prompt("Hi").response(text("Yes?")).prompt("One", timestamp=time).response(text("First."))
    return built.back_to(2).prompt("Two", timestamp=time).response(text("Second."))


def queued(built: SessionBuilder, operation: str, **more: Any) -> SessionBuilder:
    """One operation on the queue."""
    return built.line({"type": "queue-operation", "operation": operation, "timestamp": timestamp(9), **more})


def queue_beside_a_task() -> SessionBuilder:
    """A sub-agent inside of the file is given the words that wait in the queue."""
    built = queued(session().prompt("Go").response(text("On it.")), "enqueue", content="Look around")
    built.prompt("Look around", isSidechain=True, parentUuid=None)
    return queued(built, "remove").response(text("Yes."))


def queue_beside_an_answer() -> SessionBuilder:
    """A sub-agent answers between a queued prompt and the line that holds it."""
    built = queued(session().prompt("Go").response(text("On it.")), "enqueue", content="Look around")
    queued(built, "remove").response(text("Aside."), isSidechain=True, parentUuid=None)
    return built.prompt("Look around").response(text("Yes."))


def nameless_calls() -> SessionBuilder:
    """Calls and results of a dialect without ids."""
    built = session().prompt("Go")
    for name, error in (("Read", False), ("Write", False), ("Read", True)):
        path = "/gone" if error else "/a"
        built.line(
            {"type": "tool_use", "tool_name": name, "tool_input": {"file_path": path}, "timestamp": timestamp(5)}
        )
        built.line({"type": "tool_result", "tool_name": name, "tool_output": "x", "is_error": error})
    return built


def failed_twice() -> SessionBuilder:
    """The same failed request on two lines; and a failure inside of an answer."""
    built = session().prompt("Go")
    for _ in range(2):
        built.block(text("API Error: 529"), request="r", isApiErrorMessage=True)
    failure = {"type": "tool_result", "tool_use_id": "w", "content": "no", "is_error": True}
    return built.response(call("WebThing", "w")).response(failure)


def pictures_with_words() -> SessionBuilder:
    """Pictures before texts that are no prompts when they stand alone."""
    built = session().prompt([PICTURE])
    for words in ("<local-command-stdout>x</local-command-stdout>", "Unknown skill: x", "Look", "<command-name>/x"):
        built.prompt([PICTURE, text(words)]).response(text("Yes."))
    return built


def written_anew(**missing: Any) -> SessionBuilder:
    """A conversation that was written anew by a program that leaves things out."""
    built = session().prompt("fix it").response(text("Fixed."), request="r1", **missing)
    built.prompt("other").response(text("Done."), request="r2", **missing)
    for words, answer, request in (("fix it", "Fixed.", "r1"),):
        more = {"uuid": uuid_of(900), "timestamp": timestamp(900)}
        built.prompt(words, **more)
        built.block(text(answer), request=request, **missing | {"uuid": uuid_of(901), "timestamp": timestamp(900)})
    return built


def without_requests(built: SessionBuilder) -> SessionBuilder:
    """The same session, whose last answer does not name its request."""
    record = json.loads(built.lines.pop())
    del record["requestId"]
    return built.line(record)


def two_agents_in_one_text() -> SessionBuilder:
    """A tool that started two sub-agents, of which none has a file."""
    return session().prompt("Go").response(call("Delegate", "d")).result("d", "agentId: a1\nagentId: a2 done")


SESSIONS: Final[dict[str, Callable[[], SessionBuilder]]] = {
    function.__name__: function
    for function in (
        forked_twice,
        forked_at_one_time,
        queue_beside_a_task,
        queue_beside_an_answer,
        nameless_calls,
        failed_twice,
        pictures_with_words,
        two_agents_in_one_text,
    )
} | {
    "written_anew": written_anew,
    "written_anew_without_request": lambda: without_requests(written_anew()),
    "written_anew_without_usage": lambda: written_anew(usage=None),
    "written_anew_by_nobody": lambda: written_anew(model="<synthetic>"),
}
