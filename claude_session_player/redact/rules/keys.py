r"""Rules for private keys and signed tokens. Public keys and certificates are no secrets.

A private key is found with its whole body, as it stands in tool results: with line numbers, diff marks or file names in
front of its lines, with `\n` or `\\n` for line ends as in JSON, quoted line by line as in code, and cut off.
"""

from __future__ import annotations

import base64
import re
from typing import Final

from claude_session_player.redact.rule import Kind, Rule
from claude_session_player.redact.rules.parts import assigned, begins, is_mixed, starts

_CHAR: Final = r"(?:[A-Za-z0-9+/=%]|\\{1,3}/|\\{1,3}u00[0-9a-fA-F]{2})"
"""A character of base64, also escaped as in JSON or in a URL."""
_RUN: Final = _CHAR + "{16,}+"
_REST: Final = _CHAR + "{1,15}+"
"""The last line of a body, and the checksum of a PGP key."""
_GAP: Final = (
    r"(?:"
    r"\\{1,8}[nrt]|[\s\\\"'`,;|>:#*+→│┃.()\[\]…]|-(?!---)"
    r"|(?<=\n)[^\n]{1,80}?(?=[A-Za-z0-9+/]{40,76}={0,2}[ \t\r]{0,4}(?:\n|\Z))"  # a name of a file, a time
    r"|\d{1,6}(?=[\s:|→│-])"  # the number of a line
    r"){0,60}+"
)
"""What stands between two lines of a body."""
_NEWLINE: Final = r"(?=[\"']?(?:\s{0,8}\n|\\+[nr]))"
_LAST_LINE: Final = rf"(?:{_NEWLINE}{_GAP}(?:{_CHAR}{{1,39}}+\s*\Z|[A-Za-z0-9+/]{{2,78}}+={{1,2}}(?!=)))?"
"""The last line of a body without marks: a short one, at the end of the text, or filled up."""
_SPACE: Final = r"(?:[ +_]|%20)"
_MARK: Final = rf"{_SPACE}(?:[A-Z0-9]{{1,12}}{_SPACE}){{0,4}}PRIVATE{_SPACE}KEY(?:{_SPACE}BLOCK)?{_SPACE}?-{{4,5}}"
_HEADER: Final = "(?:Proc-Type|DEK-Info|Key-Info|Version|Comment|Hash|Charset|Subject|X-[A-Za-z-]{1,20}): ?"
_HEADERS: Final = (
    rf"(?:(?:{_GAP}{_HEADER}[^\n\\]{{0,200}}+){{1,8}}+"
    rf"|(?:[ \t\r]{{0,4}}\n[^\n]{{0,80}}?{_HEADER}[^\n]{{0,200}}+){{1,8}}+(?:\n[^\n]{{0,80}}+(?=\n))?)?"
)
_BODY: Final = rf"(?:{_GAP}{_RUN})++"
_LAST: Final = rf"-{{4,7}}{_SPACE}?END{_MARK}"
_END: Final = (
    rf"(?:(?:{_GAP}{_REST}){{0,4}}?{_GAP}{_LAST}"
    rf"|(?:[^\n]{{0,200}}+\n){{0,4}}?[^\n]{{0,80}}?{_LAST}"  # with names of files or times in front of short lines
    rf"|{_NEWLINE}{_GAP}{_REST}\s*\Z)?"
)

_DER: Final = (
    "MII[A-Za-z0-9]{2}[A-Za-z0-9]?IBADANBgkqhkiG9w0BAQEFAASC",  # RSA in PKCS #8
    "MII[A-Za-z0-9]{3,4}BAAKC",  # RSA in PKCS #1
    "MHcCAQEEI",  # P-256
    "MIGkAgEBBD",  # P-384
    "MIHcAgEBBEI",  # P-521
    "MI(?:GHAgEAMBMGByqGSM49AgEG|G2AgEAMBAGByqGSM49AgEG|HuAgEAMBAGByqGSM49AgEG)",  # curves in PKCS #8
    "MC4CAQAwBQYDK2V",  # Ed25519, X25519
    "b3BlbnNzaC1rZXktdjE",  # OpenSSH
)
"""How the base64 of private keys begins, which often stand without their marks: in variables, or cut off."""
_ENCODED: Final = tuple(
    base64.b64encode(f"-----BEGIN {kind}PRIVATE KEY-".encode()).decode()[: (len(f"-----BEGIN {kind}PRIV") // 3) * 4]
    for kind in ("", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "PGP ")
)
"""How a whole PEM begins that was encoded once more, as in a kubeconfig."""


def _has_body(value: str) -> bool:
    """True if a match holds more than marks and what stands for a body in an explanation."""
    body = "".join(re.findall(r"[A-Za-z0-9+/=]+", re.sub(r"-{4,7}[ +%\w]*(?:PRIVATE)[ +%\w]*-{4,5}", "", value)))
    return len(body) >= 24 and any(char.isdigit() for char in body) and len(set(body)) > 8


KEY_RULES: Final = (
    Rule(
        name="private-key",
        kind=Kind.PRIVATE_KEY,
        pattern=rf"-{{4,5}}{_SPACE}?BEGIN{_MARK}{_HEADERS}{_BODY}{_END}",
        keywords=("private key", "private+key", "private%20key", "private_key"),
        samples=(
            "-----BEGIN RSA PRIVATE KEY-----\n{lines6412}\n{a40}==\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN EC PRIVATE KEY-----\n{lines642}\n{a34}==\n-----END EC PRIVATE KEY-----",
            "-----BEGIN DSA PRIVATE KEY-----\n{lines644}\n{a8}\n-----END DSA PRIVATE KEY-----",
            "-----BEGIN OPENSSH PRIVATE KEY-----\n{lines645}\n{a10}=\n-----END OPENSSH PRIVATE KEY-----\n",
            "-----BEGIN PRIVATE KEY-----\n{lines6426}\n{a2}==\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\n{b64}\n-----END PRIVATE KEY-----",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\n{lines6420}\n-----END ENCRYPTED PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{H32}\n\n{lines646}\n{a4}\n"
            "-----END RSA PRIVATE KEY-----",
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\nComment: a test\n\n{lines6430}\n{a20}\n={a4}\n"
            "-----END PGP PRIVATE KEY BLOCK-----",
            '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: "a key"\n{lines646}\n{a7}=\n'
            "---- END SSH2 ENCRYPTED PRIVATE KEY ----",
            "-----BEGIN RSA PRIVATE KEY-----\n{lines643}",
            "-----BEGIN RSA PRIVATE KEY-----\n{lines643}\n{a7}",
        ),
        others=(
            "-----BEGIN PUBLIC KEY-----\n{lines646}\n-----END PUBLIC KEY-----",
            "-----BEGIN CERTIFICATE-----\n{lines6412}\n-----END CERTIFICATE-----",
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{lines643}\n={a4}\n-----END PGP PUBLIC KEY BLOCK-----",
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
            'if "-----BEGIN PRIVATE KEY-----" in text: return text.split("-----END PRIVATE KEY-----")',
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE...\n-----END RSA PRIVATE KEY-----",
        ),
        accepts=_has_body,
    ),
    Rule(
        name="private-key",
        kind=Kind.PRIVATE_KEY,
        pattern=rf"Private-Lines: ?\d{{1,4}}(?P<secret>{_BODY}(?:{_GAP}{_REST}(?={_GAP}(?:{_RUN}|Private-|\Z)))?"
        rf"(?:{_GAP}(?:Private-(?:MAC|Hash): ?)?{_RUN})?)",
        keywords=("private-lines:",),
        samples=(
            "Private-Lines: 14\n{lines6413}\n{a40}==\nPrivate-MAC: {h40}",
            "Private-Lines: 1\n{a48}\nPrivate-MAC: {h64}",
            "Private-Lines: 2\r\n{a64}\r\n{a8}\r\nPrivate-MAC: {h64}",
        ),
        others=("Public-Lines: 6\n{lines646}",),
    ),
    Rule(
        name="private-key",
        kind=Kind.PRIVATE_KEY,
        pattern=rf"{starts()}(?:{'|'.join(_DER)}){_CHAR}{{20,}}+(?:{_GAP}{_CHAR}{{40,}}+)*+"
        rf"{_LAST_LINE}",
        keywords=(
            "ibadanbgkqhkig9w0baqefaasc",
            "baakc",
            "mhccaqeei",
            "migkagebbd",
            "mihcagebbei",
            "byqgsm49ageg",
            "mc4caqawbqydk2v",
            "b3blbnnzac1rzxktdje",
        ),
        samples=(
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{b1600}",
            "MIIEpAIBAAKCAQEA{b48}\n{lines6424}",
            "MHcCAQEEI{b55}\n{b64}\n{a30}==",
            "MIGHAgEAMBMGByqGSM49AgEG{b160}",
            "MC4CAQAwBQYDK2VwBCIEI{b43}",
            "b3BlbnNzaC1rZXktdjEAAAAA{b300}",
        ),
        others=(
            "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA{b300}",
            "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE{b86}==",
            "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC{b300}",
        ),
        entropy=3.0,
    ),
    Rule(
        name="private-key",
        kind=Kind.PRIVATE_KEY,
        pattern=rf"(?:{'|'.join(map(re.escape, _ENCODED))}){_CHAR}{{40,}}+(?:{_GAP}{_CHAR}{{40,}}+)*+"
        rf"{_LAST_LINE}",
        keywords=tuple(encoded.lower() for encoded in _ENCODED),
        samples=tuple(f"{encoded}{{b400}}" for encoded in _ENCODED)
        + (f"{_ENCODED[1]}{{b40}}\n{{lines648}}\n{{a30}}==",),
        others=("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t{b300}", "LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0{b300}"),
        entropy=3.0,
    ),
    Rule(
        name="age-key",
        kind=Kind.PRIVATE_KEY,
        pattern=r"AGE-(?:SECRET-KEY(?:-PQ)?|PLUGIN-[A-Z0-9+._-]{1,40}?)-1[A-Z0-9]{40,}+",
        keywords=("age-secret-key-", "age-plugin-"),
        samples=("AGE-SECRET-KEY-1{u58}", "AGE-SECRET-KEY-PQ-1{u58}", "AGE-PLUGIN-YUBIKEY-1{u58}"),
        others=("age1{l58}", "AGE-SECRET-KEY-1..."),
    ),
    Rule(
        name="minisign-key",
        kind=Kind.PRIVATE_KEY,
        pattern=begins("RWRTY0Iy", "RWRCSw", "RWQAAEIy") + r"[A-Za-z0-9+/]{80,}+={0,2}",
        keywords=("rwrty0iy", "rwrcsw", "rwqaaeiy"),
        samples=("RWRTY0Iy{b204}", "RWRCSw{b130}=="),
        others=("RWQ{b53}",),
        entropy=3.5,
    ),
    Rule(
        name="wireguard-key",
        kind=Kind.PRIVATE_KEY,
        pattern=assigned("(?:private|preshared)_?key", r"(?:[A-Za-z0-9+/]|\\{1,3}/){43}=(?!=)"),
        keywords=("privatekey", "private_key", "presharedkey", "preshared_key"),
        samples=("[Interface]\nPrivateKey = {b43}=", "PresharedKey = {b43}=", '"private_key": "{b43}="'),
        others=("PublicKey = {b43}=",),
        entropy=3.5,
    ),
    Rule(
        name="jwk-private-key",
        kind=Kind.PRIVATE_KEY,
        pattern=r"\\{0,15}[\"'](?:d|p|q|dp|dq|qi|k)\\{0,15}[\"'] {0,4}:\s{0,4}\\{0,15}[\"']"
        r"(?P<secret>[A-Za-z0-9_-]{40,}+)(?=\\{0,15}[\"'])",
        keywords=tuple(
            f"{name}{sign}" for name in ("d", "p", "q", "i", "k") for sign in ('":', "':", '" ', "' ", "\\")
        ),
        samples=(
            '{"kty": "EC", "d": "{w43}"}',
            '"d":"{w342}"',
            '\\"qi\\": \\"{w171}\\"',
            '\\\\\\"d\\\\\\":\\\\\\"{w86}\\\\\\"',
        ),
        others=('"n": "{w342}"', '"d": "M10 10L20 20"', '"k": "{h40}"'),
        entropy=4.0,
        accepts=is_mixed,
    ),
    Rule(
        name="crypto-key",
        kind=Kind.PRIVATE_KEY,
        pattern=assigned("(?:private_?key|secret_?key|mnemonic_?key)", r"(?:0x)?[0-9a-fA-F]{64}(?![A-Za-z0-9])"),
        keywords=("key",),
        samples=("PRIVATE_KEY=0x{h64}", 'privateKey: "{h64}"', "DEPLOYER_PRIVATE_KEY=0x{H64}", "SECRET_KEY={h64}"),
        others=("public_key={h64}", "private_key_hash={h40}"),
        entropy=2.5,
    ),
    Rule(
        name="crypto-key",
        kind=Kind.PRIVATE_KEY,
        pattern=begins("xprv", "yprv", "zprv", "tprv")
        + r"[1-9A-HJ-NP-Za-km-z]{100,}+|"
        + begins("nsec1")
        + "[a-z0-9]{58}",
        keywords=("prv", "nsec1"),
        samples=("nsec1{l58}",),
        others=("npub1{l58}", "xpub{a107}"),
        entropy=3.0,
    ),
    Rule(
        name="jwt",
        kind=Kind.TOKEN,
        pattern=r"eyJ(?:(?:(?<![A-Za-z0-9_-]eyJ)|(?<=\\[nrtbf]eyJ)|(?<=%[0-9A-Fa-f]{2}eyJ))[A-Za-z0-9_-]{8,}+"
        r"|(?<=[A-Za-z0-9][_-]eyJ)[A-Za-z0-9_-]{8,300}+)"
        r"(?:\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]{4,}+)?|(?:\.[A-Za-z0-9_-]{16,}+|\.(?=\.)){2}\.[A-Za-z0-9_-]{4,}+\.[A-Za-z0-9_-]{16,}+)",
        keywords=("eyj",),
        samples=(
            "eyJhbGciOiJI{a24}.{json6440}.{w43}",
            "{json6420}.{json64120}.{w342}",
            "{json6430}.{json6480}",
            "{json6430}..{w16}.{w80}.{w22}",
        ),
        others=("{json6440}", "eyJ.eyJ.abc", "eyJhbGciOiJIUzI1NiJ9"),
    ),
)
