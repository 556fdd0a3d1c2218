"""Events to entries, one after another: who said what, and what the harness did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from msgspec import Raw

from claude_session_player.format import lenient_json
from claude_session_player.format.content import Picture, joined, pictures_of
from claude_session_player.format.events import (
    CONVERSATION,
    FAILED_REQUESTS,
    NOTHING,
    QUEUED,
    QUIET_RECORDS,
    AnyBlock,
    Assistant,
    Attachment,
    Blank,
    Content,
    Document,
    Event,
    Image,
    Malformed,
    Other,
    PermissionMode,
    Progress,
    Quiet,
    RedactedThinking,
    ServerToolUse,
    System,
    Text,
    Thinking,
    Title,
    TooLong,
    ToolResult,
    ToolUse,
    Unknown,
    User,
    tag_of,
    text_of,
)
from claude_session_player.format.partial_records import places_of_subagents
from claude_session_player.format.prompts import CONTINUATION, classify
from claude_session_player.line_audit import BLANK, MALFORMED, SHOWN, Account, Issue, Outcome, hidden, unknown
from claude_session_player.linking.copies import Copies
from claude_session_player.linking.prompts import is_from_person, is_injected, with_queued_prompts
from claude_session_player.transcript.entries import ATTACHMENTS, RECORDS, SUBTYPES, Description, Entry, Kind, Remarks
from claude_session_player.transcript.forks import Fork, Return
from claude_session_player.transcript.pending import Window
from claude_session_player.transcript.tree import PLAIN, SIDE, TOOL, Growth
from claude_session_player.util.humanize import span
from claude_session_player.util.text import clean, trim_breaks

if TYPE_CHECKING:
    from claude_session_player.transcript.subagents import Cast

COPY: Final = hidden("copy of an earlier line")
SIDECHAIN: Final = hidden("sub-agent that is told elsewhere")

_NO_ANSWER: Final = hidden("answer without text")
_NO_THOUGHT: Final = hidden("thought without text")
_NO_CONTENT: Final = "(No content)"
_EMPTY: Final = "(Empty)"
_LOUD: Final = frozenset(("error", "warning", "notice"))
"""The levels of remarks that a person should see."""


class Telling:
    """One conversation as it is told: that of a session, or that of a sub-agent (`is_agent`).

    `account` says what became of every line, `growth` how the conversation forked.
    """

    def __init__(self, cast: Cast, *, is_agent: bool = False, known: Set[str | None] = frozenset()) -> None:
        self.cast = cast
        self.account = Account()
        self.growth = Growth(SIDE if is_agent else PLAIN)
        self.odd_blocks: dict[str, int] = {}
        """The kinds of blocks that nobody knows, and the first line of each."""
        self._is_agent = is_agent
        self._copies = Copies(known)
        self._window = Window(cast)
        self._remarks = Remarks()
        self._known = known
        self._uuids: set[str] = set()
        """Of records that have no words of their own."""

    def entries(self, events: Iterable[Event]) -> Iterator[Entry]:
        """Every entry, in the order of the file."""
        window, takers = self._window, _TAKERS
        for some, copied in self._copies.batches(with_queued_prompts(events, is_agent=self._is_agent)):
            marked = zip(some, copied or repeat(False), strict=False)
            if self.cast.is_order_free and (self._is_agent or not places_of_subagents(some)):
                if copied is None:
                    outcomes = [takers[type(event)](self, event) for event in some]
                else:
                    outcomes = [self._own_or_overheard(event, is_copy) for event, is_copy in marked]
                self.account.add_all([event.line for event in some], outcomes)
                yield from window.ready()
                continue
            for event, is_copy in marked:  # a call shall find the sub-agents that are known when its result comes
                self.account.add(event.line, self._own_or_overheard(event, is_copy))
                yield from window.ready()
        yield from window.rest()

    def _own_or_overheard(self, event: Event, is_copy: bool) -> Outcome:
        is_side = not self._is_agent and (event.is_sidechain or event.agent_call) and type(event) in CONVERSATION
        if is_side:
            return self._overheard(event, is_copy)
        return self._copied(event) if is_copy else _TAKERS[type(event)](self, event)

    def _overheard(self, event: Event, is_copy: bool) -> Outcome:
        """A line of a sub-agent inside of the file, which is told where it was called."""
        self.growth.remark(event)
        if is_copy:
            return COPY
        self.cast.overhear(event)
        return SIDECHAIN

    def _copied(self, event: Event) -> Outcome:
        """A line that says again what was said before: it is a part of the tree, and nothing else."""
        said = event.said if isinstance(event, User) else None
        if type(said) is list and len(said) == 1 and type(said[0]) is ToolResult:
            self.growth.plain(event, TOOL)
        elif type(event) is System:
            self.growth.remark(event)
        else:
            self.growth.copy(event)
        return COPY

    def _fork(self, event: Event, fork: Fork) -> None:
        """Tell where the conversation goes back, or goes on where it was before."""
        self._add(event, Kind.RETURN if isinstance(fork, Return) else Kind.FORK, body=fork)

    def _add(
        self,
        event: Event,
        kind: Kind,
        text: str = "",
        *,
        pictures: tuple[Picture, ...] = (),
        body: Any = None,
        aside: bool = False,
    ) -> Outcome:
        entry = Entry(kind, event.line, event.timestamp, event.uuid, text, pictures, body, aside)
        self._window.waiting.append(entry)
        return SHOWN

    # --- in a user's place --------------------------------------------------------------------------

    def user(self, event: User) -> Outcome:
        """A prompt, results, or something that the harness put in."""
        said = event.said
        if type(said) is list and len(said) == 1 and type(block := said[0]) is ToolResult:  # nine lines of ten
            self.growth.plain(event, TOOL)
            return self._window.result(event, block, event.tool_use_result)
        if event.permission_mode and (words := self._remarks.permission_mode(event.permission_mode)):
            self._add(event, Kind.NOTE, words, body=tag_of(PermissionMode), aside=True)
        blocks = said if isinstance(said, list) else []
        rest = [block for block in blocks if type(block) is not ToolResult]
        if len(rest) == len(blocks):
            return self._said(event, said, event)
        if not rest:
            self.growth.plain(event, TOOL)
        alone = event.tool_use_result if len(blocks) - len(rest) == 1 else NOTHING
        outcomes = []
        for block in blocks:  # in the order of the file; the prompt stands where its first block does
            if type(block) is ToolResult:
                outcomes.append(self._window.result(event, block, alone))
            elif block is rest[0]:
                outcomes.append(self._said(event, rest, event))
        return _most_visible(outcomes)

    def attachment(self, event: Attachment) -> Outcome:
        """What a person typed while the model was at work; all else is context."""
        attached = event.attachment
        if attached is None or attached.type != QUEUED:
            self.growth.plain(event)
            if attached is None:
                return hidden("attachment")
            outcome = _unseen("attachment", attached.type)
            description = ATTACHMENTS.get(attached.type)
            return self._remark(event, attached, description, attached.type, outcome) if description else outcome
        return self._said(event, attached.prompt, User(is_meta=attached.is_meta))

    def _said(self, event: Event, said: Content, flags: User) -> Outcome:
        """A text in a user's place, with the flags that say whose it is."""
        if not said and said != "":
            self.growth.remark(event)
            return self._add(event, Kind.TASK, _EMPTY if said is None else _NO_CONTENT)
        pictures: tuple[Picture, ...] = ()
        whole = said if isinstance(said, str) else joined(said or [])
        if isinstance(said, list):
            pictures = pictures_of(said)
            self._note_odd(event, said)
            said = joined([block for block in said if not isinstance(block, Image | Document)])
        if flags.is_compact_summary:
            self.growth.remark(event)
            return self._add(event, Kind.SUMMARY, trim_breaks(clean(said)))
        if flags.is_meta or flags.is_visible_in_transcript_only:
            self.growth.remark(event)
            return self._add(event, Kind.INJECTED, trim_breaks(clean(said)), pictures=pictures, aside=True)
        return self._classified(event, whole, said, pictures, is_injected(flags))

    def _classified(
        self, event: Event, whole: str, text: str, pictures: tuple[Picture, ...], injected: bool
    ) -> Outcome:
        """What `whole` says decides what it is; it is told without what stands for pictures, as `text`."""
        found = classify(whole)
        if found.prompt and not found.prompt.isspace():
            prompt = _without_pictures(found.prompt) if pictures else found.prompt
            is_person = not injected and is_from_person(whole)
            if not is_person or found.is_command:
                self.growth.plain(event)
            elif (fork := self.growth.prompt(event)) is not None:
                self._fork(event, fork)
            kind = Kind.MESSAGE if not is_person else Kind.TASK if self._is_agent else Kind.PROMPT
            return self._add(event, kind, prompt, pictures=pictures)
        self.growth.remark(event)
        if found.outputs:
            return self._add(event, Kind.OUTPUT, "\n".join(found.outputs), pictures=pictures)
        if found.hidden_by is CONTINUATION:
            return self._add(event, Kind.SUMMARY, trim_breaks(clean(text)))
        if whole.strip():
            return self._add(event, Kind.INJECTED, trim_breaks(clean(text)), pictures=pictures, aside=True)
        return found.hidden_by

    def _note_odd(self, event: Event, blocks: list[AnyBlock]) -> None:
        for block in blocks:
            if isinstance(block, Other):
                self._block(event, block)

    # --- the model ----------------------------------------------------------------------------------

    def assistant(self, event: Assistant) -> Outcome:
        """Every block of an answer."""
        message, said = event.message, event.said
        fork = self.growth.response(event, event.request_id or (message.id if message else None))
        if fork is not None:
            self._fork(event, fork)
        if event.is_api_error and not said:
            return self._add(event, Kind.ERROR, _reason(NOTHING, event.error))
        if said is None or said == []:
            return self._add(event, Kind.ANSWER, _EMPTY if said is None else _NO_CONTENT)
        blocks = [Text(said)] if isinstance(said, str) else said
        if len(blocks) == 1:
            return _BLOCKS[type(blocks[0])](self, event, blocks[0])
        return _most_visible([_BLOCKS[type(block)](self, event, block) for block in blocks])

    def _text(self, event: Assistant, block: Text) -> Outcome:
        text = trim_breaks(clean(block.text or ""))
        if not text or text.isspace():
            return _NO_ANSWER
        return self._add(event, Kind.ERROR if event.is_api_error else Kind.ANSWER, text)

    def _thought(self, event: Event, block: Thinking) -> Outcome:
        text = trim_breaks(clean(text_of(block.thinking)))
        return self._add(event, Kind.THOUGHT, text) if text.strip() else _NO_THOUGHT

    def _called(self, event: Event, block: ToolUse) -> Outcome:
        return self._window.call(event, block)

    def _redacted(self, event: Event, block: RedactedThinking) -> Outcome:
        return self._add(event, Kind.THOUGHT, "(redacted)")

    def _picture(self, event: Event, block: Image | Document) -> Outcome:
        return self._add(event, Kind.ANSWER, pictures=pictures_of([block]))

    def _answered(self, event: Event, block: ToolResult) -> Outcome:
        return self._window.result(User(line=event.line, timestamp=event.timestamp, uuid=event.uuid), block, NOTHING)

    def _block(self, event: Event, block: AnyBlock) -> Outcome:
        self.odd_blocks.setdefault(block.kind, event.line)
        body = block.body if isinstance(block, Other) else None
        return self._add(event, Kind.BLOCK, block.kind, body=body)

    # --- the harness --------------------------------------------------------------------------------

    def _remark(
        self, event: Event, source: Any, description: Description, name: str | None, unseen: Outcome
    ) -> Outcome:
        """One line about a record, or about a part of it (`source`), where it has anything to say."""
        words = description.words(self._remarks, source)
        if not words:
            return unseen
        return self._add(event, description.kind, words, body=name, aside=not description.is_told(source))

    def system(self, event: System) -> Outcome:
        """Compactions, errors, recaps; what else the harness remarks is told only in full."""
        self.growth.remark(event)
        match event.subtype:
            case "compact_boundary":
                facts = event.compact_metadata or event.stream_compaction
                return self._add(event, Kind.COMPACTION, _compaction(facts), body=facts)
            case "turn_duration":
                return self._add(event, Kind.NOTE, f"turn took {span(int(event.duration_ms or 0) / 1000)}", aside=True)
            case subtype if subtype in FAILED_REQUESTS:
                return self._add(event, Kind.ERROR, _reason(event.content, event.error))
        if (description := SUBTYPES.get(event.subtype)) is not None:
            return self._remark(event, event, description, event.subtype, _unseen("system", event.subtype))
        found = classify(text_of(event.content))
        text = trim_breaks("\n".join(found.outputs) or found.prompt or "")
        if not text.strip():
            return hidden(f"system {event.subtype}" if event.subtype else "system")
        if event.subtype == "away_summary":
            return self._add(event, Kind.SUMMARY, text)
        if event.subtype == "local_command":
            return self._add(event, Kind.OUTPUT, text)
        return self._add(event, Kind.NOTE, text, aside=event.level not in _LOUD)

    def progress(self, event: Progress) -> Outcome:
        """A sign of life is not told; what a sub-agent reports in it may be."""
        self.growth.plain(event)
        data = event.data
        if data is not None and data.agent_id:
            self.cast.report(event, is_awaited=self._window.is_waiting(event.parent_call))
        return _unseen("progress", data.type) if data else hidden("progress")

    def quiet(self, event: Quiet) -> Outcome:
        """Titles, state, links: a summary is told."""
        self.growth.plain(event)
        if isinstance(event, Title) and event.kind == "summary" and event.title:
            return self._add(event, Kind.SUMMARY, trim_breaks(clean(event.title)))
        if (description := RECORDS.get(type(event))) is not None:
            return self._remark(event, event, description, event.kind, hidden(event.kind))
        return hidden(event.kind)

    def unknown(self, event: Unknown) -> Outcome:
        """A record of a type that nobody knows: that it is there is told."""
        self.growth.remark(event)
        self.account.unknown_events[event.name] += 1
        self.account.first_seen.setdefault(event.name, event.line)
        if not self._is_repeated(event):
            self._add(event, Kind.RECORD, "Unknown record", body=event.name)
        return unknown(event.name)

    def other(self, event: Event) -> Outcome:
        """A record that no other method takes: in words of its own, or that it is there."""
        if isinstance(event, Quiet):
            return self.quiet(event)
        self.growth.remark(event)
        if (description := RECORDS.get(type(event))) is not None:
            return self._remark(event, event, description, event.kind, hidden(event.kind))
        if self._is_repeated(event):
            return COPY
        return self._add(event, Kind.RECORD, "Record", body=event.kind)

    def _is_repeated(self, event: Event) -> bool:
        """True for a record of another type than those that `Copies` compares, where its uuid was there before."""
        uuid = event.uuid
        if uuid is None:
            return False
        is_repeated = uuid in self._known or uuid in self._uuids
        self._uuids.add(uuid)
        return is_repeated

    def malformed(self, event: Malformed) -> Outcome:
        """A line that could not be read."""
        self.account.issues.append(Issue(event.line, event.offset, event.reason))
        return MALFORMED

    def too_long(self, event: TooLong) -> Outcome:
        """A line that is too large to be read: that it is there is told."""
        self._add(event, Kind.NOTE, f"Line {event.line}: {event.reason}", body=event.kind)
        return self.malformed(event)

    def blank(self, event: Blank) -> Outcome:
        """A line with nothing on it."""
        return BLANK


def _without_pictures(prompt: str) -> str:
    """A prompt without the lines that stand for its pictures and documents."""
    return trim_breaks("\n".join(line for line in prompt.split("\n") if line not in ("[image]", "[document]")))


@lru_cache(1000)
def _unseen(kind: str, about: str | None) -> Outcome:
    return hidden(f"{kind} {about}")


def _most_visible(outcomes: Iterable[Outcome]) -> Outcome:
    return min(outcomes, key=lambda outcome: outcome.fate)


def _compaction(facts: Any) -> str:
    if facts is None:
        return ""
    tokens = f"{facts.pre_tokens:,} tokens" if facts.pre_tokens else ""
    return ", ".join(filter(None, (facts.trigger, tokens)))


def _reason(content: Raw, cause: Raw) -> str:
    """Why a request failed, in the words of the API where there are any."""
    text = text_of(content)
    error = lenient_json.load(cause)
    if not text and isinstance(error, dict):
        inner = error.get("error")
        found = next((v for v in (error.get("formatted"), error.get("message")) if isinstance(v, str) and v), None)
        text = found or lenient_json.compact(inner if isinstance(inner, dict) else error)
    return trim_breaks(clean(text)) or "a request failed"


class _Table(dict[type, Callable[..., Outcome]]):
    """Methods by type, and one for all other types: as fast as a dictionary, and without its error."""

    def __init__(self, methods: dict[type, Callable[..., Outcome]], other: Callable[..., Outcome]) -> None:
        super().__init__(methods)
        self._other = other

    def __missing__(self, kind: type) -> Callable[..., Outcome]:
        return self._other


_BLOCKS: Final = _Table(
    {
        Text: Telling._text,
        Thinking: Telling._thought,
        RedactedThinking: Telling._redacted,
        ToolUse: Telling._called,
        ServerToolUse: Telling._called,
        ToolResult: Telling._answered,
        Image: Telling._picture,
        Document: Telling._picture,
    },
    Telling._block,
)

_TAKERS: Final = _Table(
    {
        User: Telling.user,
        Assistant: Telling.assistant,
        System: Telling.system,
        Progress: Telling.progress,
        Attachment: Telling.attachment,
        Unknown: Telling.unknown,
        Malformed: Telling.malformed,
        TooLong: Telling.too_long,
        Blank: Telling.blank,
        **dict.fromkeys(QUIET_RECORDS, Telling.quiet),
    },
    Telling.other,
)
