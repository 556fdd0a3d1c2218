"""Ranking, judged: twenty questions, each with the one session that a person would want to see first."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from claude_session_player.search import StoreSearch
from tests.builder import START, SessionBuilder, call, text
from tests.searches import found_ids, open_search
from tests.stores import StoreBuilder

LEAST_RIGHT = 18

NOISE = "\n".join(
    (
        "2026-01-17 ERROR login failed for user ada: bug in the session cookie",
        "deprecated: parse_line is slow, use the new parser",
        "migration 0042 adds a column to the invoices table",
        "retry after timeout: connection to redis refused",
        "def render_markdown(text): ...  # escape html",
        "docker build --no-cache -t api .",
        "memory leak in the websocket handler (see issue 99)",
        "dark mode theme toggle button css",
        "flaky test: test_upload_large_file",
        "unicode normalization of file names",
    )
)
"""What logs and listings of other sessions contain: all words, and none of them what those sessions are about."""


def _write(builder: StoreBuilder, number: int, days: int, prompt: str, answer: str, *more: tuple[str, str]) -> str:
    """A session about something; `more` are titles, edits and commands."""
    id = f"{number:08}-0000-4000-8000-000000000000"
    session = SessionBuilder(session_id=id, start=START + timedelta(days=days)).prompt(prompt)
    for kind, what in more:
        if kind == "title":
            session.line({"type": "ai-title", "aiTitle": what, "sessionId": id})
        elif kind == "output":
            session.response(call("Bash", f"b{number}", command="cat log.txt"), request=f"o{number}")
            session.result(f"b{number}", what)
        else:
            session.response(call("Edit", f"e{number}", file_path=kind, old_string="pass", new_string=what))
            session.result(f"e{number}", "The file has been updated.")
    session.response(text(answer), request=f"r{number}").write(builder.home() / f"{id}.jsonl")
    return id


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> StoreSearch:
    folder = tmp_path_factory.mktemp("ranking")
    builder = StoreBuilder(folder / "store")
    sessions = (
        ("Users cannot log in since yesterday, fix the login bug", "Fixed: the login cookie expired too early."),
        ("Make the parser faster, parse_line is the hot spot", "parse_line now avoids a copy."),
        ("Write a database migration for the invoices table", "Migration 0042 adds the column."),
        ("Requests to redis time out, add a retry", "Added a retry with backoff after each timeout."),
        ("Render markdown safely", "render_markdown now escapes HTML."),
        ("The docker image is too large", "A multi-stage build makes the image smaller."),
        ("Our websocket server leaks memory", "The handler kept every connection: fixed the memory leak."),
        ("Add a dark mode", "There is a theme toggle now."),
        ("test_upload_large_file is flaky, make it stable", "It waits for the upload to finish now."),
        ("File names with umlauts break the export", "Names are normalized to NFC."),
        ("Explain how the garbage collector works", "It counts references, and looks for cycles."),
        ("Set up continuous integration with two Python versions", "The workflow runs on both versions."),
        ("Rename the package from kettle to teapot", "Renamed everywhere, also in the docs."),
        ("Why is the build slow?", "The type checker runs twice: removed one run."),
        ("Upgrade to Python 3.13", "Upgraded; asyncore is gone, so the server uses asyncio."),
        ("Add pagination to the orders endpoint", "The endpoint takes page and size."),
        ("Translate the error messages to German", "Die Meldungen sind übersetzt."),
        ("Implement OAuth with GitHub", "OAuth works: the callback stores the token."),
        ("The report shows wrong totals for refunds", "Refunds were counted twice."),
        ("Profile start-up time", "Importing the plugins takes most of the time."),
    )
    for number, (prompt, answer) in enumerate(sessions, 1):
        more = [("output", NOISE)] if number % 3 == 0 else []
        _write(builder, number, number, prompt, answer, *more)
    _write(builder, 21, 30, "Look at the log, please", "I see errors.", ("output", NOISE * 20))
    _write(builder, 22, 31, "Clean up", "Done.", ("title", "Refactor the billing module"))
    _write(builder, 23, 32, "Continue", "Done.", ("src/billing/refunds.py", "def refund_total(orders): ..."))
    _write(builder, 24, 33, "Check everything again", "All is well.", ("output", json.dumps(sessions)))
    _write(builder, 25, 34, "Update the changelog", "It mentions login, parser, redis, docker and dark mode.")
    return open_search(builder.root, folder / "cache")


QUESTIONS = (
    ("login bug", 1),
    ("fix login", 1),
    ("parse_line", 2),
    ("faster parser", 2),
    ("migration invoices", 3),
    ("redis timeout", 4),
    ("redis retry", 4),
    ("render markdown", 5),
    ("docker image", 6),
    ("websocket memory", 7),
    ('"dark mode"', 8),
    ("flaky upload", 9),
    ("umlauts", 10),
    ("garbage collector", 11),
    ("github oauth", 18),
    ("billing refactor", 22),
    ("path:refunds.py", 23),
    ("refunds totals", 19),
    ("pagination", 16),
    ("python upgrade*", 15),
)


def test_the_wanted_session_comes_first_in_almost_all_judged_questions(search: StoreSearch) -> None:
    wrong = []
    for query, number in QUESTIONS:
        found = found_ids(search.search([query]))
        if not found or int(found[0][:8]) != number:
            wrong.append((query, number, [int(id[:8]) for id in found[:3]]))
    assert len(QUESTIONS) == 20
    assert len(QUESTIONS) - len(wrong) >= LEAST_RIGHT, wrong
