"""What is copied of an element: all of its text, unless that is more than a clipboard should hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from claude_session_player.format.content import Code, Diff
from claude_session_player.format.prompts import PeerText, parse_peer_messages
from claude_session_player.formatter import element_text
from claude_session_player.linking.prompts import ANOTHER_AGENT
from claude_session_player.models import PeerMessage, ToolCall, View
from claude_session_player.player import call_details
from claude_session_player.util.humanize import plural

if TYPE_CHECKING:
    from textual.app import App

    from claude_session_player.models import ScreenElement
    from claude_session_player.player import FrameIndex, Playback, Recording

MOST_CHARACTERS: Final = 1_000_000
"""A terminal gets no more at once: it may refuse the text, or be busy with it for long."""


def copy_element(app: App[Any], playback: Playback, element: ScreenElement) -> str:
    """Copy an element to the clipboard; gives what there is to say about it. Raises `CannotRead`."""
    text = text_to_copy(playback.frame_index, playback.recording, element)
    app.copy_to_clipboard(text[:MOST_CHARACTERS])
    return copy_notice(len(text))


def text_to_copy(index: FrameIndex, recording: Recording, element: ScreenElement) -> str:
    """All text of an element; of a change the diff, of a new file its text, of other calls command and result in full.

    Raises `CannotRead`.
    """
    if isinstance(element, PeerMessage):
        return _message_text(element)
    if not isinstance(element, ToolCall) or (reply := (call := call_details(index, element)).reply()) is None:
        return element_text(element, View.full(thinking=True))
    given = call.to_parts(reply).given
    diffs = [part.text if (new := part.new_text) is None else new for part in given if isinstance(part, Diff)]
    if diffs and not reply.is_error:
        return "\n".join(diffs)
    commands = [f"$ {part.text}" for part in given if isinstance(part, Code) and part.is_command]
    return "\n".join(filter(None, (*commands, recording.resolve(reply.text))))


def _message_text(element: PeerMessage) -> str:
    """What other agents sent, each with its name, and what is around it."""
    record = parse_peer_messages(element.text)
    messages = record.messages or (PeerText(element.sender, "", element.text),)
    texts = [f"{_head(message)}\n{message.text}" for message in messages]
    return "\n\n".join([*texts, record.outside] if record.messages and record.outside else texts)


def _head(message: PeerText) -> str:
    """Who sent a message, and what it is about."""
    sender = f"From {message.sender or ANOTHER_AGENT}"
    return f"{sender}: {message.summary}" if message.summary else sender


def copy_notice(size: int) -> str:
    """What is said when a text of this size is copied.

    >>> copy_notice(12), copy_notice(1_200_000)
    ('Copied 12 characters.', 'Copied only the first 1,000,000 of 1,200,000 characters.')
    """
    if size > MOST_CHARACTERS:
        return f"Copied only the first {MOST_CHARACTERS:,} of {size:,} characters."
    return f"Copied {plural(size, 'character')}."
