"""What is pasted into the first step of the wizard, as the file that it would be."""

from __future__ import annotations

import io
import json

LINES, TABLE = "lines", "table"


def as_file(text: str, shape: str) -> io.BytesIO:
    """``shape``: LINES (one text a line, each an item) or TABLE, which is taken as it is."""
    if shape == LINES:
        lines = (line.strip() for line in text.splitlines())
        records = (json.dumps({"text": line}) for line in dict.fromkeys(lines) if line)
        text = "".join(f"{record}\n" for record in records)
    return io.BytesIO(text.encode())
