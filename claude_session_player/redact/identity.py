"""Stand-in, replaced by the branch of its own."""

from __future__ import annotations

from typing import Any

from claude_session_player.redact.rule import Find, Kind, Rule

IDENTITY_RULES: tuple[Rule, ...] = (
    Rule(
        name="email",
        kind=Kind.EMAIL,
        pattern=r"[\w.+-]+@(?!example\.)[\w-]+(?:\.[\w-]+)+",
        keywords=("@",),
        mask="person-{n}@example.com",
    ),
)


class Identity:
    """Stand-in."""

    changes = 0
    keywords = ("@",)
    home_directories = ("/home/ada",)

    def __init__(self, keep: frozenset[Kind] = frozenset(), **_: Any) -> None:
        pass

    def learn(self, text: str) -> None:
        pass

    def learn_field(self, key: str, value: str) -> None:
        pass

    def learn_record(self, record: dict[str, Any]) -> None:
        pass

    def finds(self, text: str) -> list[Find]:
        return IDENTITY_RULES[0].finds(text) if "@" in text else []

    def finds_field(self, key: str, value: str) -> list[Find]:
        return []
