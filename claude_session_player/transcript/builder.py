"""Events to entries, one after another: who said what, and what the harness did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from msgspec import Raw

from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import (
    NOTHING,
    AnyBlock,
    Content,
    Document,
    Image,
    RedactedThinking,
    ServerToolUse,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UnknownBlock,
    raw_as_text,
    type_tag,
)
from claude_session_player.format.content import Picture, find_pictures, join_texts
from claude_session_player.format.events import (
    CONVERSATION,
    FAILED_REQUESTS,
    QUEUED,
    QUIET_RECORDS,
    Assistant,
    Attachment,
    Blank,
    Event,
    HiddenRecord,
    Malformed,
    PermissionMode,
    Progress,
    System,
    Title,
    TooLong,
    UnknownRecord,
    User,
)
from claude_session_player.format.partial_records import subagent_positions
from claude_session_player.format.prompts import CONTINUATION, classify_prompt
from claude_session_player.line_audit import (
    BLANK,
    MALFORMED,
    SHOWN,
    LineAudit,
    LineIssue,
    LineOutcome,
    hidden_by_rule,
    unknown_type,
)
from claude_session_player.linking.copies import CopyDetector
from claude_session_player.linking.prompts import is_from_person, is_injected, with_queued_prompts
from claude_session_player.transcript.entries import (
    ATTACHMENTS,
    RECORDS,
    SUBTYPES,
    Entry,
    EntryKind,
    NoticeRule,
    Notices,
    PendingEntries,
)
from claude_session_player.transcript.forks import Fork, ReturnPoint
from claude_session_player.transcript.tree import LazyTree, LineRole
from claude_session_player.util.humanize import short_duration
from claude_session_player.util.text import strip_escapes, trim_breaks

if TYPE_CHECKING:
    from claude_session_player.transcript.subagents import SubagentFinder

COPY: Final = hidden_by_rule("copy of an earlier line")
SIDECHAIN: Final = hidden_by_rule("sub-agent that is told elsewhere")

_NO_ANSWER: Final = hidden_by_rule("answer without text")
_NO_THOUGHT: Final = hidden_by_rule("thought without text")
_NO_CONTENT: Final = "(No content)"
_EMPTY: Final = "(Empty)"
_LOUD: Final = frozenset(("error", "warning", "notice"))
"""The levels of remarks that a person should see."""


class TranscriptBuilder:
    """One conversation as it is told: that of a session, or that of a sub-agent (`is_agent`).

    `account` says what became of every line, `growth` how the conversation forked.
    """

    def __init__(self, cast: SubagentFinder, *, is_agent: bool = False, known: Set[str | None] = frozenset()) -> None:
        self.cast = cast
        self.account = LineAudit()
        self.lazy_tree = LazyTree(LineRole.SIDECHAIN if is_agent else LineRole.PLAIN)
        self.odd_blocks: dict[str, int] = {}
        """The kinds of blocks that is not known, and the first line of each."""
        self._is_agent = is_agent
        self._copies = CopyDetector(known)
        self._window = PendingEntries(cast)
        self._remarks = Notices()
        self._known = known
        self._uuids: set[str] = set()
        """Of records that have no words of their own."""

    def entries(self, events: Iterable[Event]) -> Iterator[Entry]:
        """Every entry, in the order of the file."""
        window, takers = self._window, _TAKERS
        for some, copied in self._copies.batches(with_queued_prompts(events, is_agent=self._is_agent)):
            marked = zip(some, copied or repeat(False), strict=False)
            if self.cast.is_order_free and (self._is_agent or not subagent_positions(some)):
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

    def _own_or_overheard(self, event: Event, is_copy: bool) -> LineOutcome:
        is_side = not self._is_agent and (event.is_sidechain or event.agent_call) and type(event) in CONVERSATION
        if is_side:
            return self._overheard(event, is_copy)
        return self._copied(event) if is_copy else _TAKERS[type(event)](self, event)

    def _overheard(self, event: Event, is_copy: bool) -> LineOutcome:
        """A line of a sub-agent inside the file, which is told where it was called."""
        self.lazy_tree.add_other(event)
        if is_copy:
            return COPY
        self.cast.overhear(event)
        return SIDECHAIN

    def _copied(self, event: Event) -> LineOutcome:
        """A line that says again what was said before: it is a part of the tree, and nothing else."""
        said = event.message_content if isinstance(event, User) else None
        if type(said) is list and len(said) == 1 and type(said[0]) is ToolResult:
            self.lazy_tree.add_plain(event, LineRole.TOOL)
        elif type(event) is System:
            self.lazy_tree.add_other(event)
        else:
            self.lazy_tree.add_copy(event)
        return COPY

    def _fork(self, event: Event, fork: Fork) -> None:
        """Tell where the conversation goes back, or goes on where it was before."""
        self._add(event, EntryKind.RETURN if isinstance(fork, ReturnPoint) else EntryKind.FORK, body=fork)

    def _add(
        self,
        event: Event,
        kind: EntryKind,
        text: str = "",
        *,
        pictures: tuple[Picture, ...] = (),
        body: Any = None,
        aside: bool = False,
    ) -> LineOutcome:
        entry = Entry(kind, event.line, event.timestamp, event.uuid, text, pictures, body, aside)
        self._window.waiting.append(entry)
        return SHOWN

    # --- in a user's place --------------------------------------------------------------------------

    def user(self, event: User) -> LineOutcome:
        """A prompt, results, or something that the harness put in."""
        said = event.message_content
        if type(said) is list and len(said) == 1 and type(block := said[0]) is ToolResult:  # nine lines of ten
            self.lazy_tree.add_plain(event, LineRole.TOOL)
            return self._window.result(event, block, event.tool_use_result)
        if event.permission_mode and (words := self._remarks.permission_mode(event.permission_mode)):
            self._add(event, EntryKind.NOTE, words, body=type_tag(PermissionMode), aside=True)
        blocks = said if isinstance(said, list) else []
        rest = [block for block in blocks if type(block) is not ToolResult]
        if len(rest) == len(blocks):
            return self._said(event, said, event)
        if not rest:
            self.lazy_tree.add_plain(event, LineRole.TOOL)
        alone = event.tool_use_result if len(blocks) - len(rest) == 1 else NOTHING
        outcomes = []
        for block in blocks:  # in the order of the file; the prompt stands where its first block does
            if type(block) is ToolResult:
                outcomes.append(self._window.result(event, block, alone))
            elif block is rest[0]:
                outcomes.append(self._said(event, rest, event))
        return _most_visible(outcomes)

    def attachment(self, event: Attachment) -> LineOutcome:
        """What a person typed while the model was at work; all else is context."""
        attached = event.attachment
        if attached is None or attached.type != QUEUED:
            self.lazy_tree.add_plain(event)
            if attached is None:
                return hidden_by_rule("attachment")
            outcome = _unseen("attachment", attached.type)
            description = ATTACHMENTS.get(attached.type)
            return self._remark(event, attached, description, attached.type, outcome) if description else outcome
        return self._said(event, attached.prompt, User(is_meta=attached.is_meta))

    def _said(self, event: Event, said: Content, flags: User) -> LineOutcome:
        """A text in a user's place, with the flags that say whose it is."""
        if not said and said != "":
            self.lazy_tree.add_other(event)
            return self._add(event, EntryKind.TASK, _EMPTY if said is None else _NO_CONTENT)
        pictures: tuple[Picture, ...] = ()
        whole = said if isinstance(said, str) else join_texts(said or [])
        if isinstance(said, list):
            pictures = find_pictures(said)
            self._note_odd(event, said)
            said = join_texts([block for block in said if not isinstance(block, Image | Document)])
        if flags.is_compact_summary:
            self.lazy_tree.add_other(event)
            return self._add(event, EntryKind.SUMMARY, trim_breaks(strip_escapes(said)))
        if flags.is_meta or flags.is_visible_in_transcript_only:
            self.lazy_tree.add_other(event)
            return self._add(event, EntryKind.INJECTED, trim_breaks(strip_escapes(said)), pictures=pictures, aside=True)
        return self._classified(event, whole, said, pictures, is_injected(flags))

    def _classified(
        self, event: Event, whole: str, text: str, pictures: tuple[Picture, ...], injected: bool
    ) -> LineOutcome:
        """What `whole` says decides what it is; it is told without what stands for pictures, as `text`."""
        found = classify_prompt(whole)
        if found.prompt and not found.prompt.isspace():
            prompt = _without_pictures(found.prompt) if pictures else found.prompt
            is_person = not injected and is_from_person(whole)
            if not is_person or found.is_command:
                self.lazy_tree.add_plain(event)
            elif (fork := self.lazy_tree.add_prompt(event)) is not None:
                self._fork(event, fork)
            kind = EntryKind.MESSAGE if not is_person else EntryKind.TASK if self._is_agent else EntryKind.PROMPT
            return self._add(event, kind, prompt, pictures=pictures)
        self.lazy_tree.add_other(event)
        if found.outputs:
            return self._add(event, EntryKind.OUTPUT, "\n".join(found.outputs), pictures=pictures)
        if found.hidden_by is CONTINUATION:
            return self._add(event, EntryKind.SUMMARY, trim_breaks(strip_escapes(text)))
        if whole.strip():
            return self._add(event, EntryKind.INJECTED, trim_breaks(strip_escapes(text)), pictures=pictures, aside=True)
        return found.hidden_by

    def _note_odd(self, event: Event, blocks: list[AnyBlock]) -> None:
        for block in blocks:
            if isinstance(block, UnknownBlock):
                self._block(event, block)

    # --- the model ----------------------------------------------------------------------------------

    def assistant(self, event: Assistant) -> LineOutcome:
        """Every block of an answer."""
        message, said = event.message, event.message_content
        fork = self.lazy_tree.add_response(event, event.request_id or (message.id if message else None))
        if fork is not None:
            self._fork(event, fork)
        if event.is_api_error and not said:
            return self._add(event, EntryKind.ERROR, _reason(NOTHING, event.error))
        if said is None or said == []:
            return self._add(event, EntryKind.ANSWER, _EMPTY if said is None else _NO_CONTENT)
        blocks = [Text(said)] if isinstance(said, str) else said
        if len(blocks) == 1:
            return _BLOCKS[type(blocks[0])](self, event, blocks[0])
        return _most_visible([_BLOCKS[type(block)](self, event, block) for block in blocks])

    def _text(self, event: Assistant, block: Text) -> LineOutcome:
        text = trim_breaks(strip_escapes(block.text or ""))
        if not text or text.isspace():
            return _NO_ANSWER
        return self._add(event, EntryKind.ERROR if event.is_api_error else EntryKind.ANSWER, text)

    def _thought(self, event: Event, block: Thinking) -> LineOutcome:
        text = trim_breaks(strip_escapes(raw_as_text(block.thinking)))
        return self._add(event, EntryKind.THOUGHT, text) if text.strip() else _NO_THOUGHT

    def _called(self, event: Event, block: ToolUse) -> LineOutcome:
        return self._window.call(event, block)

    def _redacted(self, event: Event, block: RedactedThinking) -> LineOutcome:
        return self._add(event, EntryKind.THOUGHT, "(redacted)")

    def _picture(self, event: Event, block: Image | Document) -> LineOutcome:
        return self._add(event, EntryKind.ANSWER, pictures=find_pictures([block]))

    def _answered(self, event: Event, block: ToolResult) -> LineOutcome:
        return self._window.result(User(line=event.line, timestamp=event.timestamp, uuid=event.uuid), block, NOTHING)

    def _block(self, event: Event, block: AnyBlock) -> LineOutcome:
        self.odd_blocks.setdefault(block.kind, event.line)
        body = block.body if isinstance(block, UnknownBlock) else None
        return self._add(event, EntryKind.BLOCK, block.kind, body=body)

    # --- the harness --------------------------------------------------------------------------------

    def _remark(
        self, event: Event, source: Any, description: NoticeRule, name: str | None, unseen: LineOutcome
    ) -> LineOutcome:
        """One line about a record, or about a part of it (`source`), where it has anything to say."""
        words = description.words(self._remarks, source)
        if not words:
            return unseen
        return self._add(event, description.kind, words, body=name, aside=not description.is_told(source))

    def system(self, event: System) -> LineOutcome:
        """Compactions, errors, recaps; what else the harness remarks is told only in full."""
        self.lazy_tree.add_other(event)
        match event.subtype:
            case "compact_boundary":
                facts = event.compact_metadata or event.stream_compaction
                return self._add(event, EntryKind.COMPACTION, _compaction(facts), body=facts)
            case "turn_duration":
                return self._add(
                    event, EntryKind.NOTE, f"turn took {short_duration(int(event.duration_ms or 0) / 1000)}", aside=True
                )
            case subtype if subtype in FAILED_REQUESTS:
                return self._add(event, EntryKind.ERROR, _reason(event.content, event.error))
        if (description := SUBTYPES.get(event.subtype)) is not None:
            return self._remark(event, event, description, event.subtype, _unseen("system", event.subtype))
        found = classify_prompt(raw_as_text(event.content))
        text = trim_breaks("\n".join(found.outputs) or found.prompt or "")
        if not text.strip():
            return hidden_by_rule(f"system {event.subtype}" if event.subtype else "system")
        if event.subtype == "away_summary":
            return self._add(event, EntryKind.SUMMARY, text)
        if event.subtype == "local_command":
            return self._add(event, EntryKind.OUTPUT, text)
        return self._add(event, EntryKind.NOTE, text, aside=event.level not in _LOUD)

    def progress(self, event: Progress) -> LineOutcome:
        """A sign of life is not told; what a sub-agent reports in it may be."""
        self.lazy_tree.add_plain(event)
        data = event.data
        if data is not None and data.agent_id:
            self.cast.report(event, is_awaited=self._window.is_waiting(event.parent_call))
        return _unseen("progress", data.type) if data else hidden_by_rule("progress")

    def quiet(self, event: HiddenRecord) -> LineOutcome:
        """Titles, state, links: a summary is told."""
        self.lazy_tree.add_plain(event)
        if isinstance(event, Title) and event.kind == "summary" and event.title:
            return self._add(event, EntryKind.SUMMARY, trim_breaks(strip_escapes(event.title)))
        if (description := RECORDS.get(type(event))) is not None:
            return self._remark(event, event, description, event.kind, hidden_by_rule(event.kind))
        return hidden_by_rule(event.kind)

    def unknown(self, event: UnknownRecord) -> LineOutcome:
        """A record of a type that is not known: that it is there is told."""
        self.lazy_tree.add_other(event)
        self.account.unknown_events[event.name] += 1
        self.account.first_seen.setdefault(event.name, event.line)
        if not self._is_repeated(event):
            self._add(event, EntryKind.RECORD, "Unknown record", body=event.name)
        return unknown_type(event.name)

    def other(self, event: Event) -> LineOutcome:
        """A record that no other method takes: in words of its own, or that it is there."""
        if isinstance(event, HiddenRecord):
            return self.quiet(event)
        self.lazy_tree.add_other(event)
        if (description := RECORDS.get(type(event))) is not None:
            return self._remark(event, event, description, event.kind, hidden_by_rule(event.kind))
        if self._is_repeated(event):
            return COPY
        return self._add(event, EntryKind.RECORD, "Record", body=event.kind)

    def _is_repeated(self, event: Event) -> bool:
        """True for a record of a type that `CopyDetector` does not compare, where its uuid was there before."""
        uuid = event.uuid
        if uuid is None:
            return False
        is_repeated = uuid in self._known or uuid in self._uuids
        self._uuids.add(uuid)
        return is_repeated

    def malformed(self, event: Malformed) -> LineOutcome:
        """A line that could not be read."""
        self.account.issues.append(LineIssue(event.line, event.offset, event.reason))
        return MALFORMED

    def too_long(self, event: TooLong) -> LineOutcome:
        """A line that is too large to be read: that it is there is told."""
        self._add(event, EntryKind.NOTE, f"Line {event.line}: {event.reason}", body=event.kind)
        return self.malformed(event)

    def blank(self, event: Blank) -> LineOutcome:
        """A line with nothing on it."""
        return BLANK


def _without_pictures(prompt: str) -> str:
    """A prompt without the lines that stand for its pictures and documents."""
    return trim_breaks("\n".join(line for line in prompt.split("\n") if line not in ("[image]", "[document]")))


@lru_cache(1000)
def _unseen(kind: str, about: str | None) -> LineOutcome:
    return hidden_by_rule(f"{kind} {about}")


def _most_visible(outcomes: Iterable[LineOutcome]) -> LineOutcome:
    return min(outcomes, key=lambda outcome: outcome.status)


def _compaction(facts: Any) -> str:
    if facts is None:
        return ""
    tokens = f"{facts.pre_tokens:,} tokens" if facts.pre_tokens else ""
    return ", ".join(filter(None, (facts.trigger, tokens)))


def _reason(content: Raw, cause: Raw) -> str:
    """Why a request failed, in the words of the API where there are any."""
    text = raw_as_text(content)
    error = lenient_json.load_raw(cause)
    if not text and isinstance(error, dict):
        inner = error.get("error")
        found = next((v for v in (error.get("formatted"), error.get("message")) if isinstance(v, str) and v), None)
        text = found or lenient_json.compact(inner if isinstance(inner, dict) else error)
    return trim_breaks(strip_escapes(text)) or "a request failed"


class _Table(dict[type, Callable[..., LineOutcome]]):
    """Methods by type, and one for all other types: as fast as a dictionary, and without its error."""

    def __init__(self, methods: dict[type, Callable[..., LineOutcome]], other: Callable[..., LineOutcome]) -> None:
        super().__init__(methods)
        self._other = other

    def __missing__(self, kind: type) -> Callable[..., LineOutcome]:
        return self._other


_BLOCKS: Final = _Table(
    {
        Text: TranscriptBuilder._text,
        Thinking: TranscriptBuilder._thought,
        RedactedThinking: TranscriptBuilder._redacted,
        ToolUse: TranscriptBuilder._called,
        ServerToolUse: TranscriptBuilder._called,
        ToolResult: TranscriptBuilder._answered,
        Image: TranscriptBuilder._picture,
        Document: TranscriptBuilder._picture,
    },
    TranscriptBuilder._block,
)

_TAKERS: Final = _Table(
    {
        User: TranscriptBuilder.user,
        Assistant: TranscriptBuilder.assistant,
        System: TranscriptBuilder.system,
        Progress: TranscriptBuilder.progress,
        Attachment: TranscriptBuilder.attachment,
        UnknownRecord: TranscriptBuilder.unknown,
        Malformed: TranscriptBuilder.malformed,
        TooLong: TranscriptBuilder.too_long,
        Blank: TranscriptBuilder.blank,
        **dict.fromkeys(QUIET_RECORDS, TranscriptBuilder.quiet),
    },
    TranscriptBuilder.other,
)
