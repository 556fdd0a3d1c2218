"""Plants: secrets and names with values of their own, in disguises, and the search for what is left of them.

A plant is made from a sample of a rule. Of its random characters, not of the public ones around them, twelve in a row
must not be seen anywhere; of passwords and names, the whole value.
"""

from __future__ import annotations

import base64
import html
import json
import random
import re
import string
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from ahocorasick_rs import AhoCorasick

from claude_session_player.redact.rule import Kind, Rule
from claude_session_player.redact.rules import SECRET_RULES
from claude_session_player.redact.samples import _FIELD, expand
from claude_session_player.util.text import ESCAPE_SEQUENCE

LEAK: Final = 12
"""So many random characters of a key in a row are a leak."""
_SHORTEST: Final = 8
_WINDOW: Final = 8
_STRIDE: Final = LEAK - _WINDOW + 1
_WHOLE: Final = (Kind.PASSWORD, Kind.COOKIE)
WORD: Final = "pekoe"
"""Stands beside every plant."""


class Seed(NamedTuple):
    """A text with something in it that is masked."""

    name: str
    text: str
    parts: tuple[str, ...]
    """What must not be seen."""
    is_whole: bool
    """True if nothing less than a whole part is a leak."""

    @property
    def is_one_line(self) -> bool:
        """True for a text that can be a title or a path."""
        return "\n" not in self.text


class Plant(NamedTuple):
    """A seed in its place."""

    seed: Seed
    text: str
    place: str
    disguise: str
    near: str
    """A word that stands beside it."""


# --- what is planted ----------------------------------------------------------------------------------


def secret_seeds(round: int, rules: Iterable[Rule] = SECRET_RULES) -> Iterator[Seed]:
    """A seed of each sample of each rule, other ones in each round."""
    for number, rule in enumerate(rules):
        for template in rule.samples:
            text = expand(template, round * 1000 + number + 1)
            values = [find.value for find in rule.finds(text)]
            assert values, f"{rule.name} finds nothing in its sample {template}"
            pieces = [line for piece in _random_pieces(template, text) for line in piece.split("\n")]
            parts = tuple(piece for piece in pieces if len(piece) >= _SHORTEST and any(piece in one for one in values))
            yield Seed(rule.name, text, parts or tuple(values), rule.kind in _WHOLE)


def _random_pieces(template: str, text: str) -> list[str]:
    words = _FIELD.split(template)
    pattern = "".join(re.escape(word) + r"([\s\S]+?)" for word in words[:-1:3]) + re.escape(words[-1])
    match = re.fullmatch(pattern, text)
    assert match is not None
    return list(match.groups())


_NAMES: Final = (
    ("home directory", "open /home/", "{user}", "/tea/notes.md"),
    ("home directory", "open /Users/", "{user}", "/Library/tea.plist now"),
    ("home directory", "open C:\\Users\\", "{user}", "\\tea\\notes.md"),
    ("home directory", "open c:/Users/", "{user}", "/tea/notes.md"),
    ("home directory", "in /mnt/c/Users/", "{user}", "/tea"),
    ("project directory", "see /srv/projects/-Users-", "{user}", "-tea/x"),
    ("project directory", "see /srv/projects/-home-", "{user}", "-tea/x"),
    ("project directory", "see projects/C--Users-", "{user}", "-tea/x"),
    ("email", "mail to ", "{user}@{host}.dev", " soon"),
    ("email", "mailto:", "{user}.tea@{host}.co.uk", ""),
    ("git author", "Author: ", "{name}", " <{user}@{host}.dev>"),
    ("git remote", "origin git@github.com:", "{user}", "/tea.git (fetch)"),
    ("private address", "ping ", "192.168.{byte}.{byte}", " twice"),
    ("private address", "curl http://", "10.{byte}.{byte}.{byte}", ":8080/"),
    ("host", "ssh root@", "{host}", ".local uptime"),
    ("account", 'has "accountUuid": "', "{uuid}", '", then'),
    ("account", 'has "organizationUuid": "', "{uuid}", '", then'),
    ("owner of a file", "-rw-r--r--  1 ", "{user}", "  staff  120 Jan  3 10:00 tea.md"),
)
"""Identity: its name, and what stands before it, what must not be seen, and what stands behind it."""


def identity_seeds(round: int) -> Iterator[Seed]:
    """Names of people and machines, other ones in each round."""
    source = random.Random(f"identity {round}")
    for name, before, value, after in _NAMES:
        shown = _filled(value, source)
        yield Seed(name, before + shown + _filled(after, source), (shown,), is_whole=True)


def _filled(template: str, source: random.Random) -> str:
    def letters(size: int) -> str:
        return "".join(source.choice(string.ascii_lowercase) for _ in range(size))

    fields: dict[str, Callable[[], str]] = {
        "user": lambda: f"{letters(7)}{source.randrange(2, 9)}{letters(1)}",
        "host": lambda: f"{letters(6)}-{letters(4)}",
        "name": lambda: f"{letters(6).title()} {letters(8).title()}",
        "byte": lambda: str(source.randrange(101, 250)),
        "uuid": lambda: "-".join(f"{source.randrange(16**size):0{size}x}" for size in (8, 4, 4, 4, 12)),
    }
    return re.sub(r"\{(\w+)\}", lambda match: fields[match[1]](), template)


def known_seeds(round: int) -> Iterator[Seed]:
    """Values that JSON, URLs and HTML spell in other ways."""
    source = random.Random(f"known {round}")
    for template in (
        '{a6}"/{a5}',
        "{a6}&<{a6}>",
        "{a5}+{a4}/{a4}==",
        "é{a8}ß'",
        "{a5} {a5}?{a3}",
        "{a5}\\{a6}",
        "{h16}",
    ):
        value = expand(template, source.randrange(1 << 30))
        yield Seed("known value", value, (value,), is_whole=True)


# --- disguises ----------------------------------------------------------------------------------------


def _inside(seed: Seed, change: Callable[[str], str]) -> str:
    """The text with a changed part."""
    part = seed.parts[0]
    return seed.text.replace(part, change(part))


def _escaped(part: str) -> str:
    middle = len(part) // 2
    return f"{part[:middle]}\\u{ord(part[middle]):04x}{part[middle + 1 :]}"


def _html(seed: Seed) -> str:
    part = html.escape(seed.parts[0])
    middle = len(part) // 2
    while not part[middle].isalnum() or "&" in part[max(0, middle - 6) : middle]:
        middle += 1
        if middle == len(part):
            return html.escape(seed.text)
    escaped = f"{part[:middle]}&#{ord(part[middle])};{part[middle + 1 :]}"
    return html.escape(seed.text).replace(part, escaped)


def _coloured(part: str) -> str:
    third = len(part) // 3
    return f"{part[:third]}\x1b[31m{part[third : 2 * third]}\x1b[0m{part[2 * third :]}"


def _spread(part: str) -> str:
    middle = len(part) // 2
    return f"{part[:middle]}\u200b{part[middle:]}"


def _numbered(seed: Seed) -> str:
    return "\n".join(f"{number:>6}→{line}" for number, line in enumerate(seed.text.split("\n"), 1))


DISGUISES: Final[dict[str, Callable[[Seed], str]]] = {
    "plain": lambda seed: seed.text,
    "JSON": lambda seed: _inside(seed, _escaped),
    "URL": lambda seed: f"https://tea.example/x?q={quote(seed.text, safe='')}",
    "quoted": lambda seed: quote(seed.text, safe=""),
    "HTML": _html,
    "colours": lambda seed: _inside(seed, _coloured),
    "zero width": lambda seed: _inside(seed, _spread),
    "twice": lambda seed: f"{seed.text}\n{seed.text}" if "\n" in seed.text else f"{seed.text} {seed.text}",
    "start": lambda seed: seed.text,
    "end": lambda seed: seed.text,
    "line": lambda seed: f"tea\n{seed.text}\ntea",
    "CRLF": lambda seed: f"tea\r\n{seed.text}\r\ntea".replace("\r\n", "\n").replace("\n", "\r\n"),
    "numbers": _numbered,
}
_OF_LINES: Final = ("line", "CRLF")


def disguised(seed: Seed, disguise: str, near: str, *, one_line: bool) -> str:
    """The text of a plant, with a word beside it."""
    if disguise in _OF_LINES and one_line:
        disguise = "plain"
    text = DISGUISES[disguise](seed)
    if disguise == "start":
        return f"{text} {near}" if one_line else f"{text}\n{near}"
    if disguise in ("end", "JSON") or one_line:
        return f"{near} {text}"
    return f"{near}\n{text}\nand so on" if "\n" in text else f"{near} {text} and so on"


def in_base64(seed: Seed, near: str) -> str:
    """A known value somewhere in base64."""
    data = f"{near[-1] * (len(near + seed.text) % 3)}{seed.text} and more"
    return f"{near} {base64.b64encode(data.encode()).decode()}"


# --- the search ---------------------------------------------------------------------------------------


class Leak(NamedTuple):
    """A plant that can be seen."""

    plant: Plant
    output: str
    seen: str

    def __str__(self) -> str:
        name, place, disguise = self.plant.seed.name, self.plant.place, self.plant.disguise
        return f"{self.output}: {name} in {place} ({disguise}): {self.seen!r} of {self.plant.text!r}"


class LeakSearch:
    """Looks for plants in outputs."""

    def __init__(self, plants: Iterable[Plant]) -> None:
        self._windows: dict[str, list[tuple[Plant, str, int]]] = {}
        for plant in plants:
            for part in plant.seed.parts:
                self._add(plant, part)
        self._patterns = list(self._windows)
        self._automaton = AhoCorasick(self._patterns)

    def _add(self, plant: Plant, part: str) -> None:
        if plant.seed.is_whole or len(part) <= LEAK:
            for spelling in {part, json.dumps(part)[1:-1], *_codes(part)}:
                self._windows.setdefault(spelling, []).append((plant, part, -1))
            return
        for at in range(0, len(part) - _WINDOW + 1, _STRIDE):
            self._windows.setdefault(part[at : at + _WINDOW], []).append((plant, part, at))

    def leaks(self, name: str, output: str) -> Iterator[Leak]:
        """Each plant that an output shows, once."""
        seen: set[int] = set()
        for text in readings(output):
            for number, start, end in self._automaton.find_matches_as_indexes(text, overlapping=True):
                for plant, part, at in self._windows[self._patterns[number]]:
                    if id(plant) not in seen and (shown := _shown(text, start, end, part, at)):
                        seen.add(id(plant))
                        yield Leak(plant, name, shown)


def _codes(part: str) -> Iterator[str]:
    """What base64 makes of a known value, apart from its ends."""
    if (not part.isalnum() and not part.isascii()) or set(part) & set('"&+?\\='):
        for before in range(3):
            code = base64.b64encode(b"\0" * before + part.encode()).decode().rstrip("=")
            yield code[(0, 2, 3)[before] : -1]


def _shown(text: str, start: int, end: int, part: str, at: int) -> str:
    """What a text shows around a window, if it is too much."""
    if at < 0:
        return text[start:end]
    first, last = at, at + end - start
    while first and start and text[start - 1] == part[first - 1]:
        start, first = start - 1, first - 1
    while last < len(part) and end < len(text) and text[end] == part[last]:
        end, last = end + 1, last + 1
    return text[start:end] if end - start >= LEAK else ""


def readings(output: str) -> Iterator[str]:
    """An output as it is, its JSON strings, and what they say without colours, escapes and invisible characters."""
    output = output.encode("utf-8", "replace").decode()
    yield output
    decoded = _json_strings(output).encode("utf-8", "replace").decode()
    if decoded:
        yield decoded
    for text in (output, decoded):
        plain = re.sub(f"{ESCAPE_SEQUENCE}|[\u200b\u00ad]", "", text)
        plain = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), plain)
        plain = html.unescape(re.sub(r"\\+([\"/\\])", r"\1", plain)) if "&" in plain else plain
        plain = unquote(plain) if "%" in plain else plain
        if plain != text:
            yield plain


def _json_strings(output: str) -> str:
    """All strings of JSON lines, or of one JSON value; those that terminals join are joined."""
    strings: list[str] = []
    try:
        values = [json.loads(output)]
    except ValueError:
        values = []
        for line in output.splitlines():
            if line.startswith(("{", "[")):
                try:
                    values.append(json.loads(line))
                except ValueError:
                    continue
    events = [one[2] for one in values if isinstance(one, list) and len(one) == 3 and isinstance(one[2], str)]
    _collect(values, strings)
    return "\n".join([*strings, "".join(events)])


def _collect(value: object, strings: list[str]) -> None:
    if isinstance(value, str):
        strings.append(value)
    elif isinstance(value, list):
        for item in value:
            _collect(item, strings)
    elif isinstance(value, dict):
        for key, item in value.items():
            strings.append(key)
            _collect(item, strings)
