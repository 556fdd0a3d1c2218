"""Pictures of a conversation as files beside it."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import os
from typing import Final

from claude_session_player.errors import CannotWrite
from claude_session_player.events import text_of
from claude_session_player.image_types import image_type
from claude_session_player.parts import Picture

_PDF: Final = b"%PDF-"
_PDF_SUFFIX: Final = ".pdf"
_UNKNOWN_SUFFIX: Final = ".bin"


class Assets:
    """A directory for pictures. The name of a picture is made of its content, so that it is written once."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def save(self, picture: Picture) -> str | None:
        """Write a picture, and give its path; `None` where it has no data. Raises `CannotWrite`."""
        try:
            data = base64.b64decode(text_of(picture.data), validate=True)
        except (binascii.Error, ValueError):
            return None
        if not data:
            return None
        name = hashlib.sha256(data).hexdigest()[:16] + _suffix(data)
        path = os.path.join(self._folder, name)
        try:
            os.makedirs(self._folder, exist_ok=True)
            with contextlib.suppress(FileExistsError), open(path, "xb") as file:
                file.write(data)
        except OSError as error:
            raise CannotWrite(f"{path}: {error.strerror or error}") from error
        return path.replace(os.sep, "/")


def is_image(path: str) -> bool:
    """True for a file that a page can show as a picture."""
    return not path.endswith((_PDF_SUFFIX, _UNKNOWN_SUFFIX))


def _suffix(data: bytes) -> str:
    """How the name of a file ends, by what is in it: what a session calls it may make a program run it."""
    if type := image_type(data):
        return type.suffix
    return _PDF_SUFFIX if data.startswith(_PDF) else _UNKNOWN_SUFFIX
