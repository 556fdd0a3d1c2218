"""Rules for secrets in URLs, in headers of HTTP and in connection strings."""

from __future__ import annotations

from typing import Final

from claude_session_player.redact.plausibility import (
    is_any_password,
    is_bare_key,
    is_basic,
    is_code,
    is_key,
    is_password,
    is_token,
)
from claude_session_player.redact.rule import Kind, Rule


def _is_credential(value: str) -> bool:
    return is_bare_key(value) or is_basic(value)


def _is_cookies(value: str) -> bool:
    """True for a header with a value that could identify a session."""
    return any(_is_cookie(part.partition("=")[2]) for part in value.split(";"))


def _is_cookie(value: str) -> bool:
    return is_password(value) and len(value) >= 8


def _is_field(value: str) -> bool:
    return len(value) >= 4 and is_any_password(value) and not is_code(value)


_AFTER: Final = r"\\{0,7}+[\"']?\]?\s{0,9}+[:=,]\s{0,9}+(?:f?\\{0,7}+[\"'`])?"
"""What stands between the name of a header and its value, in a dump, in code, in JSON."""
_VALUE: Final = r"(?P<secret>[^\s\"'`\\,;<>(){}]++)"

_URL_RULES: Final = (
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"://[^\s/:@\"'`<>\\?#]{0,100}+:(?P<secret>[^\s/\"'`<>\\]{1,300})@(?=[\w\[*.$(])",
        keywords=("://",),
        samples=(
            "postgres://alice:{a10}@db.example.com:5432/app",
            "redis://:{p14}@localhost:6379/0",
            "https://x-access-token:{a36}@github.com/x/y.git",
            "mongodb+srv://bob:{p12}@cluster0.example.net/?w=1",
            'amqp://guest:{a8}@mq"',
        ),
        others=(
            "https://host:8080/a@b",
            "postgres://user:password@host",
            "http://$USER:$PASS@host",
            "see http://x: a@b",
        ),
        accepts=is_any_password,
    ),
    Rule(
        name="token",
        kind=Kind.TOKEN,
        pattern=r"://(?P<secret>[^\s/:@\"'`<>\\?#]{12,300}+)(?::(?:x-oauth-basic)?)?@(?=[\w\[])",
        keywords=("://",),
        samples=(
            "https://{a40}@github.com/x/y",
            "https://{a36}:x-oauth-basic@github.com/x",
            "https://{h32}@o1.ingest.example.io/2",
        ),
        others=("https://alice.longname@example.com", "ssh://git-repository@example.com/x"),
        accepts=is_token,
    ),
    Rule(
        name="token",
        kind=Kind.TOKEN,
        pattern=r"[?&;#](?:(?i:amp;)?)(?i:(?:[a-z_-]{0,20}[_-])?(?:token|secret|api[_-]?key|signature)|auth|access[_-]?key"
        r"|apikey|token|key|sig|signature|code|sas|jwt|subscription-key|sessionid|session_id)=(?P<secret>[^\s&\"'`<>#\\(){}|,;]++)",
        keywords=(
            "token=",
            "key=",
            "sig=",
            "signature=",
            "code=",
            "secret=",
            "auth=",
            "sas=",
            "jwt=",
            "sessionid=",
            "session_id=",
        ),
        samples=(
            "https://x.example/a?token={a24}",
            "https://x.example/a?b=1&api_key={h32}&c=2",
            "https://b.s3.example/x?X-Amz-Date=1&X-Amz-Signature={h64}",
            "/callback#access_token={a40}&state=1",
            "?sv=1&amp;sig={a43}%3D",
            "?X-Amz-Security-Token={b200}",
        ),
        others=("?token=$TOKEN", "?key=name", "?code=404", "?page_token=", "?code=invalid_request", "?token=<token>"),
        accepts=is_token,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"[?&](?:amp;)?(?:[\w-]{0,20}[_-])?(?i:password|passwd|pwd|passphrase)=(?P<secret>[^\s&\"'`<>#\\(){}|;]++)",
        keywords=("password=", "passwd=", "pwd=", "passphrase="),
        samples=("jdbc:mysql://h/db?user=x&password={a10}", "?username=a&password={p12}&x=1"),
        others=("?password=password", "&password=${PASSWORD}", "?password="),
        accepts=_is_field,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r";\s?(?:[Pp]assword|PASSWORD|[Pp]wd|PWD)\s?=\s?(?P<secret>[^;\"'`\\\s]++)(?=[;\"'`\\\s]|\Z)",
        keywords=("password", "pwd"),
        samples=("Server=db;Database=x;User Id=sa;Password={a12};Encrypt=true", "DRIVER={{X}};UID=a;PWD={p14}"),
        others=("Server=db;Password={{password}};", ";password=e;", ";Password=$(X);"),
        accepts=_is_field,
    ),
    Rule(
        name="api-key",
        kind=Kind.API_KEY,
        pattern=r"(?:AccountKey|SharedAccess(?:Key|Signature)|SharedSecretKey)\s?=\s?"
        r"(?P<secret>[A-Za-z0-9+/%&=_ -]{16,}+)",
        keywords=("accountkey", "sharedaccess", "sharedsecretkey"),
        samples=(
            "AccountName=x;AccountKey={b86}==;EndpointSuffix=y",
            "SharedAccessKeyName=Root;SharedAccessKey={b43}=",
        ),
        others=("AccountKey=<your-account-key>", "AccountKey=xxxxxxxxxxxxxxxxxxxx"),
        accepts=is_any_password,
    ),
)

_HEADER_RULES: Final = (
    Rule(
        name="token",
        kind=Kind.TOKEN,
        pattern=r"(?:authorization|Authorization|AUTHORIZATION)"
        + _AFTER
        + r"(?:(?i:bearer|basic|token|apikey|api-key|key|negotiate|oauth|bot|sso-key|splunk)"
        r"[ :=]{1,3}(?:token=\\{0,7}\"?)?)?" + _VALUE,
        keywords=("authorization",),
        samples=(
            "Authorization: Bearer {a40}",
            "curl -H 'Authorization: token {a36}' x",
            '{"Authorization": "Bearer {w43}"}',
            '\\"Authorization\\": \\"Bearer {a40}\\"',
            "proxy-authorization: Basic YWxpY2U6bGV0bWVpbg==",
            "headers['Authorization'] = f'ApiKey {a32}'",
            "Authorization: {h32}",
        ),
        others=(
            "Authorization: Bearer $TOKEN",
            "Authorization: Bearer <token>",
            "'Authorization': `Bearer ${token}`",
            "authorization: required",
            "Authorization: Bearer {token}",
        ),
        accepts=_is_credential,
    ),
    Rule(
        name="token",
        kind=Kind.TOKEN,
        pattern=r"(?:Digest|digest)\s[^\n]{0,400}?\bresponse=\\{0,7}\"?(?P<secret>[0-9a-fA-F]{32,128}+)",
        keywords=("response=",),
        samples=('Authorization: Digest username="a", realm="b", nonce="c", uri="/", response="{h32}"',),
        others=('Digest response="..."', "digest response=hash"),
    ),
    Rule(
        name="token",
        kind=Kind.TOKEN,
        pattern=r"(?:Bearer|bearer|BEARER)[ +]\s{0,3}(?P<secret>[A-Za-z0-9._~+/=|:-]{16,}+)",
        keywords=("bearer",),
        samples=("Bearer {a40}", "the header says bearer {w43}", "'Bearer {json6430}.{json6440}.{w43}'"),
        others=("Bearer authentication-required", "Bearer xxxxxxxxxxxxxxxxxxxx", "bearer token"),
        accepts=is_key,
    ),
    Rule(
        name="token",
        kind=Kind.TOKEN,
        pattern=r"(?i:private-token|job-token|deploy-token|x-(?:auth|access|vault|api|csrf|session|figma)-?token"
        r"|x-amz-security-token|circle-token|x-(?:goog-)?api-?key|xi-api-key|ocp-apim-subscription-key|x-functions-key"
        r"|x-shopify-access-token|x-\w{1,20}-(?:api-)?(?:token|key|secret|signature))" + _AFTER + _VALUE,
        keywords=("-token", "-key", "apikey", "-secret", "-signature"),
        samples=(
            "X-Api-Key: {a32}",
            "curl -H 'PRIVATE-TOKEN: {w20}' x",
            "headers={'X-Auth-Token': '{h32}'}",
            '\\"x-api-key\\": \\"{a32}\\"',
            "X-Vault-Token: {a26}",
        ),
        others=(
            "X-Api-Key: $KEY",
            "X-Auth-Token: <token>",
            "'X-Api-Key': process.env.KEY",
            "PRIVATE-TOKEN: your_token",
        ),
        accepts=is_key,
    ),
    Rule(
        name="cookie",
        kind=Kind.COOKIE,
        pattern=r"(?<![\w-])(?:[Cc]ookie|COOKIE)\\{0,7}+[\"']?\s{0,3}:\s{0,3}\\{0,7}+[\"'`]?"
        r"(?P<secret>[\w.%-]{1,80}+=[^\s\"'`\\;,]{0,4000}+(?:;\s?[\w.%-]{1,80}+=[^\s\"'`\\;,]{0,4000}+){0,50}+)",
        keywords=("cookie",),
        samples=("Cookie: sid={a32}", "curl -H 'Cookie: a=1; session={w43}; b=2' x", '"cookie": "sid={h32}"'),
        others=("Cookie: name=value", "Cookie: a=1; theme=dark", "Cookie: session=<id>"),
        accepts=_is_cookies,
    ),
    Rule(
        name="cookie",
        kind=Kind.COOKIE,
        pattern=r"(?:Set-Cookie|set-cookie|SET-COOKIE)\\{0,7}+[\"']?\s{0,3}[:,]\s{0,3}(?:\[\s{0,9})?\\{0,7}+[\"'`]?"
        r"[\w.%-]{1,80}+=(?P<secret>[^\s\"'`\\;,]++)",
        keywords=("set-cookie",),
        samples=("Set-Cookie: sid={a32}; Path=/; HttpOnly", "'set-cookie': ['session={w43}; Path=/']"),
        others=("Set-Cookie: theme=dark; Path=/", "Set-Cookie: sid=<id>"),
        accepts=_is_cookie,
    ),
    Rule(
        name="cookie",
        kind=Kind.COOKIE,
        pattern=r"\bcurl\s(?:[^\n]{0,400}?\s)?(?:-b|--cookie)[ =]?\\{0,7}[\"']?"
        r"(?P<secret>[\w.%-]{1,80}+=[^\s\"'`\\;]{0,4000}+(?:;\s?[\w.%-]{1,80}+=[^\s\"'`\\;]{0,4000}+){0,50}+)",
        keywords=("curl",),
        samples=("curl -b sid={a32} https://x.example", "curl -s --cookie 'sid={h32}' x"),
        others=("curl -b cookies.txt x", "curl -b 'sid=$SID' x"),
        accepts=_is_cookies,
    ),
)

REQUEST_RULES: Final = (*_URL_RULES, *_HEADER_RULES)
