"""Pasted text of the upload form, converted to a file."""

from __future__ import annotations

import io
import json

LINES, TABLE = "lines", "table"


def build_file(text: str, text_format: str) -> io.BytesIO:
    """Return pasted text as a file.

    ``text_format`` is LINES (one text per line, each an item) or TABLE (used as it is).
    """
    if text_format == LINES:
        lines = (line.strip() for line in text.splitlines())
        records = (json.dumps({"text": line}) for line in dict.fromkeys(lines) if line)
        text = "".join(f"{record}\n" for record in records)
    return io.BytesIO(text.encode())
