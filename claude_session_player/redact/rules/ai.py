"""Rules for keys of providers of language models."""

from __future__ import annotations

from typing import Final

from claude_session_player.redact.rule import Kind, Rule

AI_RULES: Final = (
    Rule(
        name="anthropic-key",
        kind=Kind.API_KEY,
        pattern=r"sk-ant-(?:api|admin|oat|ort|sid)\d\d-[A-Za-z0-9_-]{40,200}+",
        keywords=("sk-ant-",),
        samples=("sk-ant-api03-{w93}AA", "sk-ant-admin01-{w93}AA", "sk-ant-oat01-{w93}AA", "sk-ant-sid01-{w86}AA"),
        others=("sk-ant-api03-YOUR_KEY", "sk-ant-..."),
    ),
)
