"""What is left to decide once a file is known to be right: the scales of its new questions."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from projects.models import Scale
from ratings.imports import services
from ratings.imports.mapping.import_mapping import AGAIN, STANDS, Mapping
from ratings.imports.mapping.label_order import guess_order
from ratings.imports.services import NewScale
from ratings.models import ImportRun

FIRST_QUESTION = "label"  # the key of the question of a project that is made of items alone


GUESSED_ORDER = gettext_lazy(
    "A guess: the answers look as if they had an order. If they have none, choose nominal; else"
    " near misses count as partly agreed."
)


class StartForm(forms.Form):
    """Fields ``text``, ``scale`` and ``categories`` for one new question; further ones with a
    number behind their names."""

    stands = forms.ChoiceField(
        label=gettext_lazy("Where a rater has rated an item more than once"),
        choices=[*STANDS.items(), AGAIN],
        widget=forms.RadioSelect,
    )

    def __init__(self, data: Any, *, run: ImportRun, mapping: Mapping) -> None:
        self.found: dict[str, Any] = run.summary.get("questions", {})
        self.keys = services.new_questions(run)
        self.texts = {key: services.text_of(run, mapping, key) for key in self.keys}
        self.items_alone = not self.keys and run.project is None
        super().__init__(data, initial={"stands": mapping.stands})
        for place, key in enumerate(self.keys):
            self._add_question(place, key)
        if self.items_alone:
            self._add_first_question()
        if not _meets_ratings(run):
            self.fields["stands"].choices = list(STANDS.items())  # type: ignore[attr-defined]
            if not run.summary.get("repeats"):
                del self.fields["stands"]

    def _add_question(self, place: int, key: str) -> None:
        order, scale = guess_order(self.found[key]["labels"])
        several = len(self.keys) > 1
        self.fields[_name("text", place)] = forms.CharField(
            label=_("Words of %(question)s") % {"question": key} if several else _("Question"),
            max_length=500,
            initial=self.texts[key],
        )
        self.fields[_name("scale", place)] = forms.ChoiceField(
            label=_("Scale of %(question)s") % {"question": key} if several else _("Scale"),
            choices=Scale.choices,
            initial=scale,
            help_text=GUESSED_ORDER if scale == Scale.ORDINAL else "",
        )
        self.fields[_name("categories", place)] = forms.CharField(
            label=_("Categories of %(question)s, one a line, in their order") % {"question": key}
            if several
            else _("Categories, one a line, in their order"),
            widget=forms.Textarea({"rows": 6, "class": "mono"}),
            initial="\n".join(order),
            help_text=_(
                "From lowest to highest where they have an order. Categories that the file lacks "
                "may be added."
            ),
        )

    def _add_first_question(self) -> None:
        """A project of items alone has nothing to ask yet; it may be asked here."""
        self.fields["question_text"] = forms.CharField(
            label=_("What is asked about each item"), max_length=500, required=False
        )
        self.fields["scale"] = forms.ChoiceField(
            label=_("Scale"), choices=Scale.choices, required=False, initial=Scale.NOMINAL
        )
        self.fields["categories"] = forms.CharField(
            label=_("Categories, one a line, in their order"),
            widget=forms.Textarea({"rows": 4, "class": "mono"}),
            required=False,
            help_text=_("May be left empty and made later, under Set-up."),
        )

    def blocks(self) -> list[tuple[str, list[Any]]]:
        """(key, fields) of each new question, for the page; of a first one no key."""
        if self.items_alone:
            return [("", [self[name] for name in ("question_text", "scale", "categories")])]
        found = []
        for place, key in enumerate(self.keys):
            names = ("text", "scale", "categories")
            fields = [self[_name(name, place)] for name in names]
            found.append((key, fields))
        return found

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        for place, key in enumerate(self.keys):
            name = _name("categories", place)
            labels = _lines(found.get(name, ""))
            missing = [label for label in self.found[key]["labels"] if label not in labels]
            if missing and name in found:
                self.add_error(
                    name,
                    _("The file has labels that are not listed: %(labels)s.")
                    % {"labels": ", ".join(missing)},
                )
        if self.items_alone and bool(found.get("categories")) != bool(found.get("question_text")):
            self.add_error("categories", _("A question needs both, its text and its categories."))
        return found

    def scales(self) -> dict[str, NewScale]:
        """The scale of each new question by its key."""
        found = self.cleaned_data
        if self.items_alone:
            if not found["categories"]:
                return {}
            labels = _lines(found["categories"])
            return {FIRST_QUESTION: NewScale(found["scale"], labels, found["question_text"])}
        scales = {}
        for place, key in enumerate(self.keys):
            labels = _lines(found[_name("categories", place)])
            scale, text = found[_name("scale", place)], found[_name("text", place)]
            scales[key] = NewScale(scale, labels, text)
        return scales

    def refuse(self, fields: dict[str, Any]) -> None:
        """Show what the rules of projects and questions say."""
        shown_at = next((name for name in self.fields if name.startswith("categories")), None)
        for message in _flat(fields):
            self.add_error(shown_at, message)


def _meets_ratings(run: ImportRun) -> bool:
    """Whether the file may say again what stands in the project."""
    found = run.summary
    known = all(found.get(f"new_{what}", 0) < found.get(what, 0) for what in ("items", "raters"))
    return run.project is not None and known and bool(found.get("rows"))


def _name(field: str, place: int) -> str:
    return f"{field}_{place}" if place else field


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _flat(found: Any) -> list[str]:
    if isinstance(found, dict):
        return [message for inner in found.values() for message in _flat(inner)]
    return [str(found)]
