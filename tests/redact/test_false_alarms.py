"""What is no secret stays: ids, hashes, lock files, pictures, code, placeholders; and real sessions get few masks.

`pytest -s` prints the masks per MB by rule.
"""

from __future__ import annotations

import base64
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Final

import pytest

from claude_session_player.redact import Kind, Redactor
from claude_session_player.redact.samples import expand
from tests import corpus
from tests.builder import SessionBuilder, call, text, thought
from tests.hostile.effort import sample
from tests.redact.copies import redacted

MOST_PER_MB: Final = {
    # Secrets. All hits of the rules in 47 MB of real sessions were looked at: there was not one secret (kingfisher
    # finds none either), and not one false alarm. One in ten megabytes is room for other sessions.
    **{kind: 0.1 for kind in Kind if kind.is_secret},
    # Each record has a working directory, and most calls have paths: two to six home directories in a record.
    Kind.HOME: 1500.0,
    # Listings of directories (`ls -l` has the owner twice in a line), encoded project directories, branches that begin
    # with a name. All of the hits that were looked at are names of people.
    Kind.USER: 400.0,
    # Remotes, links to pull requests and `Merge pull request #1 from owner/branch` in logs; each is a real owner.
    Kind.REPOSITORY: 150.0,
    # Authors of commits, in logs and in files of packages: a `git log` of one page has a dozen of each.
    Kind.PERSON: 20.0,
    Kind.EMAIL: 20.0,
    # Addresses that servers for developers print, accounts and ids of cloud sessions: rare.
    Kind.HOST: 5.0,
    Kind.ADDRESS: 5.0,
    Kind.ACCOUNT: 5.0,
    Kind.IMAGE: 2.0,
}
"""Masks per MB above which a rule is too eager."""

SHA1, SHA256 = "{h40}", "{h64}"
ALONE: Final = {
    "uuid": "session {uuid} and {uuid}, parent {uuid}",
    "git": "commit {h40}\nMerge: {h7} {h7}\nindex {h7}..{h7} 100644\n{h40}\trefs/heads/main\nHEAD is now at {h8} Brew",
    "git log": "{h7} Fix the token bucket\n{h7} Add a password field\n{h10} Rotate the api key of the kettle (#12)",
    "ids": "toolu_{a24} toolu_01{a22} msg_{a24} msg_01{a22} req_{a24} req_011{a21} chatcmpl-{a29} srvtoolu_{a24}",
    "json ids": '{"id": "msg_01{a22}", "requestId": "req_011{a21}", "tool_use_id": "toolu_01{a22}", "uuid": "{uuid}"}',
    "npm": '"node_modules/tea": {\n  "version": "4.17.21",\n  "resolved": "https://registry.npmjs.org/tea/-/tea-4.17.21.tgz",'
    '\n  "integrity": "sha512-{b86}==",\n  "license": "MIT"\n}',
    "pnpm": "  /tea@4.17.21:\n    resolution: {integrity: sha512-{b86}==}\n    engines: {node: '>=6'}\n    dev: true\n",
    "yarn": 'tea@^4.17.21:\n  version "4.17.21"\n  resolved "https://registry.yarnpkg.com/tea/-/tea-4.17.21.tgz#{h40}"\n'
    "  integrity sha512-{b86}==\n",
    "yarn berry": '"tea@npm:^4.17.21":\n  version: 4.17.21\n  checksum: 10/{h128}\n  languageName: node\n',
    "cargo": '[[package]]\nname = "tea"\nversion = "1.0.0"\nsource = "registry+https://github.com/rust-lang/crates.io-index"'
    '\nchecksum = "{h64}"\n',
    "poetry": 'files = [\n    {file = "tea-1.0-py3-none-any.whl", hash = "sha256:{h64}"},\n]\ncontent-hash = "{h64}"\n',
    "uv": 'sdist = { url = "https://files.pythonhosted.org/packages/{h2}/{h2}/{h60}/tea.tar.gz", hash = "sha256:{h64}"'
    ", size = 71234 }",
    "requirements": "tea==1.0 \\\n    --hash=sha256:{h64} \\\n    --hash=sha256:{h64}\n",
    "go": "golang.org/x/tea v0.3.0 h1:{b43}=\ngolang.org/x/tea v0.3.0/go.mod h1:{b43}=\n",
    "gemfile": "CHECKSUMS\n  tea (1.0) sha256={h64}\n",
    "flake": '"narHash": "sha256-{b43}=",\n"rev": "{h40}",\n"lastModified": 1700000000',
    "docker": "FROM tea@sha256:{h64}\nsha256:{h64}: Pulling from library/tea\nDigest: sha256:{h64}",
    "sri": '<script src="https://cdn.example/tea.js" integrity="sha384-{b64}" crossorigin="anonymous"></script>',
    "etag": 'ETag: W/"{h32}"\nX-Request-Id: {uuid}\ncf-ray: {h16}-FRA',
    "checksums": "{h64}  tea.tar.gz\n{h40} *tea.zip\n{h32}  tea.iso\nMD5 (tea) = {h32}",
    "test ids": "tests/test_tea.py::test_token[{a12}] PASSED\n<Token at 0x7f{h10}>",
}
CODE: Final = (
    "password: str\n",
    "def login(user: str, password: str, *, token: str | None = None) -> Session:\n    self.password = password\n",
    "password = getpass.getpass()\ntoken = os.environ['API_TOKEN']\nsecret = config.get('secret')\n",
    "const token = await getToken();\nconst { apiKey, secret } = process.env;\nthis.password = props.password;\n",
    'let api_key = std::env::var("API_KEY")?;\nlet token: &str = args.token.as_deref().unwrap_or_default();\n',
    "if (!password) throw new Error('password required');\npasswordInput.addEventListener('change', onChange)\n",
    "token_count = len(tokens)\nmax_tokens: 4096\ninput_tokens=12345678 output_tokens=87654321\n",
    'type Credentials struct {\n\tPassword string `json:"password"`\n\tToken    *Token `json:"token,omitempty"`\n}\n',
    "password VARCHAR(255) NOT NULL,\napi_key_hash CHAR(64),\ntoken_expires_at TIMESTAMP\n",
    "class TokenBucketRateLimiterConfigurationFactory:\n    secret_manager = SecretManagerServiceClient()\n",
    "grep -rn 'password' src/ | head\nkubectl get secret kettle-credentials -o yaml\nexport API_KEY=$KETTLE_API_KEY\n",
    'Authorization: Bearer $TOKEN\ncurl -H "Authorization: Bearer ${TOKEN}" https://tea.example\n',
    '<input type="password" name="password" autocomplete="current-password" placeholder="Password">\n',
    "key={item.id}\nkey: 'user-settings-panel-collapsed-state'\nkeyboard = Keyboard()\n",
    "The token is read from the keychain. A password must have twelve characters; secrets belong into a vault.\n",
)
PLACEHOLDERS: Final = (
    "API_KEY=your-api-key-here\n",
    "ANTHROPIC_API_KEY=sk-ant-...\nOPENAI_API_KEY=sk-...\n",
    "password: <your password>\ntoken: [REDACTED]\nsecret: ********\n",
    "password=changeme\nPASSWORD=${DB_PASSWORD:?}\ntoken={{ secrets.TOKEN }}\n",
    "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}\n",
    "postgres://user:password@localhost:5432/db\n",
    "aws_access_key_id = AKIAIOSFODNN7EXAMPLE\n",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
    "export TOKEN=<token>\nSECRET_KEY=xxx\napi_key: 'TODO'\n",
    "mail ada@example.com, see https://example.com/~ada and 127.0.0.1:8080 or 0.0.0.0\n",
)


@pytest.mark.parametrize("name", ALONE)
def test_ids_and_hashes_stay(name: str) -> None:
    for seed in range(20):
        words = expand(ALONE[name], seed)
        assert Redactor().text(words) == words


@pytest.mark.parametrize("words", [*CODE, *PLACEHOLDERS])
def test_code_and_placeholders_stay(words: str) -> None:
    assert Redactor().text(words) == words
    assert Redactor().text(json.dumps(words)) == json.dumps(words)


def test_a_session_without_secrets_stays_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40).decode()
    session = SessionBuilder(cwd="/srv/engine")
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}}
    session.prompt([text("What is this?"), image]).response(thought("A kettle."), text("A kettle."))
    for number, words in enumerate([*CODE, *PLACEHOLDERS, *(expand(one, 5) for one in ALONE.values())]):
        session.response(call("Bash", f"toolu_{number}", command=words))
        session.result(f"toolu_{number}", words, toolUseResult={"stdout": words, "stderr": "", "isImage": False})
    session.write(path)
    kept = redacted(path, tmp_path / "copy.jsonl", Redactor(keep=["images"], reports_places=False))
    assert kept == path.read_bytes()


def test_rules_are_not_too_eager_in_real_sessions(tmp_path: Path) -> None:
    files = corpus.session_files()
    if not files:
        pytest.skip(f"there are no real sessions at {corpus.ROOT}")
    masks: Counter[tuple[Kind, str]] = Counter()
    size = 0
    for number, path in enumerate(sample(files, 50)):
        redactor = Redactor(reports_places=False)
        redacted(path, tmp_path / f"{number}.jsonl", redactor)
        size += path.stat().st_size
        for value in redactor.report.values:
            masks[value.kind, value.rule] += value.occurrences
    per_mb = {rule: count * 1e6 / size for rule, count in masks.most_common()}
    print(f"\n{size / 1e6:.1f} MB, masks per MB:")
    for (kind, rule), rate in per_mb.items():
        print(f"{rate:8.2f}  {kind.word:12} {rule}")
    by_kind: defaultdict[Kind, float] = defaultdict(float)
    for (kind, _), rate in per_mb.items():
        by_kind[kind] += rate
    assert {kind.word: rate for kind, rate in by_kind.items() if rate > MOST_PER_MB[kind]} == {}
