"""Names of uploaded files."""

from __future__ import annotations

from pathlib import PurePath


def clean_upload_name(name: str) -> str:
    """Return an upload's name for display: no folders, no control or direction characters.

    Never used as a path.
    """
    file_name = PurePath(name.replace("\\", "/")).name
    return (
        "".join(character for character in file_name if character.isprintable())[:200] or "file.csv"
    )
