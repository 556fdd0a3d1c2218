"""What can be a secret, and what only stands where one would stand: placeholders, code, words, numbers.

A text is judged by its shape alone. Three questions are asked, from generous to strict:

- `is_any_password`: behind `--password` or in `user:…@host` anything is a password that is no placeholder.
- `is_password`: behind `password =` it is no placeholder, no code, no number and not made of words only.
- `is_token`: behind `token =` it is long and looks random, too, because so much else is called a token.

What is not in quotes may be code: `is_bare_password` and `is_bare_token` refuse what could be a variable.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache
from typing import Final

from claude_session_player.redact.rule import entropy


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LITERALS: Final = _words(
    """
    none null nil true false undefined void nan optional required string str text bytes int number bool boolean any
    object unknown never char varchar empty blank unset default auto inherit yes no on off hidden masked encrypted
    password passwd passwort pass pwd passphrase secret secrets token tokens key apikey credential credentials
    authorization bearer basic cookie session test tests testing tester demo sample example foo bar baz qux foobar
    user username name value values data todo tbd fixme redacted removed censored omitted filtered stripped sanitized
    changeme change_me replaceme replace_me placeholder dummy fake mock mocked invalid wrong bogus whatever something
    mypassword mysecret mytoken yourpassword yoursecret yourtoken stdin prompt input env environ vault
    utf8 utf-8 base64 latin1 ascii hex sha1 sha256 sha384 sha512 md5 hs256 rs256 es256 oauth oauth2 bcrypt argon2
    argon2id pbkdf2 x509 ed25519 aes256
    """
)
"""Values that stand for one, in lower case."""
_HINTS: Final = _words(
    """
    your changeme replaceme placeholder example examples dummy fake mock redacted removed hidden todo insert enter
    lorem ipsum
    """
)
"""Words of which one makes a placeholder of a value: `your-api-key`."""
_STAND_INS: Final = _words(
    "password passwd passphrase pass pwd secret token key my the a some api access test here value"
)
"""Words that together stand for a value: `my-secret-token`."""
_ROOTS: Final = _STAND_INS | _words(
    """
    testing user admin foo bar an old new wrong bad good correct valid invalid expired plain access refresh
    auth id session client server db app super very abc demo
    sample example fake mock dummy dev local default invalid random strong weak safe tok sec pw sk pk
    """
)
"""Words that with nothing else but numbers make no secret: `test-token-123`."""
_UNSTATED: Final = _words("test tests testing demo sample not unset missing required optional foo bar")
"""Words of values that are none, wherever they stand."""
_PARTS_OF_FORMS: Final = _words(
    "password passwords passwort passwd input inputs field fields label error errors form page step section text gray"
)
"""Words in names of parts of a program, beside a number."""
_NOTATION: Final = re.compile(
    r"""
      \$[{(]?[\w:?.()\[\]{}/@ -]*\}?     # $TOKEN, ${TOKEN}, $(cat x), ${{ secrets.X }}
    | \$\{[\w:?.()\[\]{}!/@ -]*\}?       # ${!NAME}
    | %[\w]*%?                           # %s, %TOKEN%
    | %[({].*                            # %(name)s
    | [({\[<].*[)}\]>]                   # <password>, {{ secret }}, [password-1], (none), {token}
    | <.* | \{.* | \[[a-z]+              # cut off before they end
    | ["'`]*                             # nothing in quotes
    | (.)\1*+                            # xxxx, ****, ....
    | [xX*•.…_#?0-]+                     # xxxx-xxxx
    | (?:user|host|person)-\d+           # masks of this package
    | \#[A-Za-z_-].*                     # a selector
    """,
    re.VERBOSE | re.DOTALL,
)
_INSIDE: Final = re.compile(
    r"\$\{|\{\{|\}\}|<[A-Za-z_]|\.\.\.|…|\*{3}|[xX]{4}|•|#\{|\$\(|%\(|\[[a-z-]+-\d+\]|\{[A-Za-z_][\w.]*\}|\[REDACTED|://"
)
"""Signs of a template within a value, and of a URL, whose secret is a part of it."""
_SPLIT: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_CODE: Final = re.compile(
    r"""
      [A-Za-z_$]++\d{0,3}+(?:(?:[?!]?\.|->|::)[A-Za-z_$]++\d{0,3}+)++(?:[(\[].*)?   # self.password, process.env.X
    | [!&*@]?[A-Za-z_$][\w$.:]*[(\[{<].*[)\]}>][;,.]?      # get_token(), os.environ["X"], list[str]
    | (?:sha\d{1,3}|md5|arn|op|vault):.* | projects/.*       # a digest, the name of a secret somewhere else
    | \^.*\$ | .*(?:\(\?|\\[dwsSWb]|\[[^\]]{0,40}(?:a-z|A-Z|0-9|\^)).*   # a pattern
    | (?!.*=$)/.* | [.~]{1,2}/.* | [A-Za-z]:[\\/].*        # a path
    | @[\w./-]+                                            # a decorator, a file
    """,
    re.VERBOSE | re.DOTALL,
)
"""What is no secret even in quotes."""
_BARE_CODE: Final = re.compile(
    r"""
      [!&*@]?[A-Za-z_$][\w$.:]*[(\[{<].*                    # get_token(, cut off
    | .*(?:=>|->|::|\(\)|&&|\|\||\)\.|!=|==[^=]|\?\?).*
    | [A-Za-z_][\w-]*[=:](?!=*$).*                         # name=value, user:x: another assignment
    | [(\[{)}\]\\^].*                                     # a part of an expression
    | .*&(?:lt|gt|quot|[rl]dquo|amp|nbsp)\b.*
    """,
    re.VERBOSE | re.DOTALL,
)
"""What is no secret without quotes."""
_DOTTED: Final = re.compile(r"[A-Za-z_$][\w$]*+(?:\.[A-Za-z_$][\w$]*+)++")
_NUMBER: Final = re.compile(r"[-+~<>≤≥]?[\d.,:/_ -]*[\d%](?:[a-zA-Z%]{1,3}|tokens|chars|bytes)?|0x[0-9a-fA-F]{1,8}")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_VERSION: Final = re.compile(r"[v^~]?\d++(?:\.[\dx]++)++(?:-[a-z]+[.\d]*)?|\d{4}-\d\d-\d\dT?[\d:.Z+-]*")
_NUMBERED: Final = re.compile(r"[A-Za-z]+\d{1,2}|\d{1,2}[a-z]{1,3}")
_VARIABLE: Final = re.compile(r"[A-Za-z_$][A-Za-z_$-]*+\d{0,5}+[A-Za-z_]*+")
_CONSONANTS: Final = re.compile(r"[bcdfghjklmnpqrstvwxz]{6}", re.IGNORECASE)


def is_placeholder(value: str) -> bool:
    """True for what stands for a secret, or was one.

    >>> [is_placeholder(value) for value in ("changeme", "${DB_PASSWORD}", "your-api-key", "xxxx", "[password-1]")]
    [True, True, True, True, True]
    >>> [is_placeholder(value) for value in ("letmein", "hunter2!x", "a$b")]
    [False, False, False]
    """
    plain = value.strip(".,:;!?").lower()
    if plain in _LITERALS or not plain or _NOTATION.fullmatch(value) or _INSIDE.search(value):
        return True
    words = _spoken(value)
    return any(word in _HINTS for word in words) or all(word in _STAND_INS for word in words)


def _spoken(value: str) -> list[str]:
    return [word.lower() for word in _SPLIT.findall(value[:200])]


def _is_weak(value: str) -> bool:
    """True for words that are used in tests, with or without a number."""
    return all(word in _ROOTS or _is_plain(word) for word in _spoken(value))


def _is_plain(word: str) -> bool:
    """True for a number that counts: 1, 123, 1234."""
    return word.isdecimal() and (len(word) < 4 or "01234567890".find(word) >= 0)


def is_code(value: str) -> bool:
    """True for what an expression, a type or a path looks like.

    >>> [is_code(value) for value in ("get_token()", "self.password", 'os.environ["X"]', "./key.pem", "^[a-z]+$")]
    [True, True, True, True, True]
    >>> [is_code(value) for value in ("hunter2!x", "Tr0ub4dor&3", "eyJhbGciOi", "k(9$x=w&&2")]
    [False, False, False, False]
    """
    return bool(_CODE.fullmatch(value) or _is_attribute(value)) and not _is_jwt(value)


def _is_attribute(value: str) -> bool:
    """True for names with dots between them: `ed25519.PrivateKey`, but not for letters and digits in turns."""
    return "." in value and bool(_DOTTED.fullmatch(value)) and len(value) / len(_SPLIT.findall(value)) >= 2.7


def _is_jwt(value: str) -> bool:
    return value.startswith("eyJ") or (len(value) >= 40 and "." in value and _is_random(value.rpartition(".")[2]))


def is_wordy(value: str) -> bool:
    """True for words, numbers and what is between them.

    >>> [is_wordy(value) for value in ("Passwort", "reset-password", "auth/wrong-password", "gray.500", "userToken")]
    [True, True, True, True, True]
    >>> [is_wordy(value) for value in ("hunter2", "Tr0ub4dor&3", "pass!word", "kWqXzRtYpLmNbVcX", "QkZxWvTrJpLs")]
    [False, False, False, False, False]
    """
    if any(char in "!$%^&*+=~" for char in value[1:-1]):
        return False
    parts = re.split(r"[\W_]+", value)
    return not any(_is_mixed(part, alone=len(parts) == 1) or _is_random(part) for part in parts)


def _is_mixed(part: str, *, alone: bool) -> bool:
    """True for letters and digits together, if it is not a word that is numbered among others: `v2`, `step1`."""
    if not any(map(str.isdigit, part)) or (part.isdecimal() and len(part) < 12):
        return False
    return alone or not _NUMBERED.fullmatch(part)


def _is_random(value: str) -> bool:
    """True for a word of ASCII that nobody would speak: letters and digits in turns, or letters in no order.

    >>> [_is_random(value) for value in ("x7Kq9ZpL2mNv", "QkZxWvTrJpLs", "9f86d081884c7d659a2feaa0c55ad015")]
    [True, True, True]
    >>> [_is_random(value) for value in ("getAccessToken", "internationalization", "section12", "123456789012")]
    [False, False, False, False]
    """
    if len(value) < 10 or not value.isascii():
        return False
    runs = _SPLIT.findall(value)
    numbers = sum(run.isdecimal() for run in runs)
    if numbers:
        return len(runs) >= 4 and len(value) / len(runs) < (5 if numbers > 1 else 3) and entropy(value[:200]) > 2.5
    if value.islower() or value.isupper():
        return bool(_CONSONANTS.search(value)) and entropy(value[:200]) > 2.8
    return len(value) / max(len(runs), 1) < 2.8


def is_any_password(value: str) -> bool:
    """True for anything but a placeholder: where a value stands at a place that only passwords have.

    >>> is_any_password("letmein"), is_any_password("<password>"), is_any_password("$PASSWORD")
    (True, False, False)
    """
    return not is_placeholder(value)


def is_password(value: str) -> bool:
    """True for what can be a password, in quotes or in the environment: not only words, not a number, no code.

    >>> [is_password(value) for value in ("hunter2", "hunter2!x", "Tr0ub4dor&3", "p@ss-w0rd")]
    [True, True, True, True]
    >>> [is_password(value) for value in ("Passwort", "postgres", "12345", "test123", "getpass()", "password-input")]
    [False, False, False, False, False, False]
    """
    return (
        len(value) >= 4
        and not (_NUMBER.fullmatch(value) or _VERSION.fullmatch(value))
        and not is_wordy(value)
        and not is_placeholder(value)
        and not _is_weak(value)
        and not is_code(value)
    )


def is_stated_password(value: str) -> bool:
    """True for what is a password because its place says so, though it is made of words, too.

    >>> [is_stated_password(value) for value in ("Brew.House.17", "brew-house", "dev-secret-123", "Mokka(42(Mokka")]
    [True, True, True, True]
    >>> [is_stated_password(value) for value in ("Passwort", "not-set", "test-123", "settings.PASSWORD", "my-password")]
    [False, False, False, False, False]
    """
    words = _spoken(value)
    return (
        len(value) >= 6
        and any(map(str.isalpha, value))
        and not value.isalpha()
        and not (_NUMBER.fullmatch(value) or _VERSION.fullmatch(value))
        and not is_placeholder(value)
        and not _UNSTATED.intersection(words)
        and not is_code(value)
    )


def is_quoted_password(value: str) -> bool:
    """True for a password in quotes that has a digit, and is not named like a part of a program.

    >>> [is_quoted_password(value) for value in ("Cortado-2026!", "Brew_House_17", "Mokka/42/Mokka")]
    [True, True, True]
    >>> [is_quoted_password(value) for value in ("password-input-2", "reset-password", "section2", "gray.500")]
    [False, False, False, False]
    """
    return (
        len(value) >= 8
        and any(map(str.isdigit, value))
        and not value.isalnum()
        and not _is_weak(value)
        and not _PARTS_OF_FORMS.intersection(_spoken(value))
        and is_stated_password(value)
    )


def is_spoken_password(value: str) -> bool:
    """True for a password in a sentence: letters with digits, and a sign or an upper case that no word has.

    >>> [is_spoken_password(value) for value in ("Espresso4ever!", "Tr0ub4dor&3", "brew-house-17", "hunter2xx")]
    [True, True, True, True]
    >>> [is_spoken_password(value) for value in ("base64-encoded", "password2", "32-byte", "v2-only", "f(x)1")]
    [False, False, False, False, False]
    """
    words = _spoken(value)
    return (
        value[0].isalpha()
        and any(map(str.isdigit, value))
        and not any(word in _LITERALS or word in _ROOTS for word in words[:1])
        and not _PARTS_OF_FORMS.intersection(words)
        and not re.search(r"[(){}\[\];,=]|::|->|//", value)
        and not re.match(r"(?:[A-Za-z]{1,8}\d{1,3}|[A-Z_0-9]+)(?:\Z|[-.:/])", value)
        and not re.fullmatch(r"[A-Za-z]+-\d{1,3}", value)
        and not re.search(r"\.[a-z]{2,5}(?::\d+)?\Z", value)
        and (is_password(value) or (len(value) >= 8 and is_stated_password(value)))
    )


def is_passphrase(value: str) -> bool:
    """True for words that are no sentence about passwords: a field or a variable of that name holds them.

    >>> [is_passphrase(value) for value in ("latte art", "the quick brown roaster", "brew house 17!")]
    [True, True, True]
    >>> [is_passphrase(value) for value in ("Enter your password", "Forgot it?", "must have 8 signs", "Mot de passe")]
    [False, False, False, False]
    """
    words = value.lower().split()
    has_sign = any(char.isdigit() or char in "!#$%&*+=~^" for char in value)
    return (
        2 <= len(words) <= 8
        and len(value) >= 8
        and value.isascii()
        and (has_sign or value.islower())
        and re.search(r"[<>{}()|;`\\]", value) is None
        and not _PHRASES_ABOUT.intersection(word.strip(".,:;!?'()") for word in words)
        and not is_placeholder(value)
        and any(map(str.isalpha, value))
        and not _NUMBER.fullmatch(value)
    )


def is_token(value: str) -> bool:
    """True for what can be a token in quotes: long, letters and digits mixed, no uuid.

    >>> [is_token(value) for value in ("9f86d081884c7d659a2feaa0c55ad015", "x7Kq9ZpL2mNvR4", "eyJhbGci1iJIUzI.e30.abc")]
    [True, True, True]
    >>> [is_token(value) for value in ("colors.gray.500", "test-token-123", "hunter2!x", "sha256", "my_long_token")]
    [False, False, False, False, False]
    """
    return is_key(value) and not _UUID.fullmatch(value)


def is_key(value: str) -> bool:
    """True for what can be a token, or a uuid: keys of some services are uuids.

    >>> is_key("c0ffee00-1d2e-4f3a-9b8c-7d6e5f4a3b2c"), is_key("section-12")
    (True, False)
    """
    if len(value) < 10 or not value.isascii() or not is_password(value):
        return False
    return _has_random_part(value) or entropy(value[:200]) >= 3.2


def _has_random_part(value: str) -> bool:
    return any(_is_random(part) for part in re.split(r"[^A-Za-z0-9]+", value))


def is_bare_password(value: str) -> bool:
    """True for what can be a password without quotes, where a variable could stand as well.

    >>> [is_bare_password(value) for value in ("hunter2!x", "Tr0ub4dor&3", "x7Kq9ZpL2mNv")]
    [True, True, True]
    >>> [is_bare_password(value) for value in ("user2", "hunter2", "a+b", "password1Input", "v2.1.0", "x1=item2")]
    [False, False, False, False, False, False]
    """
    if len(value) < 6 or not any(map(str.isalpha, value)):
        return False
    if not any(map(str.isdigit, value)) and not _has_random_part(value):
        return False
    if not is_password(value) or (_BARE_CODE.fullmatch(value) and not _is_jwt(value)):
        return False
    return _has_random_part(value) or not _VARIABLE.fullmatch(value)


def is_bare_token(value: str) -> bool:
    """True for what can be a token without quotes.

    >>> is_bare_token("x7Kq9ZpL2mNvR4"), is_bare_token("accessToken2"), is_bare_token("x7Kq*9ZpL")
    (True, False, False)
    """
    return is_token(value) and is_bare_password(value)


def is_bare_key(value: str) -> bool:
    """True for what can be a key without quotes; it may be a uuid.

    >>> is_bare_key("c0ffee00-1d2e-4f3a-9b8c-7d6e5f4a3b2c"), is_bare_key("itemKey12")
    (True, False)
    """
    return is_key(value) and is_bare_password(value)


def is_basic(value: str) -> bool:
    """True for a user and a password in base64, as of `Authorization: Basic`.

    >>> is_basic("YWxpY2U6bGV0bWVpbg=="), is_basic("automatic"), is_basic("none")
    (True, False, False)
    """
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in plain[:-1] and plain.isascii() and plain.decode().isprintable()


_STOP_WORDS: Final = _words(
    """
    a an the is are was and or not no to for from with without in on of as at by if when then than that this it its be
    can must should will would may has have flag flags option options argument arguments arg args parameter parameters
    value values instead via using use used uses set only also both either which where but so because into like does
    doesn work works support supports and/or etc here there required optional mode command handling file files
    environment variable variables field fields header param was were cli through before after
    """
)

_PHRASES_ABOUT: Final = (_STOP_WORDS - _words("a an the of in on at")) | _words(
    """
    password passwords passwort passphrase pass pwd passwd code secret your you my new old current confirm forgot
    forgotten reset change enter type again repeat invalid wrong incorrect please least character characters signs
    digits letters strong weak minimum maximum long short length mot passe de du la le string type field user username
    email login mail sign show hide update least empty match matches required
    """
)
"""Words of sentences about passwords."""


def is_argument(value: str) -> bool:
    """True for what is given to an option for passwords, and is no word of a sentence about that option.

    >>> is_argument("letmein"), is_argument("flag"), is_argument("--verbose"), is_argument("$PASSWORD")
    (True, False, False, False)
    """
    plain = value.rstrip(".,:;!?)")
    return (
        len(plain) > 2
        and plain.lower() not in _STOP_WORDS
        and value[0] not in "-|&<>/=)(]},:;#\\"
        and not is_placeholder(value)
        and not re.match(r"[A-Za-z_][\w.]*\(|(?:process|os|self|this|args|config|settings|options)\.", value)
    )


_SECRET_NAME: Final = re.compile(
    r"""
    (?: ^|[_.\- ] ) (?:
        pass | pass_?word | passwd | pass_?phrase | pwd | secret | token | jwt | credential s?
      | (?:api|access|secret|private|encryption|signing|auth|account|master|subscription|storage|shared|license)_?key
      | authorization | proxy_authorization | auth | cookie | set_cookie | api_?token
    )
    (?: _(?:key|base|value|access_key|prod|production|dev|staging|test|live|header|\d+) )* $
    """,
    re.VERBOSE,
)
_HARMLESS_NAME: Final = re.compile(
    r"(?:page|next|previous|prev|cursor|continuation|sync|resume|input|output|cache|max|min|total|eos|bos|pad|unk|sep|cls"
    r"|mask|stop|start|end|special|csrf|xsrf|public|design|syntax|with|without|no|has|is|use|show|forgot|reset|change)"
    r"_(?:\w{1,80}_)?(?:token|password|secret|key)$|(?:^|_)(?:code_challenge|public_key)$"
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def is_secret_name(key: str) -> bool:
    """True for names of fields and variables that hold secrets.

    >>> [is_secret_name(key) for key in ("api_key", "accessToken", "client_secret", "X-Api-Key", "APIKey")]
    [True, True, True, True, True]
    >>> [is_secret_name(key) for key in ("input_tokens", "tokenCount", "next_page_token", "public_key", "keyword")]
    [False, False, False, False, False]
    """
    if len(key) > 100:
        return False
    name = re.sub(r"[-. ]", "_", _CAMEL.sub("_", key)).lower().strip("_")
    return bool(_SECRET_NAME.search(name)) and not _HARMLESS_NAME.search(name)


@lru_cache(maxsize=4096)
def is_number_secret(key: str) -> bool:
    """True for names of fields in which even a number is a secret; tokens that are numbers count something.

    >>> is_number_secret("password"), is_number_secret("token"), is_number_secret("pass")
    (True, False, False)
    """
    name = key.lower()
    return any(word in name for word in ("passw", "passp", "pwd", "secret")) and is_secret_name(key)


_SCHEME: Final = re.compile(r"(?:Bearer|Basic|Token|ApiKey|Digest|Negotiate)\s+", re.IGNORECASE)


def plausible_value(key: str, value: str) -> bool:
    """True if the value of a field with a secret's name can be a secret.

    >>> plausible_value("password", "hunter2!x"), plausible_value("Authorization", "Bearer x7Kq9ZpL2mNvR4")
    (True, True)
    >>> plausible_value("password", "Passwort"), plausible_value("token", "abc"), plausible_value("cookie", "none")
    (False, False, False)
    """
    name = key.lower()
    if match := _SCHEME.match(value):
        rest = value[match.end() :]
        return is_key(rest) or is_basic(rest)
    is_password_name = "pass" in name or "pwd" in name
    if re.search(r"\s", value.strip()) and "cookie" not in name:
        return is_password_name and is_passphrase(value)
    if is_password_name or "secret" in name:
        return is_password(value) or (is_password_name and is_quoted_password(value))
    if "cookie" in name:
        return any(is_key(part.partition("=")[2]) for part in value.split("; "))
    if re.fullmatch(r"_?auth", name):
        return is_basic(value) or is_key(value)
    return is_key(value) if "key" in name else is_token(value)
