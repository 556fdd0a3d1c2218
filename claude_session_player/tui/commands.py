"""The commands of the command palette: what the keys of the present screen do, the speeds, and the themes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input

from claude_session_player.player import SPEEDS
from claude_session_player.tui.app import ClosedOnce
from claude_session_player.tui.keys import PALETTE, Key
from claude_session_player.util.settings import THEMES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from textual.app import App
    from textual.screen import Screen

_PAIRS: Final = (("next or previous ", "next ", "previous "), ("first or last ", "first ", "last "))
"""How a sentence about two keys begins, and the sentence about each of them."""


class Command(NamedTuple):
    """A line of the palette: what it does, which key does the same, and the action."""

    name: str
    label: str
    run: Callable[[], Awaitable[None]]


def key_names(key: Key) -> list[tuple[str, str, str]]:
    """What can be chosen of a key: a sentence, the label of the key, and the key as Textual names it.

    >>> from claude_session_player.tui.keys import STEP
    >>> key_names(STEP)
    [('next frame', '→', 'right'), ('previous frame', '←', 'left')]
    """
    names = [name.partition(",")[0] for name in key.keys]
    labels = key.label.split(" ")
    if _has_speeds(key):
        speeds = [(f"speed {speed:g}×", name, name) for speed, name in zip(SPEEDS, names, strict=False)]
        return [("faster", "+", names[-2]), ("slower", "-", names[-1]), *speeds]
    for beginning, *words in _PAIRS:
        if key.about.startswith(beginning) and len(names) == len(labels) == len(words):
            rest = key.about.removeprefix(beginning).partition(";")[0]
            return [(word + rest, label, name) for word, label, name in zip(words, labels, names, strict=True)]
    return [(key.about, key.label, names[0])]


def commands_of(screen: Screen[Any]) -> Iterator[Command]:
    """The commands that a screen has now: those of its keys, and the themes."""
    app: App[Any] = screen.app
    keys: Sequence[Key] = getattr(screen, "KEYS", () if isinstance(screen, ModalScreen) else getattr(app, "KEYS", ()))
    known: set[str] = set()
    for key in sorted(keys, key=_has_speeds):
        if key.is_command and key.actions != PALETTE.actions:
            for command in _key_commands(screen, key):
                if command.name not in known:  # two keys may do the same
                    known.add(command.name)
                    yield command
    for theme in THEMES:
        yield Command(f"theme {theme}", "", partial(_run, screen, f"app.theme('{theme}')"))


def _key_commands(screen: Screen[Any], key: Key) -> Iterator[Command]:
    """The commands of a key; of one that another key has to follow, a command for each of both keys."""
    if not key.second_keys:
        for name, label, pressed in key_names(key):
            yield Command(name, label, partial(_press, screen, pressed, _action(key, pressed)))
    for second, what in key.second_keys:
        for way, label, action in zip(("next", "previous"), key.label.split(" "), key.actions, strict=True):
            run = partial(_run, screen, f"{action.removesuffix(')')}, '{second}')")
            yield Command(f"{way} {what}", f"{label}{second}", run)


def _has_speeds(key: Key) -> bool:
    """True for the key with a command for each speed: like the themes, they come after what is done more often."""
    return key.actions[0].startswith("speed(")


def _action(key: Key, pressed: str) -> str:
    """The action of one of the keys for a purpose."""
    number = next(number for number, names in enumerate(key.keys) if pressed in names.split(","))
    return key.actions[number if len(key.actions) > 1 else 0]


async def _press(screen: Screen[Any], key: str, action: str) -> None:
    """Do what a key does; while something is typed, the key itself would be typed, too."""
    if isinstance(screen.focused, Input):
        await screen.app.run_action(action, screen)
    else:
        screen.app.simulate_key(key)


async def _run(screen: Screen[Any], action: str) -> None:
    await screen.app.run_action(action, screen)


class KeyCommands(Provider):
    """Offers the commands of the screen over which the palette is opened."""

    async def discover(self) -> Hits:
        """All commands."""
        for command in commands_of(self.screen):
            yield DiscoveryHit(_line(Content(command.name), command), command.run, text=command.name)

    async def search(self, query: str) -> Hits:
        """The commands that have the letters of the query in their order."""
        matcher = self.matcher(query)
        for command in commands_of(self.screen):
            score = matcher.match(command.name)
            if score > 0:
                yield Hit(score, _line(matcher.highlight(command.name), command), command.run, text=command.name)


def _line(name: Content, command: Command) -> Content:
    return Content.assemble(name, (f"  {command.label}" if command.label else "", "dim"))


class KeyPalette(ClosedOnce, CommandPalette):
    """The palette with the commands of the present screen."""

    def _action_command_list(self, action: str) -> None:
        """Choose a command, or scroll if there is room for a single row: Textual fails where there is none.

        There may be none yet when keys come faster than the list is laid out.
        """
        if action == "select" or self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)
