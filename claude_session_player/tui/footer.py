"""Which keys the player's footer names: those that matter in its present state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.tui.keys import (
    AGENT,
    BACK,
    CHAPTER,
    CHAPTERS,
    ENDS,
    FIND,
    HELP,
    HIGHLIGHTS,
    NEXT_MATCH,
    PAUSE,
    PROMPT_KEYS,
    QUIT,
    STEP,
    TIMELINE_KEYS,
    UNFOLD,
    Key,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_KEYS: Final = 6
"""A footer names no more keys than this beside the one for all keys."""


class FooterState(NamedTuple):
    """What decides which keys matter."""

    is_typing: bool = False
    """A position or search words are typed."""
    is_on_timeline: bool = False
    """The timeline has the focus."""
    has_search: bool = False
    is_playing: bool = False
    is_live: bool = False
    """Whatever is written appears at once."""
    is_at_end: bool = False
    """The last frame is shown."""
    is_scrolled: bool = False
    """The end of the screen is out of view."""
    is_on_agent: bool = False
    """The cursor is on the call of a sub-agent."""
    is_on_folded: bool = False
    """The element at the cursor has more to show."""
    is_on_unfolded: bool = False
    can_go_back: bool = False
    """There is a caller, or a list of sessions."""


class _Rule(NamedTuple):
    """A key with the word for it, and when it matters."""

    key: Key
    word: str
    holds: Callable[[FooterState], bool]


_END: Final = ENDS._replace(keys=("end",), actions=("end",), label="End")
_HOME: Final = ENDS._replace(keys=("home",), actions=("home",), label="Home")

_RULES: Final = (
    _Rule(PAUSE, "pause", lambda now: now.is_playing or now.is_live),
    _Rule(PAUSE, "play", lambda now: not now.is_at_end),
    _Rule(_HOME, "start over", lambda now: now.is_at_end and not now.is_live and not now.is_playing),
    _Rule(_END, "catch up", lambda now: now.is_scrolled),
    _Rule(NEXT_MATCH, "match", lambda now: now.has_search),
    _Rule(BACK, "end search", lambda now: now.has_search),
    _Rule(AGENT, "sub-agent", lambda now: now.is_on_agent),
    _Rule(UNFOLD, "unfold", lambda now: now.is_on_folded),
    _Rule(UNFOLD, "fold", lambda now: now.is_on_unfolded),
    _Rule(BACK, "back", lambda now: now.can_go_back),
    _Rule(STEP, "frame", lambda now: not now.is_playing and not now.is_live),
    _Rule(CHAPTER, "prompt", lambda now: now.is_playing or now.is_live),
    _Rule(CHAPTERS, "chapters", lambda now: True),
    _Rule(HIGHLIGHTS, "highlights", lambda now: now.is_playing),
    _Rule(FIND, "search", lambda now: True),
    _Rule(QUIT, "quit", lambda now: True),
)
"""In the order in which keys are shown; the first ones have a place for sure."""


def footer_keys(now: FooterState) -> tuple[Key, ...]:
    """The keys that matter now, each with the word for what it does.

    >>> " · ".join(f"{key.label} {key.word}" for key in footer_keys(FooterState(is_playing=True)))
    'space pause · ⇧→ ⇧← prompt · c chapters · m highlights · / search · q quit · ? all keys'
    """
    if now.is_typing:
        return PROMPT_KEYS
    if now.is_on_timeline:
        return TIMELINE_KEYS
    chosen: dict[str, Key] = {}
    for key, word, holds in _RULES:
        if holds(now):
            chosen.setdefault(key.keys[0], key._replace(word=word))
    return (*list(chosen.values())[:MOST_KEYS], HELP)
