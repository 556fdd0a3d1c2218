"""Imports the public names of a package when they are first used, so that importing the package costs nothing."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_attributes(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package; `homes` maps its public names to its modules.

    >>> get, names = lazy_attributes("email", {"Message": "message"})
    >>> get("Message").__module__, names()
    ('email.message', ['Message'])
    >>> get("Telegram")
    Traceback (most recent call last):
    ...
    AttributeError: module 'email' has no attribute 'Telegram'
    """

    def get_attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return get_attribute, lambda: sorted(homes)
