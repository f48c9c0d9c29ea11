"""What an upload says of itself."""

from __future__ import annotations

from pathlib import PurePath


def shown_name(name: str) -> str:
    """The upload's name as text to show: no folders, no control or direction characters. Never used
    as a path."""
    base = PurePath(name.replace("\\", "/")).name
    return "".join(character for character in base if character.isprintable())[:200] or "file.csv"
