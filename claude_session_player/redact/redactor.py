"""The redactor: learns what a session must not say, and masks it in texts, records and events."""

from __future__ import annotations

import re
from copy import deepcopy
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from claude_session_player.format import lenient_json
from claude_session_player.redact.identity import Identity
from claude_session_player.redact.line_sieve import IMAGE_SIGNS, LineSieve, is_plain, json_bytes
from claude_session_player.redact.masks import MaskTable, without_tags
from claude_session_player.redact.plausibility import is_number_secret, is_secret_name, plausible_value
from claude_session_player.redact.records import (
    FREE,
    IMAGE_MARK,
    Others,
    remove_data_urls,
    remove_images,
    string_lists,
    transform,
)
from claude_session_player.redact.report import Place, RedactionReport
from claude_session_player.redact.rule import Find, Group, Kind, Rule
from claude_session_player.redact.scanner import NOTHING, Scan, Scanner
from claude_session_player.redact.values import ValueTable
from claude_session_player.util.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claude_session_player.redact.known import KnownValue
    from claude_session_player.redact.own_rules import OwnRules

_E = TypeVar("_E", bound=msgspec.Struct)
_AROUND: Final = 40
_SHORT: Final = 256
_REMEMBERED: Final = 20_000
_NOWHERE: Final = Place()
_NAME: Final = "\0"
"""In place of a key: the text is the value of one of `records.NAMES`, and says nothing about people."""
_LARGEST_NUMBER: Final = 128
"""Bits."""
_NUMBER_SIGN: Final = "→"
_LINE_NUMBER: Final = re.compile(r"\n {0,8}\d{1,6}→")
"""Stands before each line of a file that was read: between a name and its value, too."""
FIELD_RULE: Final = Rule(name="secret", kind=Kind.SECRET, pattern="", keywords=())
"""Names what stands in a field whose name says that it is secret."""
KNOWN_RULE: Final = Rule(name="known-value", kind=Kind.KNOWN, pattern="", keywords=())


_is_secret_name: Final = lru_cache(maxsize=4096)(is_secret_name)


class KindsToKeep:
    """Which kinds are not masked, by the words for groups, kinds and rules."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self.words = frozenset(words)

    def has(self, rule: Rule) -> bool:
        """True if what a rule finds is kept."""
        return rule.name in self.words or self.has_kind(rule.kind)

    def has_kind(self, kind: Kind) -> bool:
        """True if a kind is kept, by its own word or by that of its group."""
        return kind.word in self.words or kind.group.value in self.words


class Redactor:
    """Masks secrets, the identity of people and images.

    What it learns from one text it masks in all others, so texts of a session are learned first and masked then. Masks
    stay the same for as long as the redactor lives.

    >>> redactor = Redactor()
    >>> redactor.text("mail ada@tea.dev, then bob@tea.dev, then ada@tea.dev")
    'mail person-1@example.com, then person-2@example.com, then person-1@example.com'
    """

    def __init__(
        self,
        *,
        keep: Iterable[str] = (),
        known: Sequence[KnownValue] = (),
        own: OwnRules | None = None,
        reports_places: bool = True,
        home: str | None = None,
        user: str | None = None,
        host: str | None = None,
    ) -> None:
        """`home`, `user` and `host` are masked from the start, like what texts say about people and machines.

        Without `reports_places`, the report only counts, and copies of sessions are written faster.
        """
        self.reports_places = reports_places
        self.report = RedactionReport()
        self._keep = KindsToKeep(keep)
        self._own = own
        switched_off = own.switched_off if own else frozenset()
        rules = (*(own.rules if own else ()), *(rule for rule in _secret_rules() if rule.name not in switched_off))
        self._scanner = Scanner([rule for rule in rules if not self._keep.has(rule)])
        self._masks = MaskTable()
        self._known = tuple(known)
        self._known_numbers = frozenset(one.value for one in known if one.value.lstrip("-").isdecimal())
        kept = frozenset(kind for kind in Kind if self._keep.has_kind(kind))
        self._identity = None if self._keeps_identity else Identity(kept, home=home, user=user, host=host)
        self._masked: dict[tuple[str, str], tuple[str, list[tuple[Rule, str, str]]]] = {}
        """Short texts that were masked before, with their masks."""
        self._has_secrets = True
        """False while texts are looked at in which no rule finds anything."""
        self._has_scanned_any = False
        """True once a text was seen in which rules find something, or something may be hidden."""
        self._homes_known_at: tuple[int, int] | None = None
        self._known_homes: list[tuple[bytes, Rule, str]] = []
        self._learned_sieve: tuple[tuple[int, int], LineSieve] | None = None
        self._changes = (0, 0)
        """What was known then."""
        self.forget()

    def forget(self) -> None:
        """Forget the secrets that were learned, but not those that a user named."""
        self._masked.clear()
        self._values = ValueTable()
        for one in self._known:
            self._values.add_known(KNOWN_RULE, one.value)

    @cached_property
    def _keeps_identity(self) -> bool:
        return all(self._keep.has_kind(kind) for kind in Kind if kind.group is Group.IDENTITY)

    @cached_property
    def _keeps_images(self) -> bool:
        return self._keep.has_kind(Kind.IMAGE)

    # --- sorting lines --------------------------------------------------------------------------

    @property
    def homes(self) -> frozenset[str]:
        """The home directories that are known so far."""
        return frozenset(self._identity.home_directories) if self._identity is not None else frozenset()

    def sieve(self) -> LineSieve:
        """A sieve for raw lines: which may say something that has to be learned, or masked by itself."""
        words = set(IMAGE_SIGNS)
        homes = [home for home in self.homes if is_plain(home)]
        if self._identity is not None:
            words.update(self._identity.anchors)
        return LineSieve(map(json_bytes, words), [home.encode() for home in homes], self._scanner.gate)

    def sieve_of_learned(self) -> LineSieve:
        """A sieve for lines that need not be decoded unless something stands in them that was learned elsewhere."""
        changes = self._changes_so_far
        if self._learned_sieve is None or self._learned_sieve[0] != changes:
            words = set(self._values.spellings)
            if self._identity is not None:
                words.update(self._identity.learned_words)
            homes = [home.encode() for home in self.homes if is_plain(home)]
            self._learned_sieve = changes, LineSieve(map(json_bytes, words), homes)
        return self._learned_sieve[1]

    def mask_homes(self, line: bytes) -> bytes:
        """A raw line of which a sieve has said that it holds nothing else to mask than home directories."""
        for home, rule, mask in self._plain_homes:
            parts = line.split(home)
            if len(parts) > 1:
                self.report.add(rule, mask, _NOWHERE, "", len(parts) - 1)
                line = mask.encode().join(parts)
        return line

    @property
    def _plain_homes(self) -> list[tuple[bytes, Rule, str]]:
        """Home directories in the order in which they are replaced, the longest first, with their masks."""
        changes = self._changes_so_far
        if self._homes_known_at != changes:
            self._homes_known_at = changes
            self._known_homes = []
            for home in sorted(filter(is_plain, self.homes), key=len, reverse=True):
                for find in self._finds(home, ""):
                    self._known_homes.append((home.encode(), find.rule, self._masks.mask(find.rule, find.value)))
        return self._known_homes

    @property
    def _changes_so_far(self) -> tuple[int, int]:
        return self._values.changes, self._identity.changes if self._identity is not None else 0

    # --- learning -------------------------------------------------------------------------------

    def learn(self, text: str, key: str = "") -> None:
        """Learn what a text says, so that it is masked in other texts, too. `key` is the name of its field."""
        scan = self._secrets(text, key)
        for find in scan.finds:
            self._values.add(find.rule, find.value)
        if self._identity is not None:
            self._identity.learn_field(key, text) if key else None
            self._identity.learn(text)
            if scan.cleaned is not None:
                self._identity.learn(scan.cleaned.text)
        if self._has_secrets and _NUMBER_SIGN in text:
            unnumbered, lines = _LINE_NUMBER.subn("\n", text)
            for find in self._scanner.finds_as_is(unnumbered) if lines else ():
                self._values.add(find.rule, find.value)

    def learn_record(self, record: Any, *, has_secrets: bool = True, key: str = "", is_free: bool = False) -> bool:
        """Learn what all texts of a record say; `has_secrets` is false if rules are known to find nothing in it.

        `key` is the name of the field that holds it, if one does; `is_free` says that names in it mean nothing.
        False if rules find nothing in any of its texts, and nothing is hidden in them.
        """
        self._has_secrets = has_secrets
        self._has_scanned_any = False
        try:
            if self._identity is not None and type(record) is dict:
                self._identity.learn_record(record)
            others = Others(self._learned_name, self._learned_number)
            transform(record, self._learned, key, is_free=is_free, others=others)
            for texts in string_lists(record):
                if has_secrets:
                    self.learn_pieces(texts, "\n")
                    self.learn_pieces(texts, " ")
                elif self._identity is not None:
                    self._identity.learn(" ".join(texts))
        finally:
            self._has_secrets = True
        return self._has_scanned_any

    def learn_pieces(self, pieces: Sequence[str], separator: str = "") -> None:
        """Learn what stands in several texts that belong together, but in none of them alone."""
        text = separator.join(pieces)
        ends = []
        at = 0
        for piece in pieces:
            at += len(piece)
            ends.append(at)
            at += len(separator)
        scan = self._scanner.scan(text)
        self._has_scanned_any |= scan is not NOTHING
        if self._identity is not None:
            self._identity.learn(text if scan.cleaned is None else scan.cleaned.text)
        for find in scan.finds:
            self._values.add(find.rule, find.value)
            for piece, end in zip(pieces, ends, strict=True):
                start = end - len(piece)
                if start < find.start and find.end == end and separator == " " and text[find.start - 1].isalnum():
                    self._values.add_piece(find.rule, find.value, piece)  # as in `-pSECRET`
                elif find.start < end and start < find.end and not (start <= find.start and find.end <= end):
                    part = text[max(find.start, start) : min(find.end, end)]
                    self._values.add_piece(find.rule, find.value, part)

    def secrets(self, text: str, key: str = "") -> list[Find]:
        """The secrets that a text shows by itself, whatever was learned."""
        return self._secrets(text, key).finds

    def learn_finds(self, finds: Iterable[Find]) -> None:
        """Learn secrets that were found."""
        for find in finds:
            self._values.add(find.rule, find.value)

    def _learned(self, key: str, text: str, field: str) -> str:
        self.learn(text, key)
        return text

    def _learned_name(self, key: str, text: str, field: str) -> str:
        self.learn_finds(self._secrets(text, "").finds)
        return text

    def _learned_number(self, key: str, number: int, field: str) -> int:
        self._has_scanned_any |= self._number_rule(key, number) is FIELD_RULE
        return number

    # --- masking --------------------------------------------------------------------------------

    def text(self, text: str) -> str:
        """A text with masks, after what it says was learned."""
        self.learn(text)
        return self.masked(text)

    def masked(self, text: str, key: str = "", place: Place = _NOWHERE) -> str:
        """A text with masks in place of what is known so far. `key` is the name of its field."""
        return self._masked_in(text, key, place, place.field)

    def _masked_in(self, text: str, key: str, place: Place, field: str) -> str:
        self._forget_if_changed()
        is_short = len(text) <= _SHORT
        known = self._masked.get((key, text)) if is_short else None
        if known is None:
            known = self._mask(text, key)
            if is_short:
                if len(self._masked) >= _REMEMBERED:
                    self._masked.clear()
                self._masked[key, text] = known
        if known[1]:
            place = self._safe_place(place, field)
            for rule, mask, preview in known[1]:
                self.report.add(rule, mask, place, preview)
        return known[0]

    def _safe_place(self, place: Place, field: str) -> Place:
        """A place as a report may tell it: names of files can be secret, too. Those of fields were masked before."""
        session, file = (self._mask(name, "")[0] if name else name for name in (place.session, place.file))
        return Place(session, place.line, field, file)

    def _masked_number(self, key: str, number: int, place: Place, field: str) -> int | str:
        rule = self._number_rule(key, number)
        if rule is None:
            return number
        mask = self._masks.mask(rule, str(number))
        self.report.add(rule, mask, self._safe_place(place, field), mask)
        return mask

    def _number_rule(self, key: str, number: int) -> Rule | None:
        """What a number is masked as, if it is: one that a user named, or a password. Numbers that count are not."""
        if -1000 < number < 1000 or number.bit_length() > _LARGEST_NUMBER or key.endswith("okens"):
            return None
        text = str(number)
        if text in self._known_numbers:
            rule = KNOWN_RULE
        elif self._has_secrets and is_number_secret(key):
            rule = FIELD_RULE
        else:
            return None
        is_kept = self._keep.has(rule) or (
            self._own is not None and not self._own.not_allowed([Find(0, len(text), rule, text)], text)
        )
        return None if is_kept else rule

    def _forget_if_changed(self) -> None:
        changes = self._changes_so_far
        if changes != self._changes:
            self._changes = changes
            self._masked.clear()

    def record(
        self, record: Any, place: Place = _NOWHERE, *, has_secrets: bool = True, key: str = "", is_free: bool = False
    ) -> Any:
        """A record with masks, in place; its structure stays. For the other arguments see `learn_record`."""
        self._has_secrets = has_secrets
        try:
            if not self._keeps_images and (removed := remove_images(record)):
                self.report.add_images(removed, self._safe_place(place, place.field), IMAGE_MARK)
            return transform(
                record,
                lambda key, text, field: self._masked_in(text, key, place, field),
                key,
                is_free=is_free,
                others=Others(
                    name=lambda key, text, field: self._masked_in(text, _NAME, place, field),
                    number=lambda key, number, field: self._masked_number(key, number, place, field),
                ),
            )
        finally:
            self._has_secrets = True

    def event(self, event: _E) -> _E:
        """A copy of an event with masks, after what it says was learned."""
        self._event(event, learns=True)
        masked: _E = self._event(event, learns=False)
        return masked

    def _mask(self, text: str, key: str) -> tuple[str, list[tuple[Rule, str, str]]]:
        images = 0
        original = text
        if not self._keeps_images:
            text, images = remove_data_urls(text)
        finds = self._finds(text, key)
        if not finds:
            masks = [(_IMAGE_RULE, IMAGE_MARK, IMAGE_MARK)] * images
            return (text if images else original), masks
        pieces: list[str] = []
        spans: list[tuple[int, int, Rule, str]] = []
        at = length = 0
        for find in finds:
            mask = self._masks.mask(find.rule, find.value)
            pieces += (text[at : find.start], mask)
            length += find.start - at
            spans.append((length, length + len(mask), find.rule, mask))
            length += len(mask)
            at = find.end
        masked = "".join((*pieces, text[at:]))
        masks = [(rule, mask, _preview(masked, start, end)) for start, end, rule, mask in spans]
        return masked, masks + [(_IMAGE_RULE, IMAGE_MARK, IMAGE_MARK)] * images

    def finds(self, text: str, key: str = "") -> list[Find]:
        """What `masked` masks in a text, from left to right, without overlaps."""
        return self._finds(text, key)

    @property
    def scanner(self) -> Scanner:
        """Applies the rules."""
        return self._scanner

    @property
    def values(self) -> ValueTable:
        """The values that are masked wherever they stand."""
        return self._values

    def _finds(self, text: str, key: str) -> list[Find]:
        """All that is masked in a text, from left to right, without overlaps."""
        scan = self._secrets(text, key)
        if key is _NAME:
            finds = [*scan.finds, *self._values.finds(text)]
        else:
            finds = [*scan.finds, *self._known_in(text)]
            if scan.cleaned is not None:
                finds += scan.cleaned.originals(self._known_in(scan.cleaned.text))
        if self._identity is not None and key and key is not _NAME:
            finds += self._identity.finds_field(key, text)
        if len(finds) > 1:
            finds = self._scanner.merged(finds, text)
        finds = [find for find in finds if not self._keep.has(find.rule)]
        return self._own.not_allowed(finds, text) if self._own is not None and finds else finds

    def _known_in(self, text: str) -> list[Find]:
        """What is masked in a text by what is known of values, people and machines."""
        finds = self._values.finds(text) if len(self._values) else []
        return [*finds, *self._identity.finds(text)] if self._identity is not None else finds

    def _secrets(self, text: str, key: str) -> Scan:
        if not self._has_secrets:
            return NOTHING
        scan = self._scanner.scan(text)
        finds, cleaned = scan
        if key and not finds and _is_secret_name(key) and self._is_plausible(key, text):
            finds = [] if self._keep.has(FIELD_RULE) else [Find(0, len(text), FIELD_RULE, text)]
        if scan is NOTHING and not finds:
            return NOTHING
        if finds and self._own is not None:
            finds = self._own.not_allowed(finds, text)
        self._has_scanned_any = True
        return Scan(finds, cleaned)

    def _is_plausible(self, key: str, text: str) -> bool:
        return plausible_value(key, without_tags(text)) and not self._scanner.is_masked(text)

    # --- events ---------------------------------------------------------------------------------

    def _event(self, value: Any, key: str = "", *, learns: bool) -> Any:
        """A copy of an event, or of a part of it, with masks; with `learns`, the same, whose texts are learned.

        `key` is the name of the field that holds it.
        """
        if isinstance(value, msgspec.Struct):
            changes = {
                one.name: self._event(getattr(value, one.name), one.encode_name, learns=learns)
                for one in msgspec.structs.fields(type(value))
            }
            return value if learns else msgspec.structs.replace(value, **changes)
        if isinstance(value, msgspec.Raw):
            if not bytes(value):
                return value
            data = self._json(lenient_json.load_raw(value), key, learns=learns)
            return value if learns else msgspec.Raw(lenient_json.dump(data))
        if isinstance(value, list | tuple):
            if type(value) is list and not any(isinstance(item, _PARTS) for item in value):
                return self._json(value, key, learns=learns)
            return type(value)([self._event(item, key, learns=learns) for item in value])
        return self._json(value, key, learns=learns) if isinstance(value, str | dict | int) else value

    def _json(self, value: Any, key: str, *, learns: bool) -> Any:
        """A copy of a JSON value with masks; with `learns`, the same."""
        is_free = key in FREE and not isinstance(value, str)
        if learns:
            self.learn_record(value, key=key, is_free=is_free)
            return value
        return self.record(deepcopy(value), key=key, is_free=is_free)


_PARTS: Final = (msgspec.Struct, msgspec.Raw, tuple)
_IMAGE_RULE: Final = Rule(name="image", kind=Kind.IMAGE, pattern="", keywords=(), mask=IMAGE_MARK)


def _secret_rules() -> tuple[Rule, ...]:
    from claude_session_player.redact.rules import SECRET_RULES

    return SECRET_RULES


def _preview(masked: str, start: int, end: int) -> str:
    """The masked text around a mask, on one line."""
    first, last = start - _AROUND, end + _AROUND
    return one_line(f"{'…' if first > 0 else ''}{masked[max(first, 0) : last]}{'…' if last < len(masked) else ''}")
