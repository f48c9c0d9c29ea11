"""Interpret the label texts of a question: join spellings, find missing values, add notes.

Everything that reads labels from a file uses this: imports of any format, the wizard and `manage.py
agreement`. A cell may hold several labels at once (joy|love, ["joy", "love"], joy; love), and users
enter lists of labels (No,"Yes, often").
"""

from __future__ import annotations

import ast
import csv
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ratings.label_normalization import (
    TRUTH_VALUES,
    get_normal_form,
    get_similar_forms,
    has_decimal_commas,
    has_thousands_separators,
    normalize_text,
    parse_decimal,
    select_spelling,
)

from . import label_notes
from .label_notes import LabelNote
from .label_order import ALPHABET, guess_order, is_date_label
from .missing_codes import CodeStatus, classify_missing_codes

SEPARATORS = ("|", ";", "\n", ",", "/", "+", "&")  # in the order in which they are tried
# A comma and a semicolon also stand inside of sentences, so every part must be a label elsewhere,
# or the same parts stand in another order.
CERTAIN_SEPARATORS = ("|",)
# These also join the words of one label, so that the same parts must stand in another order.
WEAK_SEPARATORS = ("/", "+", "&")
MAX_LABEL_LENGTH = 500  # characters; a longer text is no list of labels


def split_labels(labels: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return label -> its parts, sorted and each once, for the labels that are lists of labels.

    ``labels`` are all labels of one question, because a separator may also be part of a label. A
    list of one label has one part, an empty list none.
    """
    parts: dict[str, tuple[str, ...]] = {}
    for label in labels:
        elements = _parse_list(label) if label[:1] in ("[", "{", "(") else None
        if elements is not None:
            parts[label] = elements
    unparsed = [label for label in labels if label not in parts]
    for separator in SEPARATORS:
        lists = _split_by(separator, unparsed, [*parts.values()])
        if lists:
            return parts | lists
    return parts


def join_labels(parts: Collection[str]) -> str:
    """Return one text for several labels, in the given order, with a vertical bar between them."""
    return "|".join(parts)


def _parse_list(text: str) -> tuple[str, ...] | None:
    """Return the elements of a JSON or Python list of texts or numbers, or None."""
    if len(text) > MAX_LABEL_LENGTH:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
    if not isinstance(value, list | tuple | set):
        return None
    if any(isinstance(element, dict | list | tuple | set) for element in value):
        return None
    return _sort_parts([str(element) for element in value])


def _split_by(
    separator: str, labels: Collection[str], lists: Collection[tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return label -> parts for the labels with this separator; {} if it does not separate labels.

    ``lists`` are the parts of labels that were already split.
    """
    combined = {
        label: _sort_parts(label.split(separator))
        for label in labels
        if separator in label and len(label) <= MAX_LABEL_LENGTH
    }
    combined = {label: parts for label, parts in combined.items() if len(parts) > 1}
    if not combined:
        return {}
    single = {label.strip() for label in labels if label not in combined}
    single.update(part for parts in lists for part in parts)
    uses = Counter(part for parts in set(combined.values()) for part in parts)
    recurring = {part for part in uses if part in single or uses[part] > 1}
    # The same parts in another order are no sentence.
    orders = {tuple(map(str.strip, label.split(separator))) for label in combined}
    if separator in CERTAIN_SEPARATORS or len(orders) > len(set(combined.values())):
        return combined if recurring else {}
    is_list = recurring == set(uses) and separator not in WEAK_SEPARATORS
    return combined if is_list else {}


def _sort_parts(parts: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted({part.strip() for part in parts} - {""}))


JOIN, KEEP = "join", "keep"  # what to do with similar labels; an empty text is undecided
MAX_QUOTED_LABELS = 8


@dataclass(frozen=True)
class LabelOptions:
    """A user's choices for interpreting the labels of a file.

    ``missing`` are further codes for missing values, ``not_missing`` labels that are no such codes.
    ``similar`` is JOIN, KEEP or empty (undecided). ``is_exact``: every text except those in
    ``missing`` is a label without changes, as in an export of Concord. ``suspected`` are labels
    that stand where a table has missing values.
    """

    missing: Sequence[str] = ()
    not_missing: Sequence[str] = ()
    similar: str = ""
    is_exact: bool = False
    suspected: Sequence[str] = ()


@dataclass
class LabelInterpretation:
    """The label of each text in the file (None for a missing value), with notes for the lead."""

    labels: dict[str, str | None] = field(default_factory=dict)
    notes: list[LabelNote] = field(default_factory=list)

    @property
    def undecided(self) -> list[LabelNote]:
        """Return the notes that need a decision of the lead."""
        return [note for note in self.notes if note.kind in label_notes.UNDECIDED_KINDS]


def interpret_labels(
    counts: Mapping[str, int], options: LabelOptions, *, existing: Sequence[str] = ()
) -> LabelInterpretation:
    """Interpret the texts of one question's label column, with their numbers of ratings.

    ``existing`` are the question's labels: none is read as a code for a missing value unless
    ``options.missing`` names it, and other spellings in the file are read as these labels. They are
    not used with ``options.is_exact``.
    """
    if options.is_exact:
        missing = set(options.missing)
        return LabelInterpretation({text: None if text in missing else text for text in counts})
    return _LabelInterpreter(counts, options, existing).interpret()


class _LabelInterpreter:
    """Interprets the label texts of one question."""

    def __init__(
        self, counts: Mapping[str, int], options: LabelOptions, existing: Sequence[str]
    ) -> None:
        self.counts = counts
        self.options = options
        self.existing = existing
        self.existing_labels = {get_normal_form(label): label for label in existing}
        self.interpretation = LabelInterpretation()
        self.texts: dict[str, str] = {}  # text of the file -> text in Unicode's composed form
        self.parts: dict[str, tuple[str, ...]] = {}  # text -> the several labels that it holds

    def interpret(self) -> LabelInterpretation:
        self._split_lists()
        self._mark_missing_codes()
        forms = self._get_normal_forms()
        self._note_labels_beside_numbers(forms)
        if dates := sorted(
            filter(is_date_label, set(forms.values()) - self.existing_labels.keys())
        ):
            self._add_note(label_notes.DATES, dates)
        names = self._select_spellings(forms)
        label_counts: Counter[str] = Counter()
        for raw, form in forms.items():
            label_counts[names[form]] += self.counts[raw]
        joined = self._join_similar_labels(label_counts)
        for raw, form in forms.items():
            self.interpretation.labels[raw] = joined.get(names[form], names[form])
        return self.interpretation

    def _remove_thousands_separators(self) -> None:
        commas = {text for text in self.texts.values() if "," in text}
        if commas.isdisjoint(self.existing) and has_thousands_separators(set(self.texts.values())):
            self._add_note(label_notes.THOUSANDS, sorted(commas))
            self.texts = {raw: text.replace(",", "") for raw, text in self.texts.items()}

    def _split_lists(self) -> None:
        """Set ``texts``, normalized, and ``parts`` of the texts that hold several labels.

        A list of one label is replaced by this label; labels that the question has already are not
        split.
        """
        self.texts = {raw: normalize_text(raw) for raw in self.counts}
        self._remove_thousands_separators()
        candidates = [
            text
            for text in dict.fromkeys(self.texts.values())
            if get_normal_form(text) not in self.existing_labels
        ]
        lists = split_labels(candidates)
        self.parts = {text: parts for text, parts in lists.items() if len(parts) > 1}
        single = {text: "".join(parts) for text, parts in lists.items() if len(parts) < 2}
        self.texts = {raw: single.get(text, text) for raw, text in self.texts.items()}

    def _mark_missing_codes(self) -> None:
        """Read codes for missing values as None; note them, and the labels that may be codes."""
        missing = [code.strip() for code in self.options.missing]
        labels = [label for label in self.existing if label not in missing]
        counts: Counter[str] = Counter()
        for raw, text in self.texts.items():
            if text not in self.parts:
                counts[text] += self.counts[raw]
        statuses = classify_missing_codes(
            counts,
            missing=missing,
            not_missing=[*self.options.not_missing, *labels],
            suspected=self.options.suspected,
        )
        for status, kind in (
            (CodeStatus.MISSING, label_notes.MISSING),
            (CodeStatus.SUSPECTED, label_notes.MAYBE_MISSING),
        ):
            raws = [raw for raw, text in self.texts.items() if statuses.get(text) is status]
            if status is CodeStatus.MISSING:
                self.interpretation.labels.update(dict.fromkeys(raws))
            if codes := sorted({self.texts[raw] for raw in raws} - {""}):
                self._add_note(kind, codes, raws=raws, codes=codes)

    def _get_normal_forms(self) -> dict[str, str]:
        """Return text of the file -> normal form of its label, except for missing values."""
        texts = {
            raw: text for raw, text in self.texts.items() if raw not in self.interpretation.labels
        }
        has_commas = has_decimal_commas(set(texts.values()))
        if has_commas:
            self.parts = {}
            commas = sorted({text for text in texts.values() if "," in text})
            self._add_note(label_notes.DECIMAL_COMMAS, commas)
        forms: dict[str, str] = {}
        several = [raw for raw, text in texts.items() if text in self.parts]
        for raw, text in texts.items():
            forms[raw] = get_normal_form(text, decimal_comma=has_commas)
        for raw in several:
            parts = {get_normal_form(part) for part in self.parts[texts[raw]]}
            forms[raw] = join_labels(sorted(parts))
        if several:
            self._add_note(
                label_notes.SEVERAL_LABELS, sorted({texts[raw] for raw in several}), raws=several
            )
        return forms

    def _note_labels_beside_numbers(self, forms: Mapping[str, str]) -> None:
        """Note labels such as '2*' and '3 (unsure)' where most labels are numbers."""
        non_numeric = {raw: form for raw, form in forms.items() if parse_decimal(form) is None}
        new = {form for form in non_numeric.values() if form not in self.existing_labels}
        if not new - set(TRUTH_VALUES) or 2 * len(new) > len(set(forms.values())):
            return
        if guess_order(set(forms.values())).basis == ALPHABET:
            self._add_note(label_notes.BESIDE_NUMBERS, sorted(new), raws=non_numeric)

    def _select_spellings(self, forms: Mapping[str, str]) -> dict[str, str]:
        """Return normal form -> label to use, and note the spellings that are joined."""
        spellings: dict[str, set[str]] = {}
        for raw, form in forms.items():
            if self.texts[raw] in self.parts:
                spellings.setdefault(form, set())
            else:
                spellings.setdefault(form, set()).add(self.texts[raw])
        names = {
            form: self.existing_labels.get(form) or select_spelling(group, form)
            for form, group in spellings.items()
        }
        groups = [
            " = ".join([names[form], *sorted(group - {names[form]})])
            for form, group in spellings.items()
            if len(group) > 1 or (form in self.existing_labels and names[form] not in group)
        ]
        if groups:
            self._add_note(label_notes.EQUAL, groups)
        return names

    def _join_similar_labels(self, counts: Mapping[str, int]) -> dict[str, str]:
        """Return label -> similar label to use instead, if these are joined; note similar labels.

        ``counts`` has the number of ratings of each label.
        """
        similar: dict[str, list[str]] = {}
        for label, form in get_similar_forms(dict.fromkeys([*self.existing, *counts])).items():
            similar.setdefault(form, []).append(label)
        groups = [
            sorted(group, key=lambda label: _build_spelling_sort_key(label, counts))
            for group in similar.values()
            if len(group) > 1 and any(label not in self.existing for label in group)
        ]
        if not groups or self.options.similar == KEEP:
            return {}
        kind = label_notes.JOINED if self.options.similar == JOIN else label_notes.SIMILAR
        self._add_note(kind, [" / ".join(group) for group in groups], groups=groups)
        if self.options.similar != JOIN:
            return {}
        joined: dict[str, str] = {}
        for group in groups:
            existing = [label for label in group if label in self.existing]
            target = (existing or group)[0]
            joined |= {label: target for label in group if label not in (target, *existing)}
        return joined

    def _add_note(
        self, kind: str, labels: Sequence[str], *, raws: Iterable[str] = (), **values: Any
    ) -> None:
        """Add a note that quotes labels and states the number of ratings of the texts ``raws``."""
        count = sum(self.counts[raw] for raw in raws)
        self.interpretation.notes.append(
            LabelNote(kind, {"labels": quote_labels(labels), "count": count, **values})
        )


def _build_spelling_sort_key(label: str, counts: Mapping[str, int]) -> tuple[int, bool, int, str]:
    """Return a key by which frequent spellings come first; at equal counts, yes before y or YES."""
    n_letters = sum(map(str.isalnum, label))
    return (-counts[label], label.isupper(), len(label) - 2 * n_letters, label)


def quote_labels(labels: Collection[str]) -> str:
    """Return the first labels, quoted for a message, and the total number if there are more."""
    quoted = [f"'{label}'" for label in list(labels)[:MAX_QUOTED_LABELS]]
    if len(labels) > MAX_QUOTED_LABELS:
        quoted.append(f"… ({len(labels)})")
    return ", ".join(quoted)


def parse_label_list(text: str) -> list[str]:
    """Return the labels of a comma-separated list; double quotes protect commas.

    Raises ValueError if a quote is not closed, or if text other than a comma follows its end.
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
    """Return the labels as a text from which `parse_label_list` gets the same labels."""
    quoted = []
    for label in labels:
        needs_quotes = "," in label or '"' in label
        quoted.append('"' + label.replace('"', '""') + '"' if needs_quotes else label)
    return ", ".join(quoted)
