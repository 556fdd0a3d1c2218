"""Fails if a page of the built site would load anything from the network: `check_site.py site`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

_LOADS: Final = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "image": "href",
    "img": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "use": "href",
    "video": "src",
}
_REMOTE: Final = re.compile(r"(?:https?:)?//")
_CSS_LOAD: Final = re.compile(r"(?:@import\s*|url\()\s*[\"']?((?:https?:)?//[^\"')\s]+)")
_NOT_LOADED: Final = {"canonical", "next", "prev"}


class _Loads(HTMLParser):
    """Collects the addresses that a browser would fetch to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what a tag loads."""
        values = dict(attrs)
        address = values.get(_LOADS.get(tag, "")) or ""
        if _REMOTE.match(address) and values.get("rel") not in _NOT_LOADED:
            self.addresses.append(address)


def remote_loads(site: Path) -> Iterator[tuple[Path, str]]:
    """Every page, picture and style sheet that loads something from the network, with the address."""
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".svg", ".css"):
            text = path.read_text(encoding="utf-8")
            loads = _Loads()
            if path.suffix != ".css":
                loads.feed(text)
            for address in (*loads.addresses, *_CSS_LOAD.findall(text)):
                yield path, address


if __name__ == "__main__":
    found = list(remote_loads(Path(sys.argv[1])))
    for path, address in found:
        print(f"{path} loads {address}", file=sys.stderr)
    sys.exit(bool(found))
