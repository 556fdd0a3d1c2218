"""Tries a rule: on its samples, and on hostile texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claude_session_player.redact.pattern_speed import PatternSpeed, measure_pattern
from claude_session_player.redact.rule import entropy
from claude_session_player.redact.samples import expand
from claude_session_player.redact.scanner import SHORTEST, Scanner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_session_player.redact.rule import Rule


class RuleCheck(NamedTuple):
    """What became of the samples of a rule. If its pattern is too slow, they are not tried."""

    rule: Rule
    speed: PatternSpeed
    missed: tuple[int, ...] = ()
    """The numbers, from 1 on, of the samples in which it should find something, but does not."""
    wrong: tuple[int, ...] = ()
    """The numbers of those in which it should find nothing, but does."""

    @property
    def problems(self) -> Iterator[str]:
        """What is wrong with the rule, and what to do, in a line each."""
        if self.speed.slow is not None:
            yield (
                f"the pattern is too slow: {self.speed.slow}; "
                "give repetitions a maximum, like {1,200}, and put none inside another"
            )
        for number in self.missed:
            reason = _why_missed(self.rule, expand(self.rule.samples[number - 1]))
            yield f"sample {number} of matches is not found: {reason}"
        for number in self.wrong:
            yield f"sample {number} of ignores is found: make the pattern narrower, or raise entropy"


def check_rule(rule: Rule, longest: int) -> RuleCheck:
    """Try a rule on hostile texts of up to `longest` characters, and on its samples."""
    samples, others = [expand(sample) for sample in rule.samples], [expand(sample) for sample in rule.others]
    speed = measure_pattern(rule.regex, samples=(*samples, *others), keywords=rule.keywords, longest=longest)
    if speed.slow is not None:
        return RuleCheck(rule, speed)
    scanner = Scanner([rule])
    return RuleCheck(
        rule,
        speed,
        tuple(number for number, sample in enumerate(samples, start=1) if not scanner.finds(sample)),
        tuple(number for number, sample in enumerate(others, start=1) if scanner.finds(sample)),
    )


def _why_missed(rule: Rule, text: str) -> str:
    """Why a rule finds nothing in a text, and what to do."""
    match = rule.regex.search(text)
    if match is None:
        return "the pattern does not match it"
    if not (value := match[rule.group]):
        return "the group 'secret' is empty in it: let the group have at least one character"
    if (found := entropy(value)) < rule.entropy:
        return f"its entropy is {found:.1f}, less than {rule.entropy:.1f}: lower entropy, or take a sample that is real"
    if rule.keywords and not any(keyword.encode() in text.encode().lower() for keyword in rule.keywords):
        return "it has no keyword: add one that is in every text that matches, or leave keywords out"
    if len(text) < SHORTEST:
        return f"texts of fewer than {SHORTEST} characters are not masked"
    return "it is a mask already" if rule.is_met_by(value) else "it looks like a placeholder"
