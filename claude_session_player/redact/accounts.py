"""Ids of accounts, of organisations and of sessions in the cloud."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from claude_session_player.redact.sightings import (
    ACCOUNT,
    CLOUD_SESSION,
    ENVIRONMENT,
    ORGANIZATION,
    Sighting,
    begins_word,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_session_player.redact.rule import Rule

KEY_ANCHORS: Final = (
    *("accountuuid", "account_uuid", "accountid", "account_id", "organizationuuid", "organization_uuid"),
    *("organizationid", "organization_id", "organizationname", "organization_name", "orgid", "org_id", "orguuid"),
    *("org_uuid", "userid", "user_id", "deviceid", "device_id", "machineid", "machine_id"),
    *("bridgesessionid", "bridge_session_id", "environmentid", "environment_id"),
)
ID_ANCHORS: Final = ("org_", "org-", "account_", "arn:aws", "user_")

_UUID: Final = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_ID: Final = (
    rf"(?:{_UUID}|[0-9a-fA-F]{{24,128}}+|(?:user|org|acct|account|cse|session|env|device)[_-][A-Za-z0-9_-]{{8,128}}+)"
)
_IS_ID: Final = re.compile(rf"{_ID}|\d{{12}}|[\w.:-]{{16,128}}")
_ASSIGNED: Final = re.compile(
    rf"\\{{0,8}}[\"']?\s{{0,4}}[:=]\s{{0,4}}\\{{0,8}}[\"']?(?P<id>{_ID}|\d{{12}}(?!\d))(?![A-Za-z0-9])"
)
_NAMED: Final = re.compile(
    r"\\{0,8}[\"']\s{0,4}[:=]\s{0,4}(?:\\{1,8}\"(?P<escaped>[^\"\\\n]{2,100})\\{1,8}\"|\"(?P<plain>[^\"\\\n]{2,100})\")"
)
_ORG: Final = re.compile(r"org(?:_[A-Za-z0-9]{16,64}+|-[A-Za-z0-9]{20,64}+)(?![\w-])")
_ACCOUNT_OF_USER: Final = re.compile(rf"account_(?:_)?(?P<id>{_UUID})")
_USER_HASH: Final = re.compile(r"user_(?P<id>[0-9a-f]{64})(?![0-9a-f])")
_ARN: Final = re.compile(r"arn:aws[\w-]{0,12}:[\w-]{0,40}:[\w-]{0,30}:(?P<id>\d{12})(?=:)")
_NO_ACCOUNT: Final = frozenset(("000000000000",))


def key_rule(key: str) -> Rule | None:
    """The rule for ids that are values of a key.

    >>> key_rule("ownerAccountUuid").name, key_rule("uuid")
    ('account', None)
    """
    folded = key.lower().replace("_", "")
    if folded.endswith(("accountuuid", "accountid", "userid", "deviceid", "machineid")):
        return ACCOUNT
    if folded.endswith(("organizationuuid", "organizationid", "orgid", "orguuid", "organizationname")):
        return ORGANIZATION
    if folded == "bridgesessionid":
        return CLOUD_SESSION
    return ENVIRONMENT if folded == "environmentid" else None


def field_id(key: str, value: str) -> Iterator[Sighting]:
    """The whole value of a key that holds an id."""
    rule = key_rule(key)
    is_name = key.lower().replace("_", "").endswith("name")
    if rule and is_id(value, rule, is_name=is_name):
        yield Sighting(0, len(value), rule, value)


def is_id(value: str, rule: Rule, *, is_name: bool = False) -> bool:
    """True if a value is an id, and neither a placeholder nor a mask."""
    if re.fullmatch(rf"{rule.name}-\d+|environment-\d+", value) or value in _NO_ACCOUNT:
        return False
    return 2 <= len(value) <= 100 if is_name else _IS_ID.fullmatch(value) is not None and any(map(str.isdigit, value))


def assigned_ids(text: str, start: int, end: int) -> Iterator[Sighting]:
    """An id after its key, as in JSON and in settings; also in JSON inside of strings."""
    key = text[start:end]
    rule = key_rule(key)
    if not rule:
        return
    is_name = key.lower().endswith("name")
    match = (_NAMED if is_name else _ASSIGNED).match(text, end)
    if match and match.lastgroup and is_id(match[match.lastgroup], rule, is_name=is_name):
        yield Sighting(*match.span(match.lastgroup), rule, match[match.lastgroup])


def known_ids(text: str, start: int, end: int) -> Iterator[Sighting]:
    """Ids that say themselves what they are."""
    anchor = text[start:end].lower()
    if anchor == "arn:aws":
        match, rule = _ARN.match(text, start), ACCOUNT
    elif anchor.startswith("org"):
        match, rule = (_ORG.match(text, start) if begins_word(text, start) else None), ORGANIZATION
        if match and not any(map(str.isdigit, match[0])):
            return
    else:
        match, rule = (_USER_HASH if anchor == "user_" else _ACCOUNT_OF_USER).match(text, start), ACCOUNT
    if match:
        group = match.lastgroup or 0
        if match[group] not in _NO_ACCOUNT:
            yield Sighting(*match.span(group), rule, match[group])
