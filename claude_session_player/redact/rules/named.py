"""Rules for keys that have no shape of their own: hexadecimal, a uuid. They are known by the name they are given."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from claude_session_player.redact.rule import Kind, Rule
from claude_session_player.redact.rules.parts import HEX, SENSITIVE, UUID, is_random, named

if TYPE_CHECKING:
    from collections.abc import Callable


def _has_digit(value: str) -> bool:
    return any(char.isdigit() for char in value) and is_random(value)


def _row(
    name: str,
    owners: tuple[str, ...],
    value: str,
    samples: tuple[str, ...],
    *,
    what: str = SENSITIVE,
    kind: Kind = Kind.API_KEY,
    accepts: Callable[[str], bool] = _has_digit,
    others: tuple[str, ...] = (),
) -> Rule:
    """A rule for values that are given to `owner…key`, `owner…token` and the like; the owners are its keywords."""
    return Rule(
        name=name,
        kind=kind,
        pattern=named("|".join(map(re.escape, owners)), f"(?:{value})", what),
        keywords=owners,
        samples=samples,
        others=others,
        entropy=2.5,
        accepts=accepts,
    )


_HEX32: Final = f"{HEX}{{32}}"
_HEX40: Final = f"{HEX}{{40}}"
_HEX64: Final = f"{HEX}{{64}}"

NAMED_RULES: Final = (
    _row(
        "aws-session-token",
        ("aws_session", "awssession", "aws_security", "sessiontoken"),
        r"(?:[A-Za-z0-9/+=_-]|\\{1,3}/){100,}+",
        ("AWS_SESSION_TOKEN={b300}", '"aws_session_token": "{b300}=="'),
        what="token|",
        kind=Kind.TOKEN,
        others=("AWS_SESSION_TOKEN=${AWS_SESSION_TOKEN}",),
    ),
    _row(
        "azure-devops-token",
        ("azure_devops", "azuredevops", "azdo_", "ado_", "vsts", "system_access"),
        "[a-z2-7]{52}",
        ("AZURE_DEVOPS_EXT_PAT={t52}", "azdo_pat: {t52}"),
        kind=Kind.TOKEN,
        others=("azure_devops {a52}",),
    ),
    _row(
        "zhipu-key",
        ("zhipu", "bigmodel", "glm", "zai_", "z_ai_"),
        rf"{HEX}{{32}}\.[A-Za-z0-9]{{16}}",
        ("ZHIPUAI_API_KEY={h32}.{a16}", 'glm_api_key = "{h32}.{a16}"', "ZAI_API_KEY={h32}.{a16}"),
        others=("{h32}.{a16}",),
    ),
    _row(
        "wandb-key",
        ("wandb",),
        _HEX40,
        ("WANDB_API_KEY={h40}",),
        what="key|token",
        others=("wandb: run {h40}", "wandb_commit={h40}"),
    ),
    _row(
        "mistral-key",
        ("mistral", "codestral"),
        "[A-Za-z0-9]{32}",
        ("MISTRAL_API_KEY={a32}", '"mistral_api_key": "{a32}"', "codestral-token {a32}"),
        others=("mistral-7b-instruct {a32}",),
    ),
    _row("cohere-key", ("cohere", "co_api"), "[A-Za-z0-9]{40}", ("COHERE_API_KEY={a40}", "CO_API_KEY={a40}")),
    _row(
        "ai-key",
        ("assemblyai", "deepgram", "clarifai", "together", "gladia", "stability", "cartesia", "exa_api", "novita"),
        f"{_HEX64}|{_HEX40}|{_HEX32}|{UUID}",
        (
            "ASSEMBLYAI_API_KEY={h32}",
            "DEEPGRAM_API_KEY={h40}",
            "TOGETHER_API_KEY={h64}",
            'exa_api_key: "{uuid}"',
            "CLARIFAI_PAT={h32}",
        ),
        others=("deepgram {h40}",),
    ),
    _row("fal-key", ("fal_",), f"{UUID}:{_HEX32}", ("FAL_KEY={uuid}:{h32}",), what="key"),
    _row(
        "heroku-key",
        ("heroku",),
        UUID,
        ("HEROKU_API_KEY={uuid}", '"heroku_api_key": "{uuid}"', "heroku auth:token {uuid}"),
        others=("heroku release {uuid}",),
    ),
    _row(
        "cloudflare-key",
        ("cloudflare", "cf_", "x-auth"),
        f"{HEX}{{37}}|[A-Za-z0-9_-]{{40}}",
        ("CLOUDFLARE_API_TOKEN={w40}", "CF_API_KEY={h37}", "X-Auth-Key: {h37}"),
        what="key|token",
        others=("cloudflare {h40}", "CLOUDFLARE_API_TOKEN=$CLOUDFLARE_API_TOKEN"),
    ),
    _row(
        "vercel-token",
        ("vercel",),
        "[A-Za-z0-9]{24}",
        ("VERCEL_TOKEN={a24}", "vercel deploy --token {a24}"),
        kind=Kind.TOKEN,
        what="token|secret",
        others=("VERCEL_TOKEN=MyVercelTokenIsRightHere",),
    ),
    _row(
        "netlify-token",
        ("netlify",),
        "[A-Za-z0-9_-]{43,46}",
        ("NETLIFY_AUTH_TOKEN={w43}",),
        kind=Kind.TOKEN,
        what="token",
    ),
    _row(
        "railway-token",
        ("railway",),
        UUID,
        ("RAILWAY_TOKEN={uuid}",),
        kind=Kind.TOKEN,
        what="token|key|secret",
        others=("RAILWAY_PROJECT_ID={uuid}",),
    ),
    _row(
        "alibaba-key",
        ("alibaba", "aliyun", "alicloud"),
        "[A-Za-z0-9]{30}",
        ("ALIBABA_CLOUD_ACCESS_KEY_SECRET={a30}", "aliyun_secret = '{a30}'"),
        what="secret",
    ),
    _row(
        "hosting-token",
        ("linode", "hcloud", "hetzner", "vultr", "ovh_", "ibm_cloud", "ibmcloud", "scaleway", "scw_", "fastly")
        + ("bunny", "confluent", "upstash", "gandi", "hostinger"),
        rf"{UUID}|[A-Za-z0-9_-]{{24,100}}+={{0,2}}",
        (
            "LINODE_TOKEN={h64}",
            "HCLOUD_TOKEN={a64}",
            "VULTR_API_KEY={u36}",
            "IBMCLOUD_API_KEY={w44}",
            "SCW_SECRET_KEY={uuid}",
            "FASTLY_API_TOKEN={w32}",
            "UPSTASH_REDIS_REST_TOKEN={a56}",
            "CONFLUENT_API_SECRET={a64}",
        ),
        kind=Kind.TOKEN,
        what="token|secret|key|password",
        others=("LINODE_TOKEN=your-linode-token-goes-here", "FASTLY_API_TOKEN=process.env.FASTLY_API_TOKEN"),
    ),
    _row(
        "vault-token",
        ("vault",),
        r"[sbr]\.[A-Za-z0-9]{24,110}",
        ("VAULT_TOKEN=s.{a24}", "X-Vault-Token: b.{a90}"),
        kind=Kind.TOKEN,
        what="token|secret",
    ),
    _row(
        "ngrok-token",
        ("ngrok",),
        "[A-Za-z0-9]{20,30}_[A-Za-z0-9]{18,30}",
        ("ngrok config add-authtoken {a27}_{a21}", "NGROK_AUTHTOKEN={a27}_{a21}"),
        kind=Kind.TOKEN,
    ),
    _row("okta-token", ("okta",), "00[A-Za-z0-9_-]{40}", ("OKTA_API_TOKEN=00{w40}",), kind=Kind.TOKEN),
    _row(
        "github-token",
        ("github", "gh_"),
        _HEX40,
        ("GITHUB_TOKEN={h40}", '"github-oauth-token": "{h40}"'),
        kind=Kind.TOKEN,
        what="token|secret",
        others=("github commit {h40}", "GITHUB_SHA={h40}"),
    ),
    _row(
        "git-host-token",
        ("gitea", "forgejo", "codeberg", "codecov", "coveralls", "travis", "drone_", "appveyor"),
        f"{_HEX40}|{UUID}|[A-Za-z0-9]{{20,44}}",
        ("GITEA_TOKEN={h40}", "CODECOV_TOKEN={uuid}", "TRAVIS_API_TOKEN={a22}", "DRONE_TOKEN={a32}"),
        kind=Kind.TOKEN,
        what="token|secret",
        others=("CODECOV_TOKEN=${{ secrets.CODECOV_TOKEN }}",),
    ),
    _row(
        "datadog-key",
        ("datadog", "dd_", "dd-"),
        f"{_HEX40}|{_HEX32}",
        ("DD_API_KEY={h32}", "DATADOG_APP_KEY={h40}", "DD-API-KEY: {h32}", '"datadog_api_key": "{h32}"'),
        what="key|token",
        others=("datadog {h32}", "add_key {a32}"),
    ),
    _row(
        "algolia-key",
        ("algolia",),
        _HEX32,
        ("ALGOLIA_ADMIN_KEY={h32}", "X-Algolia-API-Key: {h32}"),
        others=("algolia {h32}",),
    ),
    _row(
        "snyk-token",
        ("snyk",),
        UUID,
        ("SNYK_TOKEN={uuid}", "snyk auth token {uuid}"),
        kind=Kind.TOKEN,
        what="token|key",
    ),
    _row(
        "monitoring-key",
        ("pagerduty", "opsgenie", "rollbar", "bugsnag", "honeybadger", "logdna", "loggly", "splunk", "sumologic")
        + ("uptimerobot", "statuspage", "pingdom", "airbrake", "amplitude", "mixpanel"),
        rf"{UUID}|{_HEX64}|{_HEX32}|[A-Za-z0-9+_-]{{20,64}}",
        ("PAGERDUTY_API_KEY={a20}", "ROLLBAR_ACCESS_TOKEN={h32}", "OPSGENIE_API_KEY={uuid}", "SPLUNK_HEC_TOKEN={uuid}"),
        what="token|secret|key",
    ),
    _row(
        "twilio-token",
        ("twilio",),
        f"{_HEX32}|[A-Za-z0-9]{{32}}",
        ("TWILIO_AUTH_TOKEN={h32}", "twilio_api_secret: {a32}"),
        kind=Kind.TOKEN,
        what="token|secret|key|auth|pass",
        others=("TWILIO_ACCOUNT_SID=AC{h32}",),
    ),
    _row(
        "postmark-token",
        ("postmark",),
        UUID,
        ("X-Postmark-Server-Token: {uuid}", "POSTMARK_API_TOKEN={uuid}"),
        kind=Kind.TOKEN,
    ),
    _row(
        "mailgun-key",
        ("mailgun",),
        f"{HEX}{{32}}-{HEX}{{8}}-{HEX}{{8}}|{_HEX32}",
        ("MAILGUN_API_KEY={h32}-{h8}-{h8}", "mailgun_private_key: {h32}"),
    ),
    _row("plaid-key", ("plaid",), f"{HEX}{{30}}", ("PLAID_SECRET={h30}",), what="secret|key"),
    _row(
        "razorpay-key",
        ("razorpay",),
        "[A-Za-z0-9]{24}",
        ("RAZORPAY_KEY_SECRET={a24}",),
        what="secret",
    ),
    _row(
        "paypal-secret",
        ("paypal",),
        "[A-Z][A-Za-z0-9_-]{79}",
        ("PAYPAL_CLIENT_SECRET=E{w79}",),
        kind=Kind.SECRET,
        what="secret",
    ),
    _row(
        "braintree-key",
        ("braintree", "bt_private"),
        _HEX32,
        ("BRAINTREE_PRIVATE_KEY={h32}", "bt_private_key={h32}"),
        what="key|secret",
    ),
    _row(
        "social-token",
        ("twitter", "facebook", "linkedin", "instagram", "tiktok", "reddit", "twitch", "spotify", "discord")
        + ("zendesk", "intercom", "pusher", "pushover", "zoom_", "box_client", "dropbox", "asana", "trello"),
        r"[A-Za-z0-9%_-]{20,110}",
        (
            "TWITTER_API_SECRET={a50}",
            "FACEBOOK_APP_SECRET={h32}",
            "LINKEDIN_CLIENT_SECRET={a32}",
            "TWITCH_CLIENT_SECRET={l30}",
            "DISCORD_CLIENT_SECRET={w32}",
            "TRELLO_TOKEN={h64}",
            "PUSHER_APP_SECRET={h20}",
        ),
        kind=Kind.SECRET,
        what="secret|token|api_?key|apikey",
        others=("TWITTER_API_SECRET=os.environ.get(1)", "discord_token_from_environment_variable"),
    ),
    _row(
        "tool-key",
        ("airtable", "mailjet", "sparkpost", "mandrill", "sendbird", "courier", "mapbox", "maptiler", "here_api")
        + ("openweather", "newsapi", "alphavantage", "polygon_", "finnhub", "coinmarketcap", "etherscan", "infura")
        + ("alchemy", "binance", "kraken", "coinbase", "serpapi", "serper", "brave", "scraper", "jira", "clickup"),
        rf"{UUID}|[A-Za-z0-9_-]{{14,100}}",
        (
            "AIRTABLE_API_KEY=key{a14}",
            "MAILJET_SECRET_KEY={h32}",
            "OPENWEATHER_API_KEY={h32}",
            "SERPAPI_API_KEY={h64}",
            "BRAVE_API_KEY={w31}",
            "ETHERSCAN_API_KEY={u34}",
            "COINMARKETCAP_API_KEY={uuid}",
            "BINANCE_SECRET_KEY={a64}",
        ),
        what="secret|token|api_?key|secret_?key",
        others=("BRAVE_API_KEY=process.env.BRAVE_API_KEY",),
    ),
)
