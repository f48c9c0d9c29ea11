"""Pasted text of the upload form, converted to a file."""

from __future__ import annotations

import io
import json

LINES, TABLE = "lines", "table"


def build_file(text: str, shape: str) -> io.BytesIO:
    """Return pasted text as a file.

    ``shape`` is LINES (one text per line, each an item) or TABLE (used as it is).
    """
    if shape == LINES:
        lines = (line.strip() for line in text.splitlines())
        records = (json.dumps({"text": line}) for line in dict.fromkeys(lines) if line)
        text = "".join(f"{record}\n" for record in records)
    return io.BytesIO(text.encode())
