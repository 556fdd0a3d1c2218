"""Words, lines and source files for searchable sessions: invented, with the frequencies of those of real sessions."""

from __future__ import annotations

import copy
import functools
import random
import re
from collections import Counter, deque
from collections.abc import Iterable
from typing import Final, NamedTuple

_FUNCTION_WORDS = """the to a and of in is for it this that with on be not if as from or are by an all when you we at
will can has no was only but which its have after before into so use each then there than should one new any more also
does out up do they what without where via per first two how your them same other these been while may because between
both must here such most our now still just like over very about already instead needs see yes"""
_STEMS = """file test value name path type line data error code result list string key index time user session state set
add run read write call return check config build create update change start load store parse render handle match count
message event request response server client token query search filter sort order group field column table record entry
node tree branch commit merge diff patch version release package module import export class function method object array
number integer boolean default option flag argument parameter input output stream buffer chunk block byte character text
word page view widget button screen window panel layout style color theme font icon image canvas frame cursor scroll
press focus select toggle open close show hide display print format encode decode compress convert copy move remove
insert append replace split join wrap trim escape quote validate verify assert expect mock fixture suite coverage bench
profile trace debug log warn fail pass skip retry timeout wait sleep poll watch listen notify publish subscribe queue
worker thread process task job schedule timer clock date zone locale cache memory disk network socket port host address
route handler middleware plugin hook callback promise future async lock mutex pool connection transaction schema model
migration entity relation constraint primary foreign scope owner role permission policy secret login account email phone
payment invoice price total amount balance discount cart product stock shipment customer vendor report chart metric
alert dashboard summary detail header footer body title label caption note comment issue ticket review approve reject
draft archive restore backup snapshot upload download sync fetch push pull clone remote local origin upstream feature
bug fix chore docs refactor improve simplify extract rename resolve depend require provide inject register factory
adapter bridge proxy facade visitor observer strategy command iterate reduce map flatten lookup scan probe hash digest
salt cipher sign grant revoke expire refresh rotate limit offset batch bulk shard replica leader follower vote term
cluster region deploy rollout container volume mount gateway health scale resource quota budget cost usage bill click"""
_SYLLABLES = """ba be bi bo da de di do fa fe fi ga go ka ke ki ko la le li lo ma me mi mo na ne ni no pa pe po ra re ri
ro sa se si so ta te ti to va ve vi wa za zo bra cre dri flo gra pla pri sta stre tri shi cha lum nor ver sol tan mar
len dor vin kel ros tem bal gen fir hul jor pex wil zan né ün"""

_SLOT = re.compile(r"\{(\w)\}")
_LINES = {
    "code": """\
    def {i}(self, {w}: {T}, {w}: int = {n}) -> {T}:
        return self.{i}({w}, {w})
            if {w}.{w} is None or not {i}:
                raise {T}Error(f"{w} {w} {w} {w}")
        self.{w} = {w}["{w}"].{w}
        for {w}, {w} in {w}.{i}():
        # {T} {w} {w} {w} {w} {w}, {w} {w} {w} {w} TODO {w} {w}
            {w} = {i}({w}, {w}={w})

    const {w} = await {w}.{i}({ {w}, {w}: {T} });
        if (!{w}.{w} || {w} > {n}) {
            {w}.{w}({T}.{w} ?? '{w}-{w}');
    }

}
import { {T}, {i} } from './{w}/{w}';
         * {T} {w} {w} {w} {w} {w} {w} {w} {w} {w}.
	{w}, err := {w}.{T}({w}, "{w} {w}")
            {w}.{i}({w})
            "{w}": {w}.{w},
        )

            {i},
    assert {w}({w}) == {n}
                <{T} className="{w} {w}-{n}">{T} {w} {w} {w}</{T}>
    @{w}.{w}("/{w}/{w}", {w}=True)""",
    "prose": """\
{T} {w} {w} {w} {w} {w} {w} {w} {w}, {w} {w} {w} `{i}` {w} {w} {w} {w}. {T} {w} {w} {w} {w} {w} {w}.
- **{T} {T}**: {w} {w} {w} {w} {w} {w} {w} {w} {w}

- {T} {i} {w}
{T} {w} {w} `{w}/{w}` {w} {w} {w} {w} {w} {w} {w} {w}.
## {T} {T} {w}

{n}. {T} {w} {w} {w} {w} {w} ({w} {w})
  - {w} `{i}()` {w} {w} {w} {w} {w} {w}

{T} {w} {w} {w} {w}: {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w}. {T} {w} {w} {w} {w} {w}.
```
{T}, {w} {w} {w} {w} {w} {w} {w}?
| {T} | {w} {w} | {n} |
{c} {c} {c} {w} {c} {c} {c} {c} {c}.
{T} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} — {w} {w} {w}.""",
    "output": """\
tests/{w}/test_{w}.py::test_{i} PASSED                    [ {n}%]
{w}/{w}.py:{n}: {w} {w}: {w} {w} {w}
{h} {w}: {w} {w} {w} {w} {w}
-rw-r--r--  1 ada  staff  {n} {T} {n} {n}:{n} {w}.{w}
2026-03-{n}T{n}:{n}:{n}Z INFO [{w}] {w} {w} {w}={n} {w}={h}
 {w}/{w}/{w}.ts | {n} ++++++---
{p}:{n}:    {i}.{w}({w}, {w})
  ✓ {w} {w} {w} {w} {w} ({n} ms)
{T} {w} {w} {w} {n} {w} in {n}.{n}s


            {w}.{w} = {T}({w})
{
  "{w}": "{w} {w} {w} {w} {w} {w} {w} {T} {w}. {T} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w} {w}: {w} {w} {w} {w} {w}",
    "{i}": {n}, "{w}": "{w}", "{w}": "{w}-{n}", "{w}": ["{w}", "{w}"],
./{w}/{w}/{i}.{w}
+    {w} = {i}({w}, {w})
-    return {w}.{i}({w})
  File "{p}", line {n}, in {w}
ERROR {T}: {w} {w} '{i}' {w} {w} {w} {w} {w} {w}
    }
ok
  {w}@{n}.{n}.{n} {w} {w}
{c} {c} {w}: {c} {c} {c}""",
    "command": """\
cd {p} && {w} {w} --{w}={w} 2>&1 | tail -{n}
git {w} -m "{w}: {w} {w} {w} {w}"
grep -rn "{i}" {p} --include="*.{w}"
python -m {w} {w}/test_{w}.py -k {w}
{w} {w} {w}""",
}
_TEMPLATES = {
    kind: [(_SLOT.sub("%s", line.replace("%", "%%")), "".join(_SLOT.findall(line))) for line in lines.split("\n")]
    for kind, lines in _LINES.items()
}
"""Formats of lines, and the kinds of their slots: word, Title, identifier, number, hash, path, CJK."""
_LINE_SIZES = {
    kind: sum(len(line) + 4.5 * len(slots) for line, slots in lines) / len(lines) for kind, lines in _TEMPLATES.items()
}
_RARE_WORDS: Final = 60_000
PATH_WORDS: Final = slice(100, 500)
_HEAPS_FACTOR: Final = 9.5
_HEAPS_EXPONENT: Final = 0.43


class Lexicon:
    """Words weighted by their rank (Zipf–Mandelbrot). What is added later is rarer."""

    def __init__(self, words: Iterable[str] = (), *, shift: float, exponent: float) -> None:
        self.words: list[str] = []
        self.sums: list[float] = []
        self.shift = shift
        self.exponent = exponent
        self.add(words)

    def add(self, words: Iterable[str]) -> None:
        """Append words as the rarest ones."""
        total = self.sums[-1] if self.sums else 0.0
        for word in words:
            total += (len(self.words) + self.shift) ** -self.exponent
            self.words.append(word)
            self.sums.append(total)

    def draw(self, chance: random.Random, count: int) -> list[str]:
        """Some words, each as likely as its weight says."""
        return chance.choices(self.words, cum_weights=self.sums, k=count)


class Language(NamedTuple):
    """The words that every project knows, and those that it may learn."""

    common: Lexicon
    rare: Lexicon
    identifiers: Lexicon
    cjk: Lexicon
    numbers: list[str]


@functools.cache
def language() -> Language:
    """The language of all stores: it does not depend on their seed, so that queries fit any of them."""
    chance = random.Random(2026)
    stems = list(dict.fromkeys(_STEMS.split()))
    chance.shuffle(stems)
    plurals = [stem + "s" for stem in stems]
    inflected = [stem.removesuffix("e") + ending for ending in ("ing", "ed", "er", "able") for stem in stems]
    syllables = _SYLLABLES.split()
    signs = [chr(code) for code in (*range(0xAC00, 0xD7A0, 29), *range(0x4E00, 0x6E00, 31), *range(0x3042, 0x3090, 2))]
    invented = ("".join(chance.choices(syllables, k=chance.choice((2, 2, 3, 3, 4)))) for _ in range(_RARE_WORDS))
    cjk = ("".join(chance.choices(signs, k=chance.choice((1, 2, 2, 3, 3, 4)))) for _ in range(_RARE_WORDS // 6))
    parts = Lexicon([*stems, *inflected], shift=40, exponent=1.0)
    identifiers = (
        make_identifier(chance, parts.draw(chance, chance.choice((2, 2, 2, 3, 3, 4)))) for _ in range(_RARE_WORDS)
    )
    return Language(
        common=Lexicon([*_FUNCTION_WORDS.split(), *stems, *plurals, *inflected], shift=20, exponent=1.0),
        rare=Lexicon(dict.fromkeys(invented), shift=200, exponent=1.1),
        identifiers=Lexicon(dict.fromkeys(identifiers), shift=200, exponent=1.1),
        cjk=Lexicon(dict.fromkeys(cjk), shift=40, exponent=1.15),
        numbers=[str(int(10 ** (4.2 * chance.random() ** 1.8))) for _ in range(40_000)],
    )


def make_identifier(chance: random.Random, words: list[str]) -> str:
    """Some words in one of the spellings of identifiers."""
    match chance.choice("sssssccPPUd"):
        case "s":
            return "_".join(words)
        case "c":
            return words[0] + "".join([word.capitalize() for word in words[1:]])
        case "P":
            return "".join([word.capitalize() for word in words])
        case "U":
            return "_".join(words).upper()
    return words[0] + str(chance.randint(1, 2048))


class SourceFile(NamedTuple):
    """A file of a project, which sessions read and edit again and again."""

    path: str
    lines: list[str]

    def numbered(self, start: int, count: int, mark: str) -> str:
        """Some lines, as `cat -n` prints them."""
        return "\n".join([f"{n}{mark}{line}" for n, line in enumerate(self.lines[start : start + count], start + 1)])


class Project:
    """A project with words, files and outputs of its own."""

    def __init__(self, chance: random.Random, number: int) -> None:
        self.chance = chance
        self.language = language()
        self.words = copy.deepcopy(self.language.common)
        self.identifiers = Lexicon(shift=8, exponent=0.9)
        self.has_cjk = number % 3 == 1
        self.slots = 0
        self.cwd = f"/home/ada/work/{'-'.join(self.language.rare.draw(chance, 2))}"
        self.paths = [self.cwd]
        self.files: list[SourceFile] = []
        self.outputs = deque[str](maxlen=30)

    def text(self, kind: str, size: float) -> str:
        """Fresh lines of about this many characters."""
        lines = self.chance.choices(_TEMPLATES[kind], k=max(1, round(size / _LINE_SIZES[kind])))
        if not any(slots for _, slots in lines):
            lines = _TEMPLATES[kind][:1]  # a text has at least one word
        slots = "".join([slots for _, slots in lines])
        self._learn(len(slots))
        draw = {slot: iter(self._fill(slot, count)).__next__ for slot, count in Counter(slots).items()}
        return "\n".join([line for line, _ in lines]) % tuple([draw[slot]() for slot in slots])

    def _learn(self, slots: int) -> None:
        """Learn what a text that is longer by so many slots adds to the vocabulary."""
        self.slots += slots
        missing = int(_HEAPS_FACTOR * self.slots**_HEAPS_EXPONENT) + 20 - len(self.identifiers.words)
        self.identifiers.add(self.language.identifiers.draw(self.chance, missing))
        self.words.add(self.language.rare.draw(self.chance, missing))

    def _fill(self, slot: str, count: int) -> list[str]:
        """What a text has in all its slots of a kind."""
        match slot:
            case "T":
                return [word.capitalize() for word in self._draw(self.words, count)]
            case "i":
                return self._draw(self.identifiers, count)
            case "n":
                return self.chance.choices(self.language.numbers, k=count)
            case "p":
                return self.chance.choices(self.paths, k=count)
            case "h":
                return self.chance.choices([self._hash() for _ in range(count // 6 + 1)], k=count)
            case "c" if self.has_cjk:
                return self._draw(self.language.cjk, count)
        return self._draw(self.words, count)

    def _draw(self, lexicon: Lexicon, count: int) -> list[str]:
        """Words of one text: in a longer one each comes several times, because it has a subject."""
        words = lexicon.draw(self.chance, min(count, 20 + count // 3))
        return self.chance.choices(words, k=count) if len(words) < count else words

    def _hash(self) -> str:
        """A commit, or an id of letters and digits."""
        digits = self.chance.randbytes(20)
        return digits.hex()[: self.chance.choice((7, 8, 12, 40))] if digits[0] < 190 else f"t{digits[1]}z{digits[2]}k"

    def file(self) -> SourceFile:
        """One of the files; every fifth time a new one."""
        if len(self.files) < 3 or self.chance.random() < 0.2:
            return self.new_file(self.chance.lognormvariate(8.2, 1.15))
        return self.chance.choice(self.files)

    def new_file(self, size: float) -> SourceFile:
        """A new file of about this many characters."""
        folders = self.chance.choices(self.words.words[PATH_WORDS], k=self.chance.choice((1, 2, 2, 3)))
        name = self.chance.choice(self.identifiers.words or ["main"])
        suffix = self.chance.choice(("py", "py", "ts", "tsx", "go", "md"))
        text = self.text("prose" if suffix == "md" else "code", min(size, 60_000))
        file = SourceFile("/".join([self.cwd, "src", *folders, f"{name}.{suffix}"]), text.split("\n"))
        self.paths.append(file.path)
        self.files.append(file)
        return file

    def output(self, size: float) -> str:
        """What a command prints: often the same as another one."""
        if self.outputs and self.chance.random() < 0.45:
            return self.chance.choice(self.outputs)
        self.outputs.append(self.text("output", min(size, 30_000)))
        return self.outputs[-1]
