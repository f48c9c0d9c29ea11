"""What the import wizard asks its lead, with guesses filled in."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from django import forms
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from projects.models import Project, Scale
from projects.setup import project_rules, question_rules
from ratings.models import ImportRun

from .columns import Look
from .encodings import encoding_choices
from .label_order import guess_order
from .mapping import Mapping
from .problems import shown
from .table import clean

DELIMITERS = [
    (",", gettext_lazy("comma ,")),
    (";", gettext_lazy("semicolon ;")),
    ("\t", gettext_lazy("tab")),
    ("|", gettext_lazy("vertical bar |")),
]
NEW = "new"  # the choice of a new question
ROLES = ("item", "rater", "label", "rated_at", "comment", "question")
# Columns that a layout cannot do without.
NEEDED = {"long": ("item", "rater", "label"), "wide": ("item",)}


class UploadForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("CSV file"),
        allow_empty_file=True,  # refused further on, with the same words as every other file
        max_length=1000,
        widget=forms.FileInput({"accept": ".csv,.tsv,.txt,.gz,text/csv"}),
    )


class ReadingForm(forms.Form):
    """How the file's bytes become cells."""

    encoding = forms.ChoiceField(label=gettext_lazy("Encoding"))
    delimiter = forms.ChoiceField(
        label=gettext_lazy("Columns are separated by"), choices=DELIMITERS
    )

    def __init__(self, data: Any, *, mapping: Mapping) -> None:
        super().__init__(
            data, initial={"encoding": mapping.encoding, "delimiter": mapping.delimiter}
        )
        unchosen = [] if mapping.encoding else [("", _("choose one"))]
        self.fields["encoding"].choices = [*unchosen, *encoding_choices()]  # type: ignore[attr-defined]


class ColumnsForm(forms.Form):
    """What the columns mean, and which question the labels answer."""

    layout = forms.ChoiceField(
        label=gettext_lazy("Layout"),
        choices=[
            (
                "long",
                gettext_lazy(
                    "one row for each rating: a column of items, one of raters, one of labels"
                ),
            ),
            ("wide", gettext_lazy("one row for each item: a column for each rater")),
        ],
        widget=forms.RadioSelect,
    )
    item = forms.TypedChoiceField(
        label=gettext_lazy("Item"), coerce=int, empty_value=None, required=False
    )
    rater = forms.TypedChoiceField(
        label=gettext_lazy("Rater"), coerce=int, empty_value=None, required=False
    )
    label = forms.TypedChoiceField(
        label=gettext_lazy("Label"), coerce=int, empty_value=None, required=False
    )
    rated_at = forms.TypedChoiceField(
        label=gettext_lazy("Time of the rating"),
        coerce=int,
        empty_value=None,
        required=False,
        help_text=gettext_lazy(
            "With its zone, like 2026-03-01T09:30:00Z. Without the column: the time of the import."
        ),
    )
    comment = forms.TypedChoiceField(
        label=gettext_lazy("Comment"), coerce=int, empty_value=None, required=False
    )
    question = forms.TypedChoiceField(
        label=gettext_lazy("Question key"),
        coerce=int,
        empty_value=None,
        required=False,
        help_text=gettext_lazy(
            "In a file with several questions: only the rows of the question below are imported."
        ),
    )
    leave_out = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Columns that are no raters"),
        coerce=int,
        required=False,
        help_text=gettext_lazy("Every other column, except the items, is a rater."),
    )
    target = forms.ChoiceField(label=gettext_lazy("The labels answer"))
    project_name = forms.CharField(
        label=gettext_lazy("Project name"), max_length=200, required=False
    )
    question_text = forms.CharField(label=gettext_lazy("Question"), max_length=500, required=False)
    question_key = forms.CharField(
        label=gettext_lazy("Its key"),
        max_length=64,
        required=False,
        help_text=gettext_lazy(
            "Short name in files and in the API: letters, digits, '_', '.' and '-'."
        ),
    )
    make_new = forms.BooleanField(
        label=gettext_lazy("Make the items and raters that the project does not know"),
        required=False,
        help_text=gettext_lazy("Otherwise each unknown one is a problem."),
    )

    def __init__(self, data: Any, *, run: ImportRun, mapping: Mapping, look: Look) -> None:
        self.project: Project | None = run.project
        self.mapping = mapping
        super().__init__(data, initial=_initial(run, mapping, look))
        names = [(str(place), shown(name)[:80]) for place, name in enumerate(look.names)]
        for role in ROLES:
            self.fields[role].choices = [("", "–"), *names]  # type: ignore[attr-defined]
        self.fields["leave_out"].choices = names  # type: ignore[attr-defined]
        questions = self.project.questions.all() if self.project else []
        known = [(str(question.pk), question.text) for question in questions]
        self.fields["target"].choices = [*known, (NEW, _("a new question"))]  # type: ignore[attr-defined]
        if not self.project:
            del self.fields["make_new"]
        else:
            del self.fields["project_name"]

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        self._check_columns(found)
        if found.get("target") == NEW:
            self._check_new_question(found)
        if not self.project:
            for message in project_rules.problems_of(name=found.get("project_name", "")).values():
                self.add_error("project_name", message)
        return found

    def _check_columns(self, found: dict[str, Any]) -> None:
        used: dict[int, str] = {}
        roles = ROLES if found.get("layout") == "long" else ("item",)
        for role in roles:
            place = found.get(role)
            if place is None:
                if role in NEEDED.get(found.get("layout", ""), ()):
                    self.add_error(role, _("Choose the column of this."))
            elif place in used:
                self.add_error(
                    role,
                    _("This column is chosen as '%(role)s' already.")
                    % {"role": self.fields[used[place]].label},
                )
            else:
                used[place] = role
        if found.get("layout") == "wide":
            columns = len(self.fields["item"].choices) - 1  # type: ignore[attr-defined]
            if columns <= len({found.get("item"), *found.get("leave_out", ())} - {None}):
                self.add_error("leave_out", _("No column is left for the raters."))

    def _check_new_question(self, found: dict[str, Any]) -> None:
        key = found.get("question_key", "")
        if not question_rules.KEY.fullmatch(key):
            self.add_error(
                "question_key",
                _("Letters, digits, '_', '.' and '-', beginning with a letter or a digit."),
            )
        elif self.project and self.project.questions.filter(key=key).exists():
            self.add_error(
                "question_key",
                _("This project has a question with this key already; choose it above."),
            )
        if not found.get("question_text", "").strip():
            self.add_error("question_text", _("A new question needs a text."))

    def chosen(self) -> Mapping:
        """The mapping as the lead wants it."""
        found = self.cleaned_data
        long = found["layout"] == "long"
        mapping = self.mapping
        mapping.layout = found["layout"]
        mapping.columns = {
            role: found[role]
            for role in ROLES
            if found[role] is not None and (long or role == "item")
        }
        mapping.leave_out = [] if long else found["leave_out"]
        mapping.make_new = found.get("make_new", True)
        mapping.question_id = None if found["target"] == NEW else int(found["target"])
        mapping.question_key = found["question_key"]
        mapping.question_text = found["question_text"]
        mapping.project_name = found.get("project_name", "")
        return mapping


def _initial(run: ImportRun, mapping: Mapping, look: Look) -> dict[str, Any]:
    questions = list(run.project.questions.all()) if run.project else []
    label_at, key_at = mapping.columns.get("label"), mapping.columns.get("question")
    name = look.names[label_at] if label_at is not None and label_at < len(look.names) else ""
    key = mapping.question_key or slugify(name) or "label"
    if key_at is not None and not mapping.question_key:
        # A file of ours names the question of each row.
        key = next((clean(cells[key_at]) for _, cells in look.sample if key_at < len(cells)), key)
    target = mapping.question_id or next(
        (q.pk for q in questions if q.key == key), questions[0].pk if questions else NEW
    )
    return {
        **mapping.columns,
        "layout": mapping.layout,
        "leave_out": mapping.leave_out,
        "target": str(target),
        "project_name": mapping.project_name or PurePath(run.file_name).name.split(".")[0],
        "question_text": mapping.question_text or name or key,
        "question_key": key[:64],
        "make_new": mapping.make_new,
    }


class StartForm(forms.Form):
    """What is left to decide once the file is known to be right."""

    scale = forms.ChoiceField(label=gettext_lazy("Scale"), choices=Scale.choices)
    categories = forms.CharField(
        label=gettext_lazy("Categories, one a line, in their order"),
        widget=forms.Textarea({"rows": 6, "class": "mono"}),
        help_text=gettext_lazy(
            "From lowest to highest where they have an order. Categories that the file lacks "
            "may be added."
        ),
    )
    stands = forms.ChoiceField(
        label=gettext_lazy("Where a rater has rated an item more than once"),
        choices=[
            ("last", gettext_lazy("the last row of the file stands")),
            ("first", gettext_lazy("the first row of the file stands")),
        ],
        widget=forms.RadioSelect,
    )

    def __init__(self, data: Any, *, run: ImportRun, mapping: Mapping) -> None:
        self.found = list(run.summary.get("labels", {}))
        order, scale = guess_order(self.found)
        initial = {
            "scale": mapping.scale or scale,
            "categories": "\n".join(mapping.categories or order),
        }
        super().__init__(data, initial={**initial, "stands": mapping.stands})
        if mapping.question_id or run.question_id:
            del self.fields["scale"], self.fields["categories"]
        if not run.summary.get("repeats"):
            del self.fields["stands"]

    def clean_categories(self) -> list[str]:
        labels = [
            line.strip() for line in self.cleaned_data["categories"].splitlines() if line.strip()
        ]
        missing = [label for label in self.found if label not in labels]
        if missing:
            raise forms.ValidationError(
                _("The file has labels that are not listed: %(labels)s.")
                % {"labels": ", ".join(missing)}
            )
        return labels

    def refuse(self, fields: dict[str, Any]) -> None:
        """Show what the rules of projects and questions say."""
        for message in _flat(fields):
            self.add_error("categories", message)


def _flat(found: Any) -> list[str]:
    if isinstance(found, dict):
        return [message for inner in found.values() for message in _flat(inner)]
    return [str(found)]
