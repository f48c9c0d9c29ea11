"""Notes on how the labels of a question were interpreted; the lead has to decide on some.

A note is stored as kind and values, and its text is formatted when it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ratings.imports.problems import quote_argument

MISSING = "missing"
MAYBE_MISSING = "maybe_missing"
EQUAL = "equal"
DECIMAL_COMMAS = "decimal_commas"
THOUSANDS = "thousands"
DATES = "dates"
SIMILAR = "similar"
JOINED = "joined"
SEVERAL_LABELS = "several_labels"
BESIDE_NUMBERS = "beside_numbers"
NO_ORDER = "no_order"
SEEM_ORDERED = "seem_ordered"
OPEN_SCALE = "open_scale"

# Kinds that stop an import until the lead has decided.
UNDECIDED_KINDS = (MAYBE_MISSING, SIMILAR)

OPEN_SCALE_TEXT = _("Do the labels have an order?")
NOTE_TEXTS: dict[str, str | Promise] = {
    MISSING: _("Missing values: %(labels)s. Ratings left out: %(count)s."),
    MAYBE_MISSING: _("Missing values or labels: %(labels)s? Ratings: %(count)s."),
    EQUAL: _("Joined similar labels: %(labels)s."),
    DECIMAL_COMMAS: _("Commas read as decimal commas: %(labels)s."),
    THOUSANDS: _("Commas read as thousands separators: %(labels)s."),
    DATES: _("Labels that look like dates: %(labels)s."),
    SIMILAR: _("Perhaps the same labels: %(labels)s."),
    JOINED: _("Joined similar labels: %(labels)s."),
    SEVERAL_LABELS: _(
        "Each combination of labels becomes one category: %(labels)s. Ratings: %(count)s."
    ),
    BESIDE_NUMBERS: _("Labels that aren't numbers: %(labels)s. Ratings: %(count)s."),
    NO_ORDER: _("Labels in alphabetical order: %(labels)s."),
    SEEM_ORDERED: _("The labels seem ordered: %(labels)s."),
    OPEN_SCALE: OPEN_SCALE_TEXT,
}
# The next step on the command line; the wizard has fields for it.
COMMAND_HINTS = {
    MISSING: "--not-missing={code} keeps a label.",
    MAYBE_MISSING: (
        "Add --missing={code} to leave these ratings out, or --not-missing={code} to keep the "
        "label."
    ),
    DATES: (
        "Spreadsheet programs change labels such as 1-2 into dates. If so, correct them in the "
        "file, and format its cells as text."
    ),
    SIMILAR: "Add --similar=join to make them one label, or --similar=keep to keep them.",
    BESIDE_NUMBERS: "If they are no answers, correct them in the file, or use --missing.",
    SEEM_ORDERED: "Add --scale ordinal to take their order into account.",
    OPEN_SCALE: "Add --scale nominal, --scale ordinal or --scale interval{each}.",
    NO_ORDER: "Add --order with all labels, the lowest first, separated by commas.",
}


class StoredNote(TypedDict):
    """A note as it is stored in `ImportRun.summary`."""

    kind: str
    values: Mapping[str, Any]


class StoredQuestion(TypedDict):
    """A question of a file, as stored in `ImportRun.summary`.

    ``exists``: whether the project already has the question; ``labels`` maps each label to its
    number of ratings.
    """

    position: int
    exists: bool
    text: str
    labels: dict[str, int]
    notes: list[StoredNote]


@dataclass(frozen=True)
class LabelNote:
    """A note on labels: its kind, and the values that its text quotes."""

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> StoredNote:
        """Return the note as it is stored in `ImportRun.summary`."""
        return {"kind": self.kind, "values": self.values}


def format_note(note: StoredNote) -> str:
    """Return the text of a stored note in the user's language."""
    return str(NOTE_TEXTS[note["kind"]]) % note["values"]


def format_command_note(note: StoredNote) -> str:
    """Return the text of a stored note for a command, with its hint on what to do next, if any."""
    text = format_note(note)
    hint = COMMAND_HINTS.get(note["kind"])
    if hint is None:
        return text
    values = note["values"]
    code = quote_argument(",".join(values.get("codes", ())))
    return f"{text} {hint.format(code=code, each=values.get('each', ''))}"
