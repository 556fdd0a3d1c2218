"""Rules for secrets on command lines."""

from __future__ import annotations

from typing import Final

from claude_session_player.redact.plausibility import is_argument, is_bare_key, is_password
from claude_session_player.redact.rule import Kind, Rule


def _is_secret_argument(value: str) -> bool:
    return is_argument(value) and is_bare_key(value)


def _is_set_value(value: str) -> bool:
    return is_argument(value) and is_password(value)


_OPEN: Final = r"(?P<esc>\\{1,7}+)?(?P<quote>[\"'])?"
_WORD: Final = (
    r"(?P<secret>(?(quote)(?:[^\"'`\\\n]++|(?(esc)(?!\\)[^\n]|(?!(?P=quote))(?:\\\S|[^\n])))++|[^\s\"'`\\|;<>]++))"
)
"""An argument: in quotes, with blanks, up to the same quote, or up to a blank."""
_LINE: Final = r"[^\n|;]{0,300}?"
_NAME: Final = r"(?i:[\w-]{0,40}(?:password|passwd|secret|token|key)[\w-]{0,20})"
_STDIN: Final = (
    r"(?:docker|podman|helm|buildah|skopeo)\b[^\n|]{0,200}--password-stdin|(?:gh|wrangler|glab|npx|pnpm|yarn|bunx|fly|flyctl|doppler)"
    r"\b[^\n|]{0,60}\b(?:secrets?|variable)\s(?:put|set|create|import)|vercel\s[^\n|]{0,60}env add|gh auth login|"
    r"pass insert|sudo\s+-S|chpasswd|gcloud secrets|firebase functions:secrets|passwd\b|cryptsetup|glab auth login"
)

_SINKS: Final = (
    "--password-stdin",
    "secret",
    "variable",
    "env add",
    "auth login",
    "insert",
    "sudo",
    "passwd",
    "cryptsetup",
)
_OTHER_TOOLS: Final = ("az login", "sqlcmd", "bcp", "ldap", "convertto-securestring")
_LOGINS: Final = tuple(f"{tool} login" for tool in ("docker", "podman", "registry", "acr", "oc", "buildah"))

COMMAND_RULES: Final = (
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"--(?:[a-z]{1,20}-){0,3}(?:password|passwd|passphrase|pass|pwd)(?:=|\s{1,5}|[\"'],\s?)"
        + _OPEN
        + _WORD,
        keywords=("-pass", "-pwd"),
        samples=(
            "tool --password {a12} x",
            "wget --user a --http-password='{p14}' x",
            'x --db-password "{p10}"',
            '["--password", "{a12}"]',
            "mysqldump --password={a9} db",
        ),
        others=(
            "--password-stdin",
            "--password $PASSWORD",
            "--password <password>",
            "use --password to give it",
            '--password="$X"',
            "--password --verbose",
            "the --password flag",
        ),
        accepts=is_argument,
    ),
    Rule(
        name="token",
        kind=Kind.TOKEN,
        pattern=r"--(?:[a-z]{1,20}-){0,3}(?:token|secret|apikey|key|sas|credential|credentials)(?:=|\s{1,5}|[\"'],\s?)"
        + _OPEN
        + _WORD,
        keywords=("-token", "-secret", "-apikey", "-key", "-sas", "-credential"),
        samples=(
            "x --token={a24}",
            "x --api-key {w32} y",
            "x --client-secret '{p20}'",
            "az storage x --account-key {b86}==",
            'x --auth-token "{h40}"',
        ),
        others=(
            "--token $TOKEN",
            "--key value",
            "--secret from the file",
            "--token <token>",
            "--key section12",
            "--token=...",
        ),
        accepts=_is_secret_argument,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"\b(?:mysql|mysqldump|mariadb|mysqladmin|mariadb-dump|mysqlimport)\s(?:[^\n|;]{0,300}?\s)??-p(?!\s|ort)"
        + _OPEN
        + _WORD,
        keywords=("mysql", "mariadb"),
        samples=("mysql -u root -p{a9} db", "mysqldump -h x -uroot -p'{p12}' db", "mariadb -p{a8}"),
        others=("mysql -u root -p db", "mysql -p$PASS", "mysql -p${X}", "mysql --port 3306"),
        accepts=is_argument,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"\b(?:sshpass\s{1,5}-p\s{0,5}|(?:mongo|mongosh|mongodump|mongorestore|influx)\s"
        + _LINE
        + r"\s-p\s{1,5}"
        r"|(?:docker|podman|registry|acr|oc|buildah) login\s(?:[^\n|;]{0,300}?\s)?-p\s{1,5}"
        r"|zip (?=-)(?:[^\n|;]{0,300}?\s)?-P\s{1,5}|7z[a-z]?\s[^\n|;]{0,200}?\s-p(?!\s)"
        r"|az login\s[^\n|;]{0,300}?\s-p\s{1,5}|(?:sqlcmd|bcp)\s[^\n|;]{0,300}?\s-P\s{0,5}"
        r"|ldap(?:search|modify|add|delete|whoami|passwd)\s[^\n|;]{0,300}?\s-w\s{1,5}"
        r"|ConvertTo-SecureString\s{1,5}(?:-String\s{1,5})?"
        r"|redis-cli\s(?:[^\n|;]{0,300}?\s)?-a\s{1,5}|security add-[a-z]{1,20}-password\s[^\n|;]{0,300}?\s-w\s{1,5})"
        + _OPEN
        + _WORD,
        keywords=("sshpass", "mongo", "influx", *_LOGINS, "zip -", "7z", "redis-cli", "security add", *_OTHER_TOOLS),
        samples=(
            "sshpass -p {a10} ssh x",
            "sshpass -p'{p12}' ssh x",
            "mongo -u a -p {a9} db",
            "docker login -u a -p {a20} r.example",
            "zip -r -P {a8} x.zip y",
            "7z a -p{a10} x.7z y",
            "redis-cli -h x -a {a16} ping",
            "az login --service-principal -u x -p {a20} --tenant t",
            "sqlcmd -S h -U sa -P {a9} -Q x",
            "ldapsearch -x -D cn=admin -w {a9}",
            'ConvertTo-SecureString "{a12}" -AsPlainText -Force',
            "security add-generic-password -a x -s y -w {a14}",
        ),
        others=(
            "sshpass -p $PASS ssh x",
            "docker login -u a -p ${X} y",
            "redis-cli -a",
            "zip -r x y",
            'sshpass -p "$P" ssh x',
        ),
        accepts=is_argument,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"\b(?:curl\s(?:[^\n|;]{0,400}?\s)?(?:-u|--user|--proxy-user|-U)|https?\s-a)[ =]?\\{0,7}[\"']?"
        r"[^\s:\"'/]{0,80}:(?P<secret>[^\s\"'`\\|;/]++)",
        keywords=("curl", "http -a", "https -a"),
        samples=("curl -u alice:{a12} https://x.example", "curl -s --user 'a:{p14}' x", "curl -X POST -u :{a20} x"),
        others=(
            "curl -u alice x",
            "curl -u $USER:$PASS x",
            "curl -u user:password x",
            "curl -u a: x",
            "curl -u <u>:<p> x",
        ),
        accepts=is_argument,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"\b(?:PGPASSWORD|MYSQL_PWD|REDISCLI_AUTH|SSHPASS|MYSQL_ROOT_PASSWORD|RESTIC_PASSWORD|BORG_PASSPHRASE|GPG_PASSPHRASE)="
        + _OPEN
        + _WORD,
        keywords=(
            "pgpassword=",
            "mysql_pwd=",
            "rediscli_auth=",
            "sshpass=",
            "mysql_root_password=",
            "restic_password=",
            "_passphrase=",
        ),
        samples=("PGPASSWORD={a9} psql -h x", "PGPASSWORD='{p12}' pg_dump", "MYSQL_PWD={a8} mysql"),
        others=("PGPASSWORD=$X psql", "PGPASSWORD= psql", 'PGPASSWORD="${DB_PASSWORD}" psql', "PGPASSWORD=<password>"),
        accepts=is_argument,
    ),
    Rule(
        name="secret",
        kind=Kind.SECRET,
        pattern=r"\b(?:echo|printf)\s{1,5}(?:-[neE]{1,3}\s{1,5}|--\s)?(?:\\{0,7}[\"']?%s(?:\\{1,8}n)?\\{0,7}[\"']?\s{1,5})?"
        + _OPEN
        + _WORD
        + r"(?(esc)\\{1,7}+)(?(quote)(?P=quote))\s{0,5}\|\s{0,5}(?:"
        + _STDIN
        + ")",
        keywords=_SINKS,
        samples=(
            "echo {a20} | docker login -u a --password-stdin",
            "printf '{w30}' | gh secret set NAME",
            "printf %s '{p20}' | wrangler secret put NAME",
            'echo -n "{a24}" | vercel env add NAME production',
            "echo 'alice:{p12}' | chpasswd",
            "printf '%s' {a24} | npx wrangler secret put X",
        ),
        others=('echo "$TOKEN" | docker login --password-stdin', "echo $X | gh secret set Y", "echo hello | cat"),
        accepts=is_argument,
    ),
    Rule(
        name="secret",
        kind=Kind.SECRET,
        pattern=r"(?:" + _STDIN + r"|--with-token)[^\n|;<]{0,200}<<<\s{0,3}" + _OPEN + _WORD,
        keywords=("<<<",),
        samples=("gh auth login --with-token <<< {a40}", 'docker login -u a --password-stdin r.example <<< "{a12}"'),
        others=("gh auth login --with-token <<< $TOKEN", 'gh secret set X <<< "$(cat x)"', "<<<<<<< HEAD"),
        accepts=is_argument,
    ),
    Rule(
        name="secret",
        kind=Kind.SECRET,
        pattern=r"(?:\b(?:gh|glab)\s(?:secret|variable)\sset\s[^\n|;]{0,200}?(?:--body|-b|--value|-v)[ =]{1,5}"
        r"|--from-literal[= ]\\{0,7}[\"']?[\w.-]{1,100}+=)" + _OPEN + _WORD,
        keywords=("secret set", "--from-literal", "variable set"),
        samples=(
            "gh secret set NAME --body {a20}",
            'gh secret set NAME -b "{w30}"',
            "kubectl create secret generic x --from-literal=k={a16}",
        ),
        others=('gh secret set NAME --body "$X"', "gh secret set NAME < file", "--from-literal=k=$V"),
        accepts=is_argument,
    ),
    Rule(
        name="secret",
        kind=Kind.SECRET,
        pattern=r"\b(?:heroku\sconfig:(?:set|add)|fly(?:ctl)?\ssecrets\sset|supabase\ssecrets\sset|doppler\ssecrets\sset|vault\s(?:kv\s)?(?:put|patch|write)\s[\w./-]{1,200})"
        r"(?:\s{1,5}-{1,2}[\w-]{1,30}(?:[= ][\w./-]{1,60})?){0,3}\s{1,5}[\w.-]{1,100}+=\\{0,7}[\"']?"
        r"(?P<secret>[^\s\"'`\\|;<>]++(?:[\"']?\s[\w.-]{1,100}+=[\"']?[^\s\"'`\\|;<>]++){0,20})",
        keywords=("config:", "secrets set", "vault"),
        samples=(
            "heroku config:set A_SECRET={a20}",
            "fly secrets set X={w24} -a app",
            "vault kv put secret/app k={a14}",
            "heroku config:set -a app X={a20} Y={a12}",
        ),
        others=("heroku config:set X=$X", "vault kv put secret/app @data.json", "fly secrets set X=<value>"),
        accepts=is_argument,
    ),
    Rule(
        name="secret",
        kind=Kind.SECRET,
        pattern=r"(?:\b(?:setx|ENV|config (?:set|--global)|configure set|Set-Item|setenv|set -[gx]{1,2}) {1,5}\"?"
        r"[\w./:@-]{0,100}?)"
        r"(?i:password|passwd|secret|token|api_?key|access_?key|_key|passphrase)[\w-]{0,20}\"?(?:\s|\s?=\s?|\s\|\s)"
        + _OPEN
        + _WORD,
        keywords=("setx", "env ", "config set", "config --global", "configure set", "set-item", "setenv", "set -"),
        samples=(
            "aws configure set aws_secret_access_key {b40}",
            'setx API_TOKEN "{a24}"',
            "ENV DB_PASSWORD {a12}",
            "npm config set //registry.example.org/:_authToken {a36}",
            "set -x MY_SECRET {a20}",
        ),
        others=(
            "aws configure set aws_secret_access_key $X",
            'setx API_TOKEN "%TOKEN%"',
            "ENV DB_PASSWORD changeme",
            "ENV TOKEN_LIMIT 12",
        ),
        accepts=_is_set_value,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"-pass(?:in|out|word)?[ =][\"']?pass:(?P<secret>[^\s\"'`\\<>]++)",
        keywords=("pass:",),
        samples=("openssl enc -aes-256-cbc -pass pass:{a10}", "openssl pkcs12 -passin pass:{p12} -in x"),
        others=("openssl x -passin pass:$X", "openssl x -pass env:X", "-passin pass:<password>"),
        accepts=is_argument,
    ),
    Rule(
        name="password",
        kind=Kind.PASSWORD,
        pattern=r"\bhtpasswd\s{1,5}(?:-(?=[a-zA-Z]{0,6}b)(?P<prints>(?=[a-zA-Z]{0,6}n))?[a-zA-Z]{1,7}\s)"
        r"(?:-[\w ]{1,10}|\d{1,2}\s)?[^\s|;]{1,200}\s{1,5}(?(prints)|[^\s|;-][^\s|;]{0,100}\s{1,5}(?!&))"
        + _OPEN
        + _WORD,
        keywords=("htpasswd",),
        samples=("htpasswd -b .htpasswd alice {a10}", "htpasswd -nbB alice {p12}", "htpasswd -cb /x/y bob '{p12}'"),
        others=("htpasswd -b .htpasswd alice $PASS", "htpasswd -c .htpasswd alice"),
        accepts=is_argument,
    ),
)
