"""Lists of labels that a user enters, separated by commas: No,"Yes, often"."""

from __future__ import annotations

import csv
from collections.abc import Iterable


def parse_label_list(text: str) -> list[str]:
    """Return the labels of a comma-separated list; double quotes protect commas.

    Raises ValueError if a quote is not closed.
    """
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        raise ValueError(
            f"{text!r} has a quotation mark that is not closed. Separate labels by commas, and put "
            'a label with a comma in double quotes: "No, never",Sometimes.'
        ) from None
    return [label.strip() for row in rows for label in row if label.strip()]


def format_label_list(labels: Iterable[str]) -> str:
    """Return a list that `parse_label_list` reads."""
    quoted = []
    for label in labels:
        needs_quotes = "," in label or '"' in label
        quoted.append('"' + label.replace('"', '""') + '"' if needs_quotes else label)
    return ", ".join(quoted)
