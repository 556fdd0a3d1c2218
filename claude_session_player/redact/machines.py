"""Hosts, their users and their addresses: in prompts, in commands and in what commands print."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final

from claude_session_player.redact.common_names import EXTENSIONS, GENERIC_HOSTS, is_generic_user, is_mask
from claude_session_player.redact.sightings import (
    GROUP,
    HOST,
    IP,
    MAC,
    USER,
    Sighting,
    begins_word,
    ends_word,
    word_start,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

LOGIN_ANCHORS: Final = ("@", "ssh ")
HOST_SUFFIX_ANCHORS: Final = (".local", ".lan", ".internal", ".corp", ".home.arpa")
HOST_SETTING_ANCHORS: Final = ("hostname", "computername", "userdomain", "logonserver")
SYSTEM_ANCHORS: Final = ("darwin ", "linux ", "mingw", "msys_nt", "cygwin_nt")
USER_SETTING_ANCHORS: Final = ("user=", "logname=", "username=", "uid=")
LISTING_ANCHORS: Final = ("r--", "r-x", "rw-", "rwx", "rws")
IP_ANCHORS: Final = ("10.", "172.", "192.168.", "169.254.", "100.")
IP6_ANCHORS: Final = ("::",)
MAC_ANCHORS: Final = ("ether ", "hwaddr ", "lladdr ", "physical address")

_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}+)"
_HOST: Final = rf"{_LABEL}(?:\.{_LABEL}){{0,6}}+(?![A-Za-z0-9_-])"
_HOST_NAME: Final = re.compile(_HOST)
_PACKAGE_SOURCES: Final = frozenset(("workspace", "file", "link", "patch", "npm", "portal", "git", "latest", "next"))
_LOGIN_CHARS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_PROMPT: Final = re.compile(
    r":(?:~|/)[^\n]{0,120}?[$#%>](?=\s|\\n|\Z)|:(?:~|/)(?=[\w./-]|\Z|\s)"
    r"| [^\s\n]{1,80} [%$#](?=\s|\\n|\Z)| [^\]\n]{1,80}\][$#%]"
)
_REMOTE_COMMAND: Final = re.compile(r"(?:^|[^\w-])(?:ssh|scp|sftp|rsync|mosh|ssh-copy-id)\s[^\n|;&]{0,120}\Z")
_REMOTE_WORDS: Final = ("ssh", "scp", "sftp", "rsync", "mosh")
_PUBLIC_KEY: Final = re.compile(r"[A-Za-z0-9+/=]{30} \Z")
_OPTIONS: Final = r"(?:[ \t]{1,4}(?:-[bcDEeFIiJLlmOopQRSWw][ \t]{0,3}[^\s;|&]{1,100}|-[A-Za-z0-9]{1,9}))"
_COMMAND_BEFORE: Final = re.compile(r"(?:\A|[\n;&|(`\"'$#>%]|\\n|\b(?:sudo|time|exec|then|do|nohup))[ \t]{0,20}\Z")
_TARGET: Final = re.compile(rf"ssh{_OPTIONS}{{0,6}}[ \t]{{1,4}}(?P<host>{_HOST})(?![@/=:.])")
_CONNECTED: Final = re.compile(rf"(?:^|[^\w-])(?:ssh|sftp|mosh|ssh-copy-id){_OPTIONS}{{0,6}}[ \t]{{1,4}}[\"']?\Z")
_COPIED: Final = re.compile(r"(?:^|[^\w-])(?:scp|rsync|sftp)\s[^\n|;&]{0,120}\Z")
_ABOUT_SSH: Final = re.compile(
    r"(?:^|[-.])(?:keys?|based|config|agent|tunnels?|client|access|host|into|only|\w{1,6}ing)(?:$|[-.])", re.IGNORECASE
)
"""Words that follow `ssh` and are no host."""
_PLACE_AFTER: Final = re.compile(r":[\w~/.]")
_SHELL_AFTER: Final = re.compile(r":[~/][^\n]{0,120}?[$#](?=\s|\\n|\Z)")

_NAME_GOES_ON: Final = re.compile(r"[(_A-Za-z0-9-]|\.\w")
_CONTEXT: Final = re.compile(
    r"(?:://|@|(?:\b(?:ssh|scp|ping|dig|nslookup|host|hostname|server|computer|machine|curl)\W{1,4}))\Z", re.IGNORECASE
)
_PERSONAL: Final = re.compile(
    r"macbook|imac|mac-?mini|mac-?studio|mbp|laptop|desktop|thinkpad|-pc\b|s-mac\b", re.IGNORECASE
)
_ADDRESS_HOST: Final = re.compile(r"ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}\b")
_DOCKER: Final = re.compile(
    r".*(?:docker|containers|google|cluster|svc|kubernetes|k8s)\.(?:internal|local)", re.IGNORECASE
)

_SETTING: Final = re.compile(
    rf"(?:HOSTNAME|COMPUTERNAME|USERDOMAIN|LOGONSERVER)\s?[=]\s?[\"'\\]{{0,6}}(?P<host>{_HOST})"
    rf"|HostName[ \t]{{1,8}}(?P<ssh>{_HOST})"
    rf"|(?i:hostname)\\{{0,8}}[\"']\s{{0,2}}:\s{{0,2}}\\{{0,8}}[\"'](?P<json>{_HOST})\\{{0,8}}[\"']"
)
_STATIC: Final = re.compile(rf"hostname: (?P<host>{_HOST})")
_UNAME: Final = re.compile(
    rf"(?:Darwin (?P<mac>{_HOST}) \d+\.\d+\.\d+ Darwin|Linux (?P<linux>{_HOST}) \d+\.\d+\S{{0,60}} #?\d"
    rf"|(?:MINGW|MSYS_NT|CYGWIN_NT)\S{{0,40}} (?P<windows>{_HOST}) \d+\.\d+)"
)
_USER_NAME: Final = r"[A-Za-z_][A-Za-z0-9_.-]{1,31}+"
_USER_SETTING: Final = re.compile(rf"[\"'\\]{{0,4}}(?P<user>{_USER_NAME})(?=\s|\\n|[\"';]|\Z)")
_USER_KEY: Final = re.compile(r"(?:^|[\s\"';(]|\\n)(?:export |SUDO_)?(?:USER|LOGNAME|USERNAME)=\Z")
_UID: Final = re.compile(rf"uid=\d{{1,10}}\((?P<user>{_USER_NAME})\)(?: gid=\d{{1,10}}\((?P<group>{_USER_NAME})\))?")
_LISTED: Final = re.compile(
    r"[-dlbcps.](?:[r-][w-][xsStT-]){3}[.+@]?[ \t]{1,4}"
    r"(?:\d{1,8}[ \t]{1,8}(?P<owner>[^\s\d/-][^\s/]{0,31}+)[ \t]{1,20}(?P<group>[^\s/]{1,40}+)[ \t]{1,20}[\d,]"
    r"|(?P<tar>[^\s\d/-][^\s/]{0,31}+)/(?P<tar_group>[^\s/]{1,40}+)[ \t]{1,20}\d)"
)

_OCTETS: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_NOT_IP_BEFORE: Final = re.compile(
    r"(?:[\w.^~+]|==|>=|<=|[\w]-|\b(?:version|ver|release|build|tag|rev)\\{0,4}[\"']?\s{0,2}[:=]?\s{0,2}\\{0,4}[\"']?v?|[\w~]/)\Z",
    re.IGNORECASE,
)
_NETWORKS: Final = tuple(
    ipaddress.ip_network(network)
    for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10")
)
_KNOWN_IPS: Final = frozenset(
    ("169.254.169.254", "10.255.255.255", "172.31.255.255", "192.168.255.255", "169.254.255.255", "169.254.170.2")
)
_IP6_AFTER: Final = re.compile(r"[0-9A-Fa-f:]{2,39}")
_IP6_BEFORE: Final = re.compile(r"(?<![\w:.])f[cde][0-9a-fA-F]{2}(?::[0-9A-Fa-f]{1,4}){0,6}\Z", re.IGNORECASE)
_MAC_AFTER: Final = re.compile(r"[ .:\t]{0,30}(?P<mac>(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2})(?![\w:-])")
_ARP: Final = re.compile(r"\) at (?P<mac>(?:[0-9A-Fa-f]{1,2}:){5}[0-9A-Fa-f]{1,2})(?![\w:-])")


def is_private_host(name: str) -> bool:
    """True for names that single out a machine of a person: no public ones, no placeholders, no addresses.

    >>> is_private_host("alices-macbook"), is_private_host("localhost"), is_private_host("github.com")
    (True, False, False)
    """
    folded = name.lower()
    return (
        2 <= len(name) <= 253
        and folded not in GENERIC_HOSTS
        and folded.rstrip("0123456789") not in GENERIC_HOSTS
        and (not folded.endswith(".amazonaws.com") or folded.startswith("ec2-"))
        and not folded.endswith((".example.com", ".example.org", ".example.net", "example.com"))
        and any(char.isalpha() for char in name)
        and not is_mask(name)
        and not _DOCKER.fullmatch(name)
    )


def logins(text: str, start: int, end: int) -> Iterator[Sighting]:
    """User and host in the prompt of a shell, in `ssh user@host`, and after a public key; the host in `ssh host`."""
    if text[start] in "sS":
        yield from _ssh_target(text, start)
        return
    host = _HOST_NAME.match(text, end)
    if not host or len(host[0]) < 2 or (first := _login_start(text, start)) is None:
        return
    user = text[first:start]
    if not (_PROMPT.match(text, host.end()) or _is_login(text, first)):
        return
    if is_private_host(host[0]):
        yield Sighting(*host.span(), HOST, host[0])
    if not is_generic_user(user) and host[0].lower() not in _PACKAGE_SOURCES:
        yield Sighting(first, start, USER, user)


def _ssh_target(text: str, start: int) -> Iterator[Sighting]:
    """The host of `ssh host command`: where a command begins, and as far as its name is no word."""
    match = _TARGET.match(text, start) if _COMMAND_BEFORE.search(text[max(0, start - 30) : start]) else None
    if not match or not any(char.isdigit() or char in "-." for char in match["host"]):
        return
    name = match["host"]
    is_file = name.rpartition(".")[2].lower() in EXTENSIONS - {"local", "internal", "lan", "corp"}
    if is_private_host(name) and not ("." in name and is_file) and not _ABOUT_SSH.search(name):
        yield Sighting(*match.span("host"), HOST, name)


def is_login(text: str, start: int, end: int) -> bool:
    """True if what looks like an e-mail address between two places is a user at a machine: a target, or a prompt.

    >>> [is_login(text, 4, 19) for text in ("ssh bob@tea.corp.de", "via bob@tea.corp.de:~$ ls", "to: bob@tea.corp.de")]
    [True, True, False]
    """
    line = text[max(0, start - 140) : start].rpartition("\n")[2]
    if _CONNECTED.search(line) or _SHELL_AFTER.match(text, end):
        return True
    return _PLACE_AFTER.match(text, end) is not None and _COPIED.search(line) is not None


def _login_start(text: str, at: int) -> int | None:
    """Where the name before a sign begins."""
    first = at
    floor = max(0, at - 32)
    while first > floor and text[first - 1] in _LOGIN_CHARS:
        first -= 1
    if first == at:
        return None
    first = word_start(text, first, at)
    if first == at or not (text[first].isalpha() or text[first] == "_") or text[first - 1 : first] == "@":
        return None
    return first


def _is_login(text: str, start: int) -> bool:
    before = text[max(0, start - 140) : start]
    line = before[before.rfind("\n") + 1 :]
    if any(word in line for word in _REMOTE_WORDS) and _REMOTE_COMMAND.search(line):
        return True
    return line[-1:] == " " and _PUBLIC_KEY.search(line[-31:]) is not None


def local_hosts(text: str, start: int, end: int) -> Iterator[Sighting]:
    """Names such as `alices-macbook.local`; not `config.local`, nor methods and packages of that name."""
    if _NAME_GOES_ON.match(text, end):
        return
    first = start
    floor = max(0, start - 200)
    while first > floor and (text[first - 1] in ".-" or (text[first - 1].isascii() and text[first - 1].isalnum())):
        first -= 1
    first = word_start(text, first, start) if first < start else first
    name = text[first:end]
    if not _HOST_NAME.fullmatch(name) or not is_private_host(name) or not is_private_host(name.partition(".")[0]):
        return
    before = text[max(0, first - 16) : first]
    is_certain = (
        text[start:end].lower() in (".lan", ".home.arpa")
        or bool(_PERSONAL.search(name))
        or bool(_ADDRESS_HOST.match(name))
        or bool(_CONTEXT.search(before))
    )
    if (is_certain and not before.endswith(("_", "/", "\\"))) or before.endswith("://"):
        yield Sighting(first, end, HOST, name)


def host_settings(text: str, start: int, end: int) -> Iterator[Sighting]:
    """Names of hosts in the environment, in settings of ssh, and in what hostnamectl prints."""
    match = _SETTING.match(text, start)
    if not match and text[max(0, start - 7) : start].lower().endswith(("static ", "dynamic ", "transient ")):
        match = _STATIC.match(text, start)
    if match and match.lastgroup:
        yield from _host(match, match.lastgroup)


def _host(match: re.Match[str], group: str) -> Iterator[Sighting]:
    if is_private_host(match[group]):
        yield Sighting(*match.span(group), HOST, match[group])


def system_lines(text: str, start: int, end: int) -> Iterator[Sighting]:
    """The name of the host in what `uname -a` prints."""
    if (match := _UNAME.match(text, start)) and match.lastgroup:
        yield from _host(match, match.lastgroup)


def user_settings(text: str, start: int, end: int) -> Iterator[Sighting]:
    """The user in `USER=alice`, and in what `id` prints."""
    if text[start:end] == "uid=":
        if match := _UID.match(text, start):
            yield from _owners(match, "user", "group")
    elif _USER_KEY.search(text[max(0, start - 20) : end]) and (match := _USER_SETTING.match(text, end)):
        yield from _owners(match, "user", None)


def listings(text: str, start: int, end: int) -> Iterator[Sighting]:
    """Owner and group in what `ls -l` and `tar -tv` print."""
    if start == 0 or not begins_word(text, start - 1) or text[start - 2 : start - 1] == "-":
        return
    if match := _LISTED.match(text, start - 1):
        yield from _owners(match, *(("owner", "group") if match["owner"] else ("tar", "tar_group")))


def _owners(match: re.Match[str], owner: str, group: str | None) -> Iterator[Sighting]:
    if not is_generic_user(match[owner]):
        yield Sighting(*match.span(owner), USER, match[owner])
    if group and match[group] and not is_generic_user(match[group]):
        if match[group] == match[owner]:
            yield Sighting(*match.span(group), USER, match[group])
        else:
            yield Sighting(*match.span(group), GROUP, match[group], is_learned=False)


def addresses(text: str, start: int, end: int) -> Iterator[Sighting]:
    """A private IPv4 address that is neither a version nor a whole network; and the MAC that arp prints with it."""
    match = _OCTETS.match(text, start)
    if not match or _NOT_IP_BEFORE.search(text[max(0, start - 24) : start]):
        return
    if text[match.end() : match.end() + 1].isalnum() or re.compile(r"[.-]\w|_").match(text, match.end()):
        return
    if arp := _ARP.match(text, match.end()):
        yield from _mac(arp)
    if _is_private(match[0]):
        yield Sighting(*match.span(), IP, match[0], is_learned=False)


def _is_private(address: str) -> bool:
    try:
        ip = ipaddress.IPv4Address(address)
    except ValueError:
        return False
    is_network = any(ip == network.network_address for network in _NETWORKS)
    return not is_network and address not in _KNOWN_IPS and any(ip in network for network in _NETWORKS)


def addresses6(text: str, start: int, end: int) -> Iterator[Sighting]:
    """A private IPv6 address."""
    before = _IP6_BEFORE.search(text[max(0, start - 35) : start])
    after = _IP6_AFTER.match(text, start)
    if not before or not after or not ends_word(text, after.end()):
        return
    first, address = start - len(before[0]), before[0] + after[0].rstrip(":")
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return
    yield Sighting(first, first + len(address), IP, address.lower(), is_learned=False)


def mac_addresses(text: str, start: int, end: int) -> Iterator[Sighting]:
    """The address of a network card after a word that says so."""
    if match := _MAC_AFTER.match(text, end):
        yield from _mac(match)


def _mac(match: re.Match[str]) -> Iterator[Sighting]:
    digits = set(match["mac"].lower()) - set(":-")
    if len(digits) > 1:
        yield Sighting(*match.span("mac"), MAC, match["mac"].lower())
