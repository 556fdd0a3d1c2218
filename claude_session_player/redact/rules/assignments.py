"""Rules for secrets that are assigned to a name: in code, in configuration, in the environment.

The names begin the patterns as literals in three spellings, because `re` looks for those fast; what stands before is
looked at afterwards. A name goes with two or three rules: a value in quotes, one without, and one of a variable of the
environment, because what is no code is a matter of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claude_session_player.redact.plausibility import (
    is_any_password,
    is_bare_key,
    is_bare_password,
    is_bare_token,
    is_basic,
    is_key,
    is_passphrase,
    is_password,
    is_quoted_password,
    is_stated_password,
    is_token,
)
from claude_session_player.redact.rule import Kind, Rule

if TYPE_CHECKING:
    from collections.abc import Callable

_QUOTE: Final = r"(?P<esc>\\{1,7}+)?(?P<quote>[\"'`])"
_QUOTED: Final = r"(?P<secret>(?:[^\s\"'`\\]++|(?(esc)(?!\\)\S|(?!(?P=quote))(?:\\\S|\S)))++)(?=(?(esc)\\)[\\\"'`])"
"""A value in quotes that are escaped any number of times, without blanks; it ends at the same quote."""
_REST: Final = (
    r"(?:[^\s\"'`\\;|<>&,.:()\[\]{}]++|&(?!&|\w{1,40}=)|[,.:()\[\]{}](?![,.:()\[\]{}]{0,9}(?:[\s\"'`\\;|<>]|\Z)))++)"
)
"""A value without quotes; dots and brackets are a part of it, if it does not end in them."""
_TAG: Final = r"(?:\[[a-z][a-z0-9-]{0,40}-\d{1,7}\])?"
"""What logs write in front of what they print: `[node-1]`."""
_BARE: Final = rf"(?P<secret>{_TAG}(?![,.:()\[\]{{}}=&*!?/~-])" + _REST
_PLAIN: Final = rf"(?P<secret>{_TAG}(?![,.:()\[\]{{}}=&/])" + _REST
_SUFFIX: Final = (
    r"(?i:(?:[_-]?(?:access[_-]?)?key)?(?:[_-]?(?:base|prod(?:uction)?|dev(?:elopment)?|staging|live|test|value|default"
    r"|primary|secondary|old|new|v?\d{1,2}))?)(?![\w-])"
)
_AFTER_NAME: Final = r"\\{0,7}+[\"'`]?\]?"
_SIGN: Final = (
    r"\s{0,9}+(?::\s?[A-Za-z][\w.\[\]| ]{0,30}=(?!=)|:=|=>|={1,3}|:|,|\|\||\?\?)\s{0,9}+(?:[bfruBFRU@]{1,2})?"
)
_BARE_SIGN: Final = (
    r"(?:[ \t]{0,9}+(?:=|:[ \t])[ \t]{0,9}+|:(?!:)(?:\*\*[ \t])?|:?\*\*:?[ \t]|[ \t]{1,9}+(?:\||is:?|was:?)[ \t]{1,9}+)"
)
_COLON: Final = r":[ \t]{1,9}+"
_END_OF_LINE: Final = r"(?=[ \t]*(?:[\r\n#]|\\n|\Z))"


def _is_numbered_password(value: str) -> bool:
    return len(value) >= 6 and any(map(str.isdigit, value)) and is_password(value)


def _is_numbered_phrase(value: str) -> bool:
    return any(map(str.isdigit, value)) and is_passphrase(value)


def _is_set(value: str) -> bool:
    return is_password(value) or is_stated_password(value)


def _has_entries(value: str) -> bool:
    return any(is_any_password(line.rpartition(" ")[2]) for line in value.split("\n"))


def _not_after(*names: str) -> str:
    return "".join(rf"(?<!(?i:{name}))" for name in names)


_PASSWORD: Final = (
    r"(?:password|Password|PASSWORD|passwd|Passwd|PASSWD|passphrase|Passphrase|PASSPHRASE|pwd|Pwd|PWD|_pass|_PASS|Pass"
    r"|pass(?<![A-Za-z0-9.-]pass))"
)
_FULL_PASSWORD: Final = (
    r"(?:password|Password|PASSWORD|passwd|Passwd|PASSWD|passphrase|Passphrase|PASSPHRASE|pwd|Pwd|PWD|_PASS)"
)
"""Names that stand for nothing else."""
_PASSWORDS: Final = ("passw", "passp", "pwd", "_pass")
_TOKEN: Final = r"(?:token|Token|TOKEN)" + _not_after(
    "page[_-]token",
    "pagetoken",
    "next[_-]token",
    "nexttoken",
    "ation[_-]token",
    "ationtoken",
    "sync[_-]token",
    "csrf[_-]token",
)
_SECRET: Final = r"(?:secret|Secret|SECRET)"
_KINDS_OF_KEYS: Final = (
    *("api", "access", "private", "encryption", "signing", "auth", "account", "master"),
    *("subscription", "functions", "storage", "shared", "preshared"),
)
_KEY_KEYWORDS: Final = tuple(f"{name}{sign}key" for name in _KINDS_OF_KEYS for sign in ("", "_", "-"))
_KEY: Final = (
    r"(?:key|Key|KEY)(?:" + "|".join(rf"(?<=(?i:{name}[_-]key))|(?<=(?i:{name}key))" for name in _KINDS_OF_KEYS) + ")"
)
_NAMES: Final = {
    "password": (_PASSWORD, Kind.PASSWORD, ("passw", "passp", "pwd", "pass"), is_password, is_bare_password),
    "secret": (_SECRET, Kind.SECRET, ("secret",), is_password, is_bare_password),
    "api-key": (_KEY, Kind.API_KEY, _KEY_KEYWORDS, is_key, is_bare_key),
    "token": (_TOKEN, Kind.TOKEN, ("token",), is_token, is_bare_token),
}
_WORDS: Final = {"password": "password", "secret": "client_secret", "api-key": "api_key", "token": "access_token"}
_OTHERS: Final = {
    "password": ("password: str", "self.password = password", '"password": "Passwort"', 'type="password"'),
    "secret": ("SECRET_KEY=settings.SECRET_KEY", "secretary: {a20}", "Secret: everyone knows it"),
    "api-key": ("apiKey: process.env.API_KEY", "public_key = {a32}", "primary_key=True", '"keyboard": "{a20}"'),
    "token": ("token = get_token()", "max_tokens: 4096", "next_page_token: {a40}", "tokens=12.4k", "token: {uuid}"),
}


def _quoted(name: str) -> Rule:
    pattern, kind, keywords, accepts, _ = _NAMES[name]
    word = _WORDS[name]
    return Rule(
        name=name,
        kind=kind,
        pattern=pattern + _SUFFIX + _AFTER_NAME + _SIGN + _QUOTE + _QUOTED,
        keywords=keywords,
        samples=(
            f'{word} = "{{a20}}"',
            f"const {word} = '{{w32}}';",
            f'{{"{word}": "{{a24}}", "x": 1}}',
            f'"{{\\"{word}\\": \\"{{a24}}\\"}}"',
            f'\\\\\\"{word}\\\\\\": \\\\\\"{{a24}}\\\\\\"',
            f"client({word}='{{h40}}')",
            f'{word}: str = "{{a30}}"',
            f'config["{word}"] = "{{a30}}"',
            f'os.environ.get("{word.upper()}", "{{a30}}")',
        ),
        others=(*_OTHERS[name], f'{word} = "${{X}}"', f'{word}: "your-key"', f'{word}="xxxxxxxx"'),
        accepts=accepts,
    )


def _bare(name: str) -> Rule:
    pattern, kind, keywords, _, accepts = _NAMES[name]
    word = _WORDS[name]
    return Rule(
        name=name,
        kind=kind,
        pattern=pattern + _SUFFIX + _AFTER_NAME + _BARE_SIGN + _BARE,
        keywords=keywords,
        samples=(f"{word}: {{a20}}", f"{word} = {{w32}}\n", f"x {word}={{h40}}, y", f"- {word}: {{a30}}  # mine"),
        others=(
            *_OTHERS[name],
            f"{word}: <value>",
            f"{word}={{{{ x }}}}",
            f"{word}=...",
            f"the {word}: it must be long",
        ),
        accepts=accepts,
    )


def _environment(name: str, names: str, keywords: tuple[str, ...], accepts: Callable[[str], bool]) -> Rule:
    word = {"api-key": "API_KEY"}.get(name, name.upper())
    return Rule(
        name=name,
        kind=_NAMES[name][1],
        pattern=rf"(?:{names})(?:_[A-Z0-9]{{1,20}}+){{0,2}}+(?<!_ID|URL)(?<!_NAME|_PATH|_FILE)(?:=|:-)" + _PLAIN,
        keywords=keywords,
        samples=(
            f"X_{word}={{p30}}",
            f"export X_{word}={{a20}}",
            f"ENV MY_{word}={{a24}} Y=1",
            f"X_{word}_PROD={{h32}}\nB=1",
        ),
        others=(f"X_{word}=", f"X_{word}=$X", f"X_{word}=changeme", f"X_{word}=True", f"X_{word}_PATH=/run/x"),
        accepts=accepts,
    )


_ENVIRONMENT: Final = (
    _environment(
        "password",
        "PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD",
        ("password", "passwd", "_pass", "_pwd", "passph"),
        _is_set,
    ),
    _environment("secret", "SECRET", ("secret",), _is_set),
    _environment(
        "api-key", "(?:API|ACCESS|PRIVATE|ENCRYPTION|SIGNING|AUTH|ACCOUNT|MASTER)_?KEY", _KEY_KEYWORDS, is_key
    ),
    _environment("token", "TOKEN|_PAT", ("token", "_pat"), is_token),
)

_ENTRIES: Final = r"(?P<secret>[^\n]{1,4000}(?:\n[ \t]{1,20}[\w.-]{1,100}:[ \t]{1,9}[^\n]{1,4000}){0,50})"
"""The first value of a secret of Kubernetes, and the entries that follow."""

_WORDY: Final = (
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=_FULL_PASSWORD + _SUFFIX + _AFTER_NAME + _SIGN + _QUOTE + _QUOTED,
        keywords=_PASSWORDS,
        samples=("password = 'Mokka-{l8}-26!'", '"password": "Brew_{l5}_17"', "ADMIN_PASSWORD='Mokka/42/{l6}'"),
        others=("password: 'password-input-2'", 'password = "step-2"', 'PASSWORD="${X-1}"', 'password="args.password"'),
        accepts=is_quoted_password,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=_FULL_PASSWORD
        + _SUFFIX
        + _AFTER_NAME
        + r"\s{0,3}[:=]\s{0,3}(?:\\{1,7}+)?(?P<quote>[\"'])"
        + r"(?P<secret>[^\s\"'`\\]{1,40}(?: [^\s\"'`\\]{1,40}){1,7})(?=\\{0,7}(?P=quote))",
        keywords=_PASSWORDS,
        samples=('DB_PASSWORD="brew {l5} 17!"', "password: '{l6} house 17'", '{"password": "{l6} 99 x"}'),
        others=('"password": "Must have 8 characters"', '"password": "Enter your password 2"', 'PASSWORD="$(x 17)"'),
        accepts=_is_numbered_phrase,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"(?:PASSPHRASE|PASSWORD)=(?P<secret>[A-Za-z0-9]{1,20}(?: [A-Za-z0-9]{1,20}){2,7})(?=[\r\n]|\Z)",
        keywords=("passphrase=", "password="),
        samples=("PGP_PASSPHRASE=a quick {l9} cup\n", "X_PASSPHRASE=one {l5} cup\n"),
        others=("PASSPHRASE=enter your passphrase here", "PASSWORD=x psql -h y"),
        accepts=is_passphrase,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=_FULL_PASSWORD + r"(?![\w-])" + _COLON + _BARE + _END_OF_LINE,
        keywords=_PASSWORDS,
        samples=("password: my-{l5}-2026", "  db_password: Brew.{l5}.17\n"),
        others=("password: step-2", "password: password-2", "password: settings.password"),
        accepts=is_quoted_password,
    ),
)
"""Passwords that are made of words."""

_FORMS: Final = (
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=_PASSWORD + r"(?![\w-])" + _COLON + _BARE + _END_OF_LINE,
        keywords=("passw", "passp", "pwd", "pass"),
        samples=("password: a{l6}9", "  db_password: {a8}\n  x: y", "Password: {a9}  # of the database\n"),
        others=("password: Passwort", "password: user2,", "password: str", "the password: it must be 2", "pass: 12"),
        accepts=_is_numbered_password,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"\bmachine\s{1,9}\S{1,200}\s{1,9}login\s{1,9}\S{1,200}\s{1,9}password\s{1,9}(?P<secret>\S++)",
        keywords=("machine",),
        samples=("machine example.com login alice password {a12}", "machine x\n  login y\n  password {p16}\n"),
        others=("machine x login y password <password>", "a machine to login with a password"),
        accepts=is_any_password,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r":(?:5432|5433|6432|\*):[\w.*-]{1,80}+:[\w.*-]{1,80}+:(?P<secret>[^\s:\"'`]++)(?=\s|\Z)",
        keywords=(":5432:", ":5433:", ":6432:", ":*:"),
        samples=("localhost:5432:app:alice:{a12}", "*:*:*:postgres:{a14}\n"),
        others=("localhost:5432:app:alice:<password>", "x:5432:5432"),
        accepts=is_any_password,
    ),
    Rule(
        name="password-hash",
        kind=Kind.PASSWORD,
        pattern=r"\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{53}"
        r"|(?:apr1|1)\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}"
        r"|5\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{43}"
        r"|6\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{86}"
        r"|y\$[./A-Za-z0-9]{1,9}\$[./A-Za-z0-9]{8,40}\$[./A-Za-z0-9]{43}"
        r"|argon2(?:id|i|d)\$v=\d{1,3}\$[a-z0-9=,]{5,60}\$[+/A-Za-z0-9]{8,90}\$[+/A-Za-z0-9]{16,180})(?![./A-Za-z0-9])",
        keywords=("$2", "$apr1$", "$1$", "$5$", "$6$", "$y$", "$argon2"),
        samples=(
            "alice:$2y$10${a53}",
            "x $apr1${a8}${a22}",
            "root:$6${a16}${a86}:19000:0",
            "$5${a8}${a43}",
            "$1${a8}${a22}",
            "$argon2id$v=19$m=65536,t=3,p=4${a22}${a43}",
            "$y$j9T${a22}${a43}",
        ),
        others=("$2 and $1", "$6$x$y", "costs $2y$10$"),
    ),
    Rule(
        name="password-hash",
        kind=Kind.PASSWORD,
        pattern=r"\{S?SHA(?:256|512)?\}[A-Za-z0-9+/]{27,120}={0,2}",
        keywords=("sha}", "sha256}", "sha512}"),
        samples=("alice:{SHA}{b27}=", "userPassword: {SSHA}{b38}=="),
        others=("{SHA}", "{sha}{h40}"),
    ),
    Rule(
        name="cookie",
        kind=Kind.COOKIE,
        pattern=r"name\\{0,7}+\"\s{0,3}:\s{0,3}\\{0,7}+\"[\w.-]{0,40}?(?i:sess|sid|auth|jwt)[\w.-]{0,40}+\\{0,7}+\"\s{0,3},\s{0,30}"
        r"\\{0,7}+\"value\\{0,7}+\"\s{0,3}:\s{0,3}\\{0,7}+\"(?P<secret>[^\s\"\\]++)",
        keywords=('value"', "value\\"),
        samples=(
            '{"name": "session_id", "value": "{a24}", "domain": "x"}',
            '{\\"name\\":\\"sid\\",\\"value\\":\\"{h32}\\"}',
        ),
        others=('{"name": "session", "value": "dark"}', '{"name": "author", "value": "alice"}'),
        accepts=is_token,
    ),
    Rule(
        name="private-key",
        kind=Kind.PRIVATE_KEY,
        pattern=r"client-key-data\\{0,7}[\"']?\s{0,9}:\s{0,9}\\{0,7}[\"']?(?P<secret>[A-Za-z0-9+/_-]{16,}+={0,2})",
        keywords=("client-key-data",),
        samples=("client-key-data: {b400}==", '"client-key-data": "{b100}"'),
        others=("client-key-data: DATA+OMITTED", "client-key-data: REDACTED"),
        accepts=is_any_password,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"(?:\b|_)auth\\{0,7}[\"']? ?[:=]\s{0,9}\\{0,7}[\"']?"
        r"(?P<secret>[A-Za-z0-9+/]{8,}+={0,2})(?=[\"'\\\s]|\Z)",
        keywords=("auth:", "auth=", "auth ", 'auth"', "auth'", "auth\\"),
        samples=(
            '"auth": "YWxpY2U6bGV0bWVpbg=="',
            "_auth=YWxpY2U6bGV0bWVpbg==",
            '\\"auth\\": \\"YWxpY2U6bGV0bWVpbg==\\"',
        ),
        others=('"auth": "automatic"', '"auth": "{h32}"', "auth: required"),
        accepts=is_basic,
    ),
    Rule(
        name="secret",
        kind=Kind.SECRET,
        pattern=r"(?m)^[ \t]{0,20}(?:data|stringData):\s{0,3}\n[ \t]{1,20}[\w.-]{1,100}:[ \t]{1,9}"
        + _ENTRIES
        + r"(?=\n(?:[ \t]{0,9}[^\n]{0,300}\n){0,3}?[ \t]{0,9}kind: ?Secret\b)",
        keywords=("kind: secret", "kind:secret"),
        samples=("apiVersion: v1\ndata:\n  user: {b20}\n  other: {b24}\nkind: Secret\nmetadata:\n  name: x\n",),
        others=("data:\n  a: b\nkind: ConfigMap\n---\nkind: SecretStore", "data:\n  a: [secret-1]\nkind: Secret"),
        accepts=_has_entries,
    ),
    Rule(
        name="secret",
        kind=Kind.SECRET,
        pattern=r"kind:\s?Secret\s(?:(?!---)[^\n]{0,300}\n){0,20}?\s{0,9}(?:data|stringData):\s{0,3}\n"
        r"[ \t]{1,20}[\w.-]{1,100}:[ \t]{0,9}" + _ENTRIES,
        keywords=("kind: secret", "kind:secret"),
        samples=("kind: Secret\nmetadata:\n  name: x\ntype: Opaque\ndata:\n  user: {b20}\n  other: {b24}\n",),
        others=("kind: Secret\nmetadata:\n  name: x", "kind: SecretStore\ndata:\n  a: b"),
        accepts=_has_entries,
    ),
)

_NAME_WITH_KIND: Final = (
    ("password", _PASSWORD, is_password),
    ("secret", _SECRET, is_password),
    ("api-key", _KEY, is_key),
    ("token", _TOKEN, is_token),
)


def _element(name: str, names: str, accepts: Callable[[str], bool]) -> Rule:
    """`<password>x</password>`, and a name whose value is the next field, attribute or line."""
    word = _WORDS[name]
    return Rule(
        name=name,
        kind=_NAMES[name][1],
        pattern=names
        + _SUFFIX
        + r"(?:>(?=[^<\s]{4,4000}</)|\\{0,7}+[\"']?\s{0,9},?\s{0,30}(?:(?<=\n)\s{0,8}\d{1,6}[→\t|:]\s{0,20})?"
        r"(?:(?<=\n)[+>-][ \t]{0,20})?(?:-\s)?"
        r"\\{0,7}+[\"']?value\\{0,7}+[\"']?\s{0,3}[:=]\s{0,3}\\{0,7}+[\"']?)"
        r"(?P<secret>[^\s\"'`\\<>]{4,4000}+)",
        keywords=_NAMES[name][2],
        samples=(
            f"<{word}>{{a20}}</{word}>",
            f'{{"name": "{word}", "value": "{{a20}}"}}',
            f"- name: {word}\n  value: {{a20}}\n",
            f'<add key="{word}" value="{{a24}}"/>',
        ),
        others=(f"<{word}>x</{word}>", f"<{word}>${{x}}</{word}>", f'name="{word}" value="{{{{ x }}}}"'),
        accepts=accepts,
    )


ASSIGNMENT_RULES: Final = (
    *_FORMS,
    *_WORDY,
    *(_quoted(name) for name in _NAMES),
    *_ENVIRONMENT,
    *(_bare(name) for name in _NAMES),
    *(_element(*row) for row in _NAME_WITH_KIND),
)
