"""Builds the entries of a transcript from events, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

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
from claude_session_player.linking.notices import ATTACHMENTS, RECORDS, SUBTYPES, NoticeRule, Notices, failure_reason
from claude_session_player.linking.prompts import is_from_person, is_injected, with_queued_prompts
from claude_session_player.linking.subagents import subagent_positions
from claude_session_player.transcript.entries import Entry, EntryKind, PendingEntries
from claude_session_player.transcript.forks import Fork, ReturnPoint
from claude_session_player.transcript.tree import LazyTree, LineRole
from claude_session_player.util.humanize import short_duration
from claude_session_player.util.text import strip_escapes, trim_breaks

if TYPE_CHECKING:
    from claude_session_player.transcript.subagents import SubagentFinder

COPY: Final = hidden_by_rule("copy of an earlier line")
SIDECHAIN: Final = hidden_by_rule("sub-agent that is shown elsewhere")

_NO_TEXT: Final = hidden_by_rule("answer without text")
_NO_THINKING: Final = hidden_by_rule("thought without text")
_NO_CONTENT: Final = "(No content)"
_EMPTY: Final = "(Empty)"
_VISIBLE_LEVELS: Final = frozenset(("error", "warning", "notice"))
"""The levels of notices that are shown by default."""


class TranscriptBuilder:
    """Builds the transcript of one conversation: of a session, or of a sub-agent (`is_agent`).

    `account` says what happened to every line, `lazy_tree` how the conversation forked.
    """

    def __init__(
        self, subagents: SubagentFinder, *, is_agent: bool = False, known: Set[str | None] = frozenset()
    ) -> None:
        self.subagents = subagents
        self.account = LineAudit()
        self.lazy_tree = LazyTree(LineRole.SIDECHAIN if is_agent else LineRole.PLAIN)
        self.unknown_blocks: dict[str, int] = {}
        """The unknown types of blocks, and the first line of each."""
        self._is_agent = is_agent
        self._copies = CopyDetector(known)
        self._pending = PendingEntries(subagents)
        self._notices = Notices()
        self._known = known
        self._uuids: set[str] = set()
        """The uuids of records without text."""

    def entries(self, events: Iterable[Event]) -> Iterator[Entry]:
        """Every entry, in the order of the file."""
        pending, handlers = self._pending, _HANDLERS
        for batch, copies in self._copies.batches(with_queued_prompts(events, is_agent=self._is_agent)):
            marked = zip(batch, copies or repeat(False), strict=False)
            if self.subagents.is_order_independent and (self._is_agent or not subagent_positions(batch)):
                if copies is None:
                    outcomes = [handlers[type(event)](self, event) for event in batch]
                else:
                    outcomes = [self._handle(event, is_copy) for event, is_copy in marked]
                self.account.add_all([event.line for event in batch], outcomes)
                yield from pending.ready()
                continue
            for event, is_copy in marked:  # a call finds the sub-agents that are known when its result comes
                self.account.add(event.line, self._handle(event, is_copy))
                yield from pending.ready()
        yield from pending.rest()

    def _handle(self, event: Event, is_copy: bool) -> LineOutcome:
        is_sidechain = not self._is_agent and (event.is_sidechain or event.agent_call) and type(event) in CONVERSATION
        if is_sidechain:
            return self._handle_sidechain(event, is_copy)
        return self._handle_copy(event) if is_copy else _HANDLERS[type(event)](self, event)

    def _handle_sidechain(self, event: Event, is_copy: bool) -> LineOutcome:
        """A line of a sub-agent in the file, which is shown at the place where it was called."""
        self.lazy_tree.add_other(event)
        if is_copy:
            return COPY
        self.subagents.add_sidechain_event(event)
        return SIDECHAIN

    def _handle_copy(self, event: Event) -> LineOutcome:
        """A line that repeats an earlier one: it is added to the tree only."""
        content = event.message_content if isinstance(event, User) else None
        if type(content) is list and len(content) == 1 and type(content[0]) is ToolResult:
            self.lazy_tree.add_plain(event, LineRole.TOOL)
        elif type(event) is System:
            self.lazy_tree.add_other(event)
        else:
            self.lazy_tree.add_copy(event)
        return COPY

    def _add_fork(self, event: Event, fork: Fork) -> None:
        """Add an entry that says where the conversation goes back, or continues an earlier branch."""
        self._add(event, EntryKind.RETURN if isinstance(fork, ReturnPoint) else EntryKind.FORK, body=fork)

    def _add(
        self,
        event: Event,
        kind: EntryKind,
        text: str = "",
        *,
        pictures: tuple[Picture, ...] = (),
        body: Any = None,
        full_only: bool = False,
    ) -> LineOutcome:
        entry = Entry(kind, event.line, event.timestamp, event.uuid, text, pictures, body, full_only)
        self._pending.waiting.append(entry)
        return SHOWN

    # --- user records -------------------------------------------------------------------------------

    def user(self, event: User) -> LineOutcome:
        """A prompt, tool results, or something that Claude Code injected."""
        content = event.message_content
        if type(content) is list and len(content) == 1 and type(block := content[0]) is ToolResult:  # nine lines of ten
            self.lazy_tree.add_plain(event, LineRole.TOOL)
            return self._pending.result(event, block, event.tool_use_result)
        if event.permission_mode and (words := self._notices.permission_mode(event.permission_mode)):
            self._add(event, EntryKind.NOTE, words, body=type_tag(PermissionMode), full_only=True)
        blocks = content if isinstance(content, list) else []
        rest = [block for block in blocks if type(block) is not ToolResult]
        if len(rest) == len(blocks):
            return self._add_user_content(event, content, event)
        if not rest:
            self.lazy_tree.add_plain(event, LineRole.TOOL)
        alone = event.tool_use_result if len(blocks) - len(rest) == 1 else NOTHING
        outcomes = []
        for block in blocks:  # in the order of the file; the prompt takes the place of its first block
            if type(block) is ToolResult:
                outcomes.append(self._pending.result(event, block, alone))
            elif block is rest[0]:
                outcomes.append(self._add_user_content(event, rest, event))
        return _most_visible(outcomes)

    def attachment(self, event: Attachment) -> LineOutcome:
        """What a person typed while the model worked; all other attachments are context."""
        attached = event.attachment
        if attached is None or attached.type != QUEUED:
            self.lazy_tree.add_plain(event)
            if attached is None:
                return hidden_by_rule("attachment")
            outcome = _hidden_record("attachment", attached.type)
            rule = ATTACHMENTS.get(attached.type)
            return self._add_notice(event, attached, rule, attached.type, outcome) if rule else outcome
        return self._add_user_content(event, attached.prompt, User(is_meta=attached.is_meta))

    def _add_user_content(self, event: Event, content: Content, flags: User) -> LineOutcome:
        """The content of a `user` record, with the flags that say who wrote it."""
        if not content and content != "":
            self.lazy_tree.add_other(event)
            return self._add(event, EntryKind.TASK, _EMPTY if content is None else _NO_CONTENT)
        pictures: tuple[Picture, ...] = ()
        whole = content if isinstance(content, str) else join_texts(content or [])
        if isinstance(content, list):
            pictures = find_pictures(content)
            self._add_unknown_blocks(event, content)
            content = join_texts([block for block in content if not isinstance(block, Image | Document)])
        if flags.is_compact_summary:
            self.lazy_tree.add_other(event)
            return self._add(event, EntryKind.SUMMARY, trim_breaks(strip_escapes(content)))
        if flags.is_meta or flags.is_visible_in_transcript_only:
            self.lazy_tree.add_other(event)
            return self._add(
                event, EntryKind.INJECTED, trim_breaks(strip_escapes(content)), pictures=pictures, full_only=True
            )
        return self._add_classified(event, whole, content, pictures, is_injected(flags))

    def _add_classified(
        self, event: Event, whole: str, text: str, pictures: tuple[Picture, ...], injected: bool
    ) -> LineOutcome:
        """`whole` decides what it is; `text` is the same without placeholders for pictures, and is shown."""
        classified = classify_prompt(whole)
        if classified.prompt and not classified.prompt.isspace():
            prompt = _without_pictures(classified.prompt) if pictures else classified.prompt
            is_person = not injected and is_from_person(whole)
            if not is_person or classified.is_command:
                self.lazy_tree.add_plain(event)
            elif (fork := self.lazy_tree.add_prompt(event)) is not None:
                self._add_fork(event, fork)
            kind = EntryKind.MESSAGE if not is_person else EntryKind.TASK if self._is_agent else EntryKind.PROMPT
            return self._add(event, kind, prompt, pictures=pictures)
        self.lazy_tree.add_other(event)
        if classified.outputs:
            return self._add(event, EntryKind.OUTPUT, "\n".join(classified.outputs), pictures=pictures)
        if classified.hidden_by is CONTINUATION:
            return self._add(event, EntryKind.SUMMARY, trim_breaks(strip_escapes(text)))
        if whole.strip():
            return self._add(
                event, EntryKind.INJECTED, trim_breaks(strip_escapes(text)), pictures=pictures, full_only=True
            )
        return classified.hidden_by

    def _add_unknown_blocks(self, event: Event, blocks: list[AnyBlock]) -> None:
        for block in blocks:
            if isinstance(block, UnknownBlock):
                self._block(event, block)

    # --- assistant records --------------------------------------------------------------------------

    def assistant(self, event: Assistant) -> LineOutcome:
        """Every block of a response."""
        message, content = event.message, event.message_content
        fork = self.lazy_tree.add_response(event, event.request_id or (message.id if message else None))
        if fork is not None:
            self._add_fork(event, fork)
        if event.is_api_error and not content:
            return self._add(event, EntryKind.ERROR, failure_reason(NOTHING, event.error))
        if content is None or content == []:
            return self._add(event, EntryKind.RESPONSE, _EMPTY if content is None else _NO_CONTENT)
        blocks = [Text(content)] if isinstance(content, str) else content
        if len(blocks) == 1:
            return _BLOCKS[type(blocks[0])](self, event, blocks[0])
        return _most_visible([_BLOCKS[type(block)](self, event, block) for block in blocks])

    def _text(self, event: Assistant, block: Text) -> LineOutcome:
        text = trim_breaks(strip_escapes(block.text or ""))
        if not text or text.isspace():
            return _NO_TEXT
        return self._add(event, EntryKind.ERROR if event.is_api_error else EntryKind.RESPONSE, text)

    def _thinking(self, event: Event, block: Thinking) -> LineOutcome:
        text = trim_breaks(strip_escapes(raw_as_text(block.thinking)))
        return self._add(event, EntryKind.THINKING, text) if text.strip() else _NO_THINKING

    def _tool_use(self, event: Event, block: ToolUse) -> LineOutcome:
        return self._pending.call(event, block)

    def _redacted(self, event: Event, block: RedactedThinking) -> LineOutcome:
        return self._add(event, EntryKind.THINKING, "(redacted)")

    def _picture(self, event: Event, block: Image | Document) -> LineOutcome:
        return self._add(event, EntryKind.RESPONSE, pictures=find_pictures([block]))

    def _tool_result(self, event: Event, block: ToolResult) -> LineOutcome:
        return self._pending.result(User(line=event.line, timestamp=event.timestamp, uuid=event.uuid), block, NOTHING)

    def _block(self, event: Event, block: AnyBlock) -> LineOutcome:
        self.unknown_blocks.setdefault(block.kind, event.line)
        body = block.body if isinstance(block, UnknownBlock) else None
        return self._add(event, EntryKind.BLOCK, block.kind, body=body)

    # --- other records ------------------------------------------------------------------------------

    def _add_notice(
        self, event: Event, source: Any, rule: NoticeRule, name: str | None, hidden: LineOutcome
    ) -> LineOutcome:
        """Add one line about a record, or about a part of it (`source`), if it says anything."""
        words = rule.words(self._notices, source)
        if not words:
            return hidden
        return self._add(event, EntryKind.NOTE, words, body=name, full_only=not rule.is_shown(source))

    def system(self, event: System) -> LineOutcome:
        """Compactions, errors, recaps; other notices are shown only in the full transcript."""
        self.lazy_tree.add_other(event)
        match event.subtype:
            case "compact_boundary":
                facts = event.compact_metadata or event.stream_compaction
                return self._add(event, EntryKind.COMPACTION, _compaction(facts), body=facts)
            case "turn_duration":
                return self._add(
                    event,
                    EntryKind.NOTE,
                    f"turn took {short_duration(int(event.duration_ms or 0) / 1000)}",
                    full_only=True,
                )
            case subtype if subtype in FAILED_REQUESTS:
                return self._add(event, EntryKind.ERROR, failure_reason(event.content, event.error))
        if (rule := SUBTYPES.get(event.subtype)) is not None:
            return self._add_notice(event, event, rule, event.subtype, _hidden_record("system", event.subtype))
        found = classify_prompt(raw_as_text(event.content))
        text = trim_breaks("\n".join(found.outputs) or found.prompt or "")
        if not text.strip():
            return hidden_by_rule(f"system {event.subtype}" if event.subtype else "system")
        if event.subtype == "away_summary":
            return self._add(event, EntryKind.SUMMARY, text)
        if event.subtype == "local_command":
            return self._add(event, EntryKind.OUTPUT, text)
        return self._add(event, EntryKind.NOTE, text, full_only=event.level not in _VISIBLE_LEVELS)

    def progress(self, event: Progress) -> LineOutcome:
        """Progress is not shown; the events of a sub-agent in it may be."""
        self.lazy_tree.add_plain(event)
        data = event.data
        if data is not None and data.agent_id:
            self.subagents.add_progress(event, is_awaited=self._pending.is_waiting(event.parent_call))
        return _hidden_record("progress", data.type) if data else hidden_by_rule("progress")

    def quiet(self, event: HiddenRecord) -> LineOutcome:
        """Titles, state, links: only a summary is shown."""
        self.lazy_tree.add_plain(event)
        if isinstance(event, Title) and event.kind == "summary" and event.title:
            return self._add(event, EntryKind.SUMMARY, trim_breaks(strip_escapes(event.title)))
        if (rule := RECORDS.get(type(event))) is not None:
            return self._add_notice(event, event, rule, event.kind, hidden_by_rule(event.kind))
        return hidden_by_rule(event.kind)

    def unknown(self, event: UnknownRecord) -> LineOutcome:
        """A record of an unknown type: its existence is shown."""
        self.lazy_tree.add_other(event)
        self.account.unknown_events[event.kind] += 1
        self.account.first_seen.setdefault(event.kind, event.line)
        if not self._is_repeated(event):
            self._add(event, EntryKind.RECORD, "Unknown record", body=event.kind)
        return unknown_type(event.kind)

    def other(self, event: Event) -> LineOutcome:
        """A record without a handler: shown by its notice, or else its existence is."""
        if isinstance(event, HiddenRecord):
            return self.quiet(event)
        self.lazy_tree.add_other(event)
        if (rule := RECORDS.get(type(event))) is not None:
            return self._add_notice(event, event, rule, event.kind, hidden_by_rule(event.kind))
        if self._is_repeated(event):
            return COPY
        return self._add(event, EntryKind.RECORD, "Record", body=event.kind)

    def _is_repeated(self, event: Event) -> bool:
        """True for a repeated record of a type that `CopyDetector` does not compare."""
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
        """A line that is too large to read: its existence is shown."""
        self._add(event, EntryKind.NOTE, f"Line {event.line}: {event.reason}", body=event.kind)
        return self.malformed(event)

    def blank(self, event: Blank) -> LineOutcome:
        """An empty line."""
        return BLANK


def _without_pictures(prompt: str) -> str:
    """A prompt without the placeholders for its pictures and documents."""
    return trim_breaks("\n".join(line for line in prompt.split("\n") if line not in ("[image]", "[document]")))


@lru_cache(1000)
def _hidden_record(kind: str, about: str | None) -> LineOutcome:
    return hidden_by_rule(f"{kind} {about}")


def _most_visible(outcomes: Iterable[LineOutcome]) -> LineOutcome:
    return min(outcomes, key=lambda outcome: outcome.status)


def _compaction(facts: Any) -> str:
    if facts is None:
        return ""
    tokens = f"{facts.pre_tokens:,} tokens" if facts.pre_tokens else ""
    return ", ".join(filter(None, (facts.trigger, tokens)))


class _MethodTable(dict[type, Callable[..., LineOutcome]]):
    """Methods by type, with a default: as fast as a dictionary."""

    def __init__(self, methods: dict[type, Callable[..., LineOutcome]], other: Callable[..., LineOutcome]) -> None:
        super().__init__(methods)
        self._other = other

    def __missing__(self, kind: type) -> Callable[..., LineOutcome]:
        return self._other


_BLOCKS: Final = _MethodTable(
    {
        Text: TranscriptBuilder._text,
        Thinking: TranscriptBuilder._thinking,
        RedactedThinking: TranscriptBuilder._redacted,
        ToolUse: TranscriptBuilder._tool_use,
        ServerToolUse: TranscriptBuilder._tool_use,
        ToolResult: TranscriptBuilder._tool_result,
        Image: TranscriptBuilder._picture,
        Document: TranscriptBuilder._picture,
    },
    TranscriptBuilder._block,
)

_HANDLERS: Final = _MethodTable(
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
