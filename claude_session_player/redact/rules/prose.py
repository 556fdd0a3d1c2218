"""Rules for passwords and keys in sentences: the way that people write them into a prompt."""

from __future__ import annotations

from typing import Final

from claude_session_player.redact.plausibility import is_bare_key, is_spoken_password
from claude_session_player.redact.rule import Kind, Rule

_VALUE: Final = (
    r"[`\"']?(?P<secret>(?![/.(\[{<$=-])[^\s\"'`\\<>|]{5,79}[^\s\"'`\\<>|,.:;)\]}])"
    r"[\"'`]?(?=[,.:;)]{0,3}(?:[\s\"'`\\<>|]|\Z))"
)
"""A word that ends at a blank, a quote or a tag, without the punctuation of its sentence."""
_OTHER_NAMES: Final = r"(?:Passwort|passwort|Kennwort|kennwort|[Mm]ot de passe|[Cc]ontrase[^\s:=]{1,2}a|[Pp]assphrase)"

PROSE_RULES: Final = (
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"\b(?:[Pp]assword|[Pp]asswd)(?: \([\w .-]{1,30}\):"
        r"| (?:for|of|to|on) (?:[\w.-]{1,20} ){0,3}[\w.-]{1,20}(?::| is)"
        r"| is|:[ \t]{0,3}\r?\n|) ?(?<=[ \n])" + _VALUE,
        keywords=("password", "passwd"),
        samples=(
            "log in with password Mocha{l6}4!",
            "username admin / password Tr0ub4dor&{a3}",
            "Password (root): Tr0ub4dor&{a3}",
            "my password for the db: Tr0ub4dor&{a3}",
            "the password is brew-{l5}-17",
            "Password:\nhunter2x{l4}",
        ),
        others=(
            "the password field-2",
            "password authentication failed",
            "the password for user2: see below",
            "the password is base64-encoded in utf8",
            "the password is 32-byte",
            "use password get_password()",
        ),
        accepts=is_spoken_password,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"(?<![\w.-])(?:(?:pw|PW|Pw|PASS)(?: is |: ?|=)|"
        + _OTHER_NAMES
        + r"(?: is | ist | est | es | ?: ?|=))"
        + _VALUE,
        keywords=("pw", "pass", "kennwort", "contrase"),
        samples=(
            "the pw is Tr0ub4dor&{a3}",
            "pw: Tr0ub4dor&{a3}",
            "pw=Tr0ub4dor&{a3}",
            "PASS=Tr0ub4dor&{a3}",
            "Passwort: Kaffee{a3}9!",
            "mot de passe : Kaffee{a3}9!",
            "contraseña: Kaffee{a3}9!",
        ),
        others=("pw=pw2", "PASS: 12", "pw=args.password2", "Passwort: Passwort2", "PASS=$PASS"),
        accepts=is_spoken_password,
    ),
    Rule(
        name="api-key",
        kind=Kind.API_KEY,
        pattern=r"\b(?:API|api|Api)[ -](?:[Kk]ey|KEY|[Tt]oken)(?: is:?| =|:)? " + _VALUE,
        keywords=("api key", "api-key", "api token", "api-token"),
        samples=("my api key is {a24}", "use the API key {a24}.", "api token: {w32}"),
        others=("my api key is invalid", "the API key section-12", "api key is API_KEY_2"),
        accepts=is_bare_key,
    ),
)
