"""A store for benchmarks of search, with the vocabulary and the shares of bytes of real sessions.

Both follow a measured corpus: `python -m bench.search_store --compare` prints the two side by side. All words are
written down here or made of syllables. A project learns words as its text grows (Heaps' law), and uses those that it
learned first most often (Zipf's law).
"""

from __future__ import annotations

import argparse
import base64
import copy
import functools
import hashlib
import json
import math
import random
import re
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from claude_session_player.parser import gc_paused
from tests import corpus

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
_PATH_WORDS: Final = slice(100, 500)
_SUBAGENT_WEIGHT: Final = 0.4
_HEAPS_FACTOR: Final = 9.5
_HEAPS_EXPONENT: Final = 0.43
_START = datetime(2026, 3, 2, 9, tzinfo=UTC)
_NOISE = base64.b64encode(random.Random(1).randbytes(3_000_000), b"aZ").decode()
_TOOLS = ("Bash", "Read", "Edit", "TodoWrite", "Grep", "Write", "Agent"), (36, 19, 14, 8, 5, 4, 1)
_HOOK = {"hookName": "PostToolUse:Bash", "hookEvent": "PostToolUse", "toolUseID": "toolu_hook", "durationMs": 65}

ToolRun = tuple[dict[str, Any], Any, Any]
"""The input of a tool call, its result for the model, and its result for the screen."""


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
        _identifier(chance, parts.draw(chance, chance.choice((2, 2, 2, 3, 3, 4)))) for _ in range(_RARE_WORDS)
    )
    return Language(
        common=Lexicon([*_FUNCTION_WORDS.split(), *stems, *plurals, *inflected], shift=20, exponent=1.0),
        rare=Lexicon(dict.fromkeys(invented), shift=200, exponent=1.1),
        identifiers=Lexicon(dict.fromkeys(identifiers), shift=200, exponent=1.1),
        cjk=Lexicon(dict.fromkeys(cjk), shift=40, exponent=1.15),
        numbers=[str(int(10 ** (4.2 * chance.random() ** 1.8))) for _ in range(40_000)],
    )


def _identifier(chance: random.Random, words: list[str]) -> str:
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
        folders = self.chance.choices(self.words.words[_PATH_WORDS], k=self.chance.choice((1, 2, 2, 3)))
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


class SessionText:
    """The lines of one session, or of one of its sub-agents."""

    def __init__(self, project: Project, listings: list[dict[str, Any]], session_id: str, agent_id: str = "") -> None:
        self.project = project
        self.chance = project.chance
        self.listings = listings
        self.agent_id = agent_id
        self.subagents: list[str] = []
        """The ids of sub-agents that are still to be started."""
        self.lines: list[bytes] = []
        self.size = 0
        self.parent: str | None = None
        self.is_current = self.chance.random() < 0.6
        """True for versions with attachments; older ones have progress instead."""
        self.files = [project.file() for _ in range(3)]
        self.time = _START + timedelta(hours=self.chance.uniform(0, 3000))
        self.response: dict[str, Any] = {}
        self.envelope: dict[str, Any] = {
            "isSidechain": bool(agent_id),
            **({"agentId": agent_id} if agent_id else {}),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": project.cwd,
            "sessionId": session_id,
            "version": "2.1.120" if self.is_current else "2.1.42",
            "gitBranch": "main",
            "slug": "-".join(project.language.rare.draw(self.chance, 3)),
        }

    def write(self, path: Path, size: float) -> int:
        """Write a file of about this size; returns the size that it has."""
        self.add_prompt()
        self.add_round()
        while self.size < size or self.subagents:
            self.add_round()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join([*self.lines, b""]))
        return self.size

    def add_line(self, record: dict[str, Any]) -> None:
        """Add a line as it is."""
        self.lines.append(msgspec.json.encode(record))
        self.size += len(self.lines[-1]) + 1

    def add_record(self, type: str, **fields: Any) -> None:
        """Add a line with an envelope, a child of the line before."""
        self.time += timedelta(seconds=self.chance.expovariate(0.2))
        own = {"type": type, "uuid": _uuid(self.chance), "timestamp": f"{self.time:%Y-%m-%dT%H:%M:%S.000Z}"}
        self.add_line({"parentUuid": self.parent, **fields, **own, **self.envelope})
        self.parent = own["uuid"]

    def add_block(self, **block: Any) -> None:
        """Add a line of the response."""
        message = {**self.response, "content": [block]}
        self.add_record("assistant", message=message, requestId=self.response["id"].replace("msg_", "req_"))

    def add_attachment(self, **attachment: Any) -> None:
        """Add context that the model saw."""
        self.add_record("attachment", attachment=attachment)

    def add_progress(self, type: str, call: str, **data: Any) -> None:
        """Add a running tool's sign of life."""
        self.add_record("progress", data={"type": type, **data}, toolUseID=f"{type}-0", parentToolUseID=call)

    def add_prompt(self) -> None:
        """Add what a person typed, and the context that comes with it."""
        chance = self.chance.random
        text = self.text("prose", 5.2, 1.75)
        has_image = not self.agent_id and chance() < 0.05
        content = [{"type": "text", "text": text}, self.image()] if has_image else text
        self.add_record("user", message={"role": "user", "content": content}, promptId=_uuid(self.chance))
        self.add_line({"type": "last-prompt", "lastPrompt": text[:200], "sessionId": self.envelope["sessionId"]})
        if chance() < 0.6:
            backups = {file.path: {"backupFileName": _uuid(self.chance), "version": 2} for file in self.files[-8:]}
            snapshot = {"messageId": self.parent, "trackedFileBackups": backups}
            self.add_line({"type": "file-history-snapshot", "messageId": self.parent, "snapshot": snapshot})
        if self.is_current:
            for attachment in self.listings if chance() < 0.13 else ():
                self.add_attachment(**attachment)
            if chance() < 0.4:
                self.add_attachment(type="hook_additional_context", content=[self.text("prose", 7.4, 1.0)], **_HOOK)

    def add_round(self) -> None:
        """Add a response with thinking, text and a tool call, and the result of the tool."""
        chance = self.chance.random
        self.response = _response(self.chance, self.noise(22), self.is_current)
        if chance() < 0.28:
            thinking = self.text("prose", 5.5, 1.1) if chance() < 0.7 else ""
            self.add_block(type="thinking", thinking=thinking, signature=self.noise(self.length(6.75, 0.95)))
        if chance() < 0.53:
            self.add_block(type="text", text=self.text("prose", 5.15, 1.2))
        tool = "Agent" if self.subagents and chance() < 0.2 else self.chance.choices(*_TOOLS)[0]
        id = f"toolu_01{self.noise(22)}"
        input, content, result = getattr(self, f"run_{tool.lower()}")()
        self.add_block(type="tool_use", id=id, name=tool, input=input, caller={"type": "direct"})
        self.add_side_lines(tool, id)
        message = {"role": "user", "content": [{"tool_use_id": id, "type": "tool_result", "content": content}]}
        self.add_record("user", message=message, toolUseResult=result, sourceToolAssistantUUID=self.parent)
        if chance() < 0.19 and not self.agent_id:
            self.add_record("system", subtype="turn_duration", durationMs=self.chance.randint(900, 400_000))
            self.add_prompt()

    def add_side_lines(self, tool: str, id: str) -> None:
        """Add the lines that come with a tool call: of hooks, or of progress."""
        if self.is_current:
            for _ in range(self.chance.choice((0, 0, 1, 2))):
                hook = {"type": "hook_success", "content": "", "stderr": "", "exitCode": 0, **_HOOK}
                output = self.project.output(self.length(4.2, 1.3))
                self.add_attachment(stdout=output, command=self.text("command", 4.0, 0.4), **hook)
            if self.chance.random() < 0.25:
                self.add_attachment(type="total_tokens_reminder", text=f"{self.size} tokens left")
        elif self.chance.random() < 0.045:
            data = {"normalizedMessages": [], "prompt": self.text("prose", 7.5, 0.8), "agentId": _agent_id(self.chance)}
            for _ in range(self.chance.randint(2, 8)):
                read = {"type": "tool_result", "tool_use_id": id, "content": self.project.output(self.length(7.0, 1.2))}
                inner = {"type": "user", "message": {"role": "user", "content": [read]}, "uuid": _uuid(self.chance)}
                self.add_progress("agent_progress", id, message=inner, **data)
        elif tool == "Bash":
            for _ in range(self.chance.choice((0, 0, 1, 2, 3))):
                output = self.project.output(self.length(4.4, 1.3))
                self.add_progress("bash_progress", id, output=output[-80:], fullOutput=output, elapsedTimeSeconds=3)

    def run_bash(self) -> ToolRun:
        """A command and its output; some fail."""
        output = self.project.output(self.length(6.1, 1.65))
        input = {"command": self.text("command", 4.0, 1.0), "description": self.text("prose", 3.0, 0.2)}
        if self.chance.random() < 0.05:
            return input, f"Exit code 1\n{output}", f"Error: Exit code 1\n{output}"
        return input, output, {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}

    def run_read(self) -> ToolRun:
        """A file or a part of it, mostly of one that the session has read before."""
        file = self.pick_file()
        total = len(file.lines)
        start, count = 0, total
        if self.chance.random() < 0.4:
            start, count = self.chance.randrange(total), self.length(4.2, 1.0)
        content = "\n".join(file.lines[start : start + count])
        lines = {"numLines": content.count("\n") + 1, "startLine": start + 1, "totalLines": total}
        result = {"type": "text", "file": {"filePath": file.path, "content": content, **lines}}
        numbered = file.numbered(start, count, "\t" if self.is_current else "→")
        return {"file_path": file.path, "offset": start + 1, "limit": count}, numbered, result

    def run_edit(self) -> ToolRun:
        """Some lines of a file, replaced by fresh ones."""
        file = self.pick_file()
        lines = file.lines
        original = "\n".join(lines)
        start = self.chance.randrange(len(lines))
        end = start + self.length(1.9, 0.9)
        old, new = lines[start:end], self.text("code", 5.8, 1.0).split("\n")
        parts = (" ", lines[max(0, start - 3) : start]), ("-", old), ("+", new), (" ", lines[end : end + 3])
        patch = {"oldStart": start, "newStart": start, "lines": [sign + line for sign, part in parts for line in part]}
        lines[start:end] = new
        shown = file.numbered(max(0, start - 3), len(new) + 6, "→") if self.chance.random() < 0.4 else ""
        before, after = "\n".join(old), "\n".join(new)
        change = {"oldString": before, "newString": after, "originalFile": original, "structuredPatch": [patch]}
        input = {"file_path": file.path, "old_string": before, "new_string": after}
        text = f"The file {file.path} has been updated successfully.\n{shown}"
        return input, text, {"filePath": file.path, **change, "userModified": False, "replaceAll": False}

    def run_write(self) -> ToolRun:
        """A new file."""
        file = self.project.new_file(self.length(7.2, 1.2))
        self.files.append(file)
        content = "\n".join(file.lines)
        result = {"type": "create", "filePath": file.path, "content": content, "structuredPatch": []}
        return {"file_path": file.path, "content": content}, f"File created successfully at: {file.path}", result

    def run_grep(self) -> ToolRun:
        """Lines of some files."""
        content = "\n".join(
            f"{file.path}:{number}:{file.lines[number]}"
            for file in self.chance.choices(self.project.files, k=2)
            for number in range(0, len(file.lines), self.chance.choice((15, 40)))
        )
        result = {"mode": "content", "numFiles": 0, "filenames": [], "content": content, "numLines": 1}
        pattern = self.chance.choice(self.project.identifiers.words)
        return {"pattern": pattern, "path": self.project.cwd, "output_mode": "content"}, content, result

    def run_todowrite(self) -> ToolRun:
        """A list of what is to be done."""
        names = [self.text("prose", 3.4, 0.2) for _ in range(3)]
        todos = [{"content": name, "status": "pending", "activeForm": name} for name in names]
        return {"todos": todos}, "Todos have been modified successfully.", {"oldTodos": [], "newTodos": todos}

    def run_agent(self) -> ToolRun:
        """A sub-agent and its report."""
        agent = self.subagents.pop() if self.subagents else _agent_id(self.chance)
        prompt, report = self.text("prose", 7.0, 0.8), {"type": "text", "text": self.text("prose", 7.0, 1.2)}
        input = {"description": self.text("prose", 3.0, 0.2), "prompt": prompt, "subagent_type": "Explore"}
        result = {
            "status": "completed",
            "prompt": prompt,
            "agentId": agent,
            "content": [report],
            "totalTokens": self.size,
        }
        return input, [report, {"type": "text", "text": f"agentId: {agent}"}], result

    def pick_file(self) -> SourceFile:
        """A file that the session works on, sometimes another one."""
        if self.chance.random() < 0.25:
            self.files.append(self.project.file())
        return self.chance.choice(self.files[-8:])

    def text(self, kind: str, mean: float, deviation: float) -> str:
        """Fresh text of a random length."""
        return self.project.text(kind, self.length(mean, deviation))

    def length(self, mean: float, deviation: float) -> int:
        """A length from a log-normal distribution; `mean` and `deviation` are those of its logarithm."""
        return min(int(self.chance.lognormvariate(mean, deviation)) + 1, 60_000)

    def noise(self, size: int) -> str:
        """Letters and digits without meaning, as in ids, signatures and images."""
        start = self.chance.randrange(len(_NOISE) - size)
        return _NOISE[start : start + size]

    def image(self) -> dict[str, Any]:
        """A picture."""
        data = self.noise(min(int(self.chance.lognormvariate(11.2, 0.6)), 1_000_000))
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def _uuid(chance: random.Random) -> str:
    digits = f"{chance.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _agent_id(chance: random.Random) -> str:
    return f"a{chance.getrandbits(64):016x}"


def _response(chance: random.Random, id: str, is_current: bool) -> dict[str, Any]:
    """A message of the model without its content."""
    tokens: dict[str, Any] = {
        "input_tokens": 4,
        "cache_creation_input_tokens": chance.randint(0, 9000),
        "cache_read_input_tokens": chance.randint(9000, 150_000),
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 1830},
        "output_tokens": chance.randint(1, 2000),
    }
    usage = {**tokens, "service_tier": "standard"}
    if is_current:
        usage |= {"inference_geo": "not_available", "iterations": [{**tokens, "type": "message"}], "speed": "standard"}
    message = {"model": "claude-opus-4-5-20251101", "id": f"msg_01{id}", "type": "message", "role": "assistant"}
    return {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}


def _listings(project: Project) -> list[dict[str, Any]]:
    """Attachments that are the same in all sessions of a person: the skills, agents and tools at hand."""
    names = [name.lower() for name in project.language.identifiers.words[:140]]
    lines = [f"- {name}: " + project.text("prose", 250).replace("\n", " ") for name in names]
    return [
        {"type": "skill_listing", "content": "\n".join(lines), "skillCount": 140, "isInitial": True, "names": names},
        {"type": "agent_listing_delta", "addedTypes": names[:45], "addedLines": lines[:45], "isInitial": True},
        {"type": "deferred_tools_delta", "addedNames": names[:70], "addedLines": names[:70], "removedNames": []},
    ]


def write_search_store(root: Path, megabytes: float, files: int, *, seed: int = 1) -> Path:
    """Write a store of about this size; three of ten files are sub-agents, and those are small."""
    chance = random.Random(seed)
    projects = [Project(chance, number) for number in range(6 + int(files**0.5))]
    listings = _listings(projects[0])
    sessions = files - files * 3 // 10
    weights = [chance.lognormvariate(0, 1.3) for _ in range(sessions)]
    subagents = Counter(chance.choices(range(sessions), weights, k=files - sessions))
    size_of_one = megabytes * 1_000_000 / (sum(weights) + _SUBAGENT_WEIGHT * (files - sessions))
    missing = 0.0
    for number, weight in enumerate(weights):
        project = projects[int(len(projects) * chance.random() ** 2)]
        folder = root / "projects" / re.sub(r"[^A-Za-z0-9]", "-", project.cwd)
        id = _uuid(chance)
        session = SessionText(project, listings, id)
        for _ in range(subagents[number]):
            agent = _agent_id(chance)
            session.subagents.append(agent)
            path = folder / id / "subagents" / f"agent-{agent}.jsonl"
            missing += size_of_one * _SUBAGENT_WEIGHT
            missing -= SessionText(project, listings, id, agent).write(path, missing)
            path.with_suffix(".meta.json").write_bytes(b'{"agentType":"Explore"}')
        missing += size_of_one * weight
        missing -= session.write(folder / f"{id}.jsonl", missing)
    return root


def sample_queries(seed: int, count: int) -> list[str]:
    """As many different queries; most of their words occur in a store of 50 MB."""
    chance = random.Random(seed)
    words = language()
    queries: dict[str, None] = {}
    while len(queries) < count:
        [first, second, third], [rare] = words.common.draw(chance, 3), words.rare.draw(chance, 1)
        [name], [cjk] = words.identifiers.draw(chance, 1), words.cjk.draw(chance, 1)
        [tool], path = chance.choices(*_TOOLS), chance.choice(words.common.words[_PATH_WORDS])
        kinds = (
            *(first, rare, name, cjk, f"{first} {second}", f"{first} {rare}", f"{first} {second} {third}"),
            *(f'"{first} {second}"', f'"updated successfully" {first}', f"{rare[:4]}*", f"{name[:6]}*", f"path:{path}"),
            *(f"tool:{tool} {second}", f"tool:{tool} {name}", f"in:prompt {first}", f"in:prompt {second} {rare}"),
        )
        queries[chance.choice(kinds)] = None
    return list(queries)


_GROUPS: Final = {
    "images": r"source\.data$|base64$",
    "signatures": r"\.signature$",
    "tool results": r"^user\.message\.content\.content",
    "toolUseResult: files": r"^user\.toolUseResult\.(originalFile|file\.content|content)",
    "toolUseResult: other": r"^user\.toolUseResult",
    "attachments": r"^attachment\.attachment",
    "progress": r"^progress\.data",
    "tool inputs": r"^assistant\.message\.content\.input",
    "response text": r"^assistant\.message\.content(\.text)?$",
    "thinking": r"\.thinking$",
    "prompts": r"^user\.message\.content(\.text)?$",
}
"""Names of groups of values, by the paths of their keys."""
_SEARCHABLE: Final = ("tool results", "tool inputs", "response text", "thinking", "prompts")
_WORD: Final = re.compile(r"\w+")
_PIECE: Final = 60_000


def _decode(line: bytes) -> Any:
    """A line as JSON; `None` if it is malformed."""
    try:
        return json.loads(line)
    except ValueError:
        return None


@functools.cache
def _group(path: str) -> str:
    return next((name for name, pattern in _GROUPS.items() if re.search(pattern, path)), "envelope, usage, other")


def _values(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """All values that hold no others, with the keys that lead to them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _values(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner, path)
    else:
        yield path, value


class Measures(NamedTuple):
    """The rows of the comparison."""

    rows: dict[str, float]
    growth: dict[float, float]
    """The number of distinct words in so many MB of searchable text."""


def measure(files: Iterable[Path]) -> Measures:
    """Measure session files; of equal ones only the first."""
    contents = {hashlib.md5(data).digest(): data for data in (path.read_bytes() for path in files)}
    sizes, words = Counter[str](), Counter[str]()
    lengths: list[int] = []
    seconds = 0.0
    pieces: list[list[tuple[int, set[str]]]] = []
    for data in contents.values():
        lines = data.splitlines()
        start = time.perf_counter()
        for line in lines:
            _decode(line)
        seconds += time.perf_counter() - start
        pieces.append([(0, set())])
        for line in lines:
            lengths.append(len(line))
            text = _add_sizes(_decode(line), sizes)
            found = _WORD.findall(text.lower())
            words.update(found)
            if pieces[-1][-1][0] > _PIECE:
                pieces[-1].append((0, set()))
            size, known = pieces[-1][-1]
            pieces[-1][-1] = size + len(text.encode(errors="replace")), known.union(found)
    total, ranks = sum(lengths), [count for _, count in words.most_common()]
    sizes["keys and punctuation"] = total - sizes.total()
    lengths.sort()
    rows = {
        "MB": total / 1_000_000,
        **{f"% {group}": 100 * size / total for group, size in sizes.most_common()},
        "% searchable text": 100 * sum(sizes[group] for group in _SEARCHABLE) / total,
        "% of that: tool results": 100 * sizes["tool results"] / sum(sizes[group] for group in _SEARCHABLE),
        **{f"% of words: the {top} most frequent": 100 * sum(ranks[:top]) / sum(ranks) for top in (10, 100, 1000)},
        "% of distinct words: found once": 100 * ranks.count(1) / len(ranks),
        **{f"bytes of a line, {share:.0%}": lengths[int(share * len(lengths))] for share in (0.5, 0.9, 0.99)},
        "lines per file": len(lengths) / len(contents),
        "json.loads MB/s": total / 1_000_000 / seconds,
    }
    return Measures(rows, _word_growth(pieces))


def _add_sizes(record: Any, sizes: Counter[str]) -> str:
    """Add the sizes of the values of a record to those of their groups; returns its searchable text."""
    texts = []
    for path, value in _values(record, str(record.get("type")) if isinstance(record, dict) else ""):
        group = _group(path)
        is_text = isinstance(value, str)
        sizes[group] += len(json.dumps(value, ensure_ascii=False).encode(errors="replace")) - 2 * is_text
        if is_text and group in _SEARCHABLE:
            texts.append(value)
    return "\n".join(texts)


def _word_growth(files: list[list[tuple[int, set[str]]]]) -> dict[float, float]:
    """The number of distinct words by MB of text: the mean over some orders of the files."""
    found: dict[float, list[int]] = {}
    for seed in range(8):
        random.Random(seed).shuffle(files)
        words, total, milestone = set[str](), 0.0, 0.5
        for size, piece in (piece for file in files for piece in file):
            words |= piece
            total += size / 1_000_000
            while total >= milestone:
                found.setdefault(milestone, []).append(len(words))
                milestone *= 2
        found.setdefault(round(total, 1), []).append(len(words))
    return {milestone: sum(counts) / len(counts) for milestone, counts in found.items()}


def compare(megabytes: float, files: int) -> None:
    """Print the measures of the corpus beside those of a generated store."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        root = write_search_store(Path(folder), megabytes, files)
        print(f"generated in {time.perf_counter() - start:.1f} s")
        with gc_paused():  # or a larger heap makes json.loads slower
            ours, theirs = measure(sorted(root.rglob("*.jsonl"))), measure(corpus.session_files())
    print(f"{'':44}{'corpus':>10}{'generated':>12}")
    for name in theirs.rows:
        print(f"{name:44}{theirs.rows[name]:10,.1f}{ours.rows.get(name, 0.0):12,.1f}")
    exponent = math.log(theirs.growth[8] / theirs.growth[1], 8)
    for text, count in sorted(ours.growth.items()):
        expected = theirs.growth.get(text) or theirs.growth[8] * (text / 8) ** exponent
        sign = " " if text in theirs.growth else "~"
        print(f"{f'distinct words in {text:g} MB of text':44}{sign}{expected:9,.0f}{count:12,.0f}")
    print(f"~ by Heaps' law, with the exponent {exponent:.2f} of the corpus")


def main() -> None:
    """Compare a generated store to the corpus."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--compare", action="store_true", required=True, help="print the measures of both")
    parser.add_argument("--megabytes", type=float, default=43, help="size of the generated store (43, as the corpus)")
    parser.add_argument("--files", type=int, default=255, help="number of its files (255, as the corpus)")
    arguments = parser.parse_args()
    if corpus.session_files():
        compare(arguments.megabytes, arguments.files)
    else:
        print(f"skipped: there is no corpus at {corpus.ROOT}")


if __name__ == "__main__":
    main()
