"""The first forms of the import wizard: the file, how it is read, and what is asked of every
file."""

from __future__ import annotations

from pathlib import PurePath
from typing import IO, Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.text import key_trouble
from projects.models import Project
from projects.services import project_validation
from projects.services.raters import fields
from ratings.imports.decoding.encodings import encoding_choices
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.readers import SOURCES, endings
from ratings.models import ImportRun

from .pasted_text import LINES, TABLE, as_file

MOST_PASTED = 1_000_000  # characters; more is a file
PASTED_NAME = "pasted"
DELIMITERS = [
    (",", gettext_lazy("comma ,")),
    (";", gettext_lazy("semicolon ;")),
    ("\t", gettext_lazy("tab")),
    ("|", gettext_lazy("vertical bar |")),
]


class UploadForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("File"),
        allow_empty_file=True,  # refused further on, with the same words as every other file
        max_length=1000,
        required=False,
    )
    pasted = forms.CharField(
        label=gettext_lazy("Or paste it"),
        max_length=MOST_PASTED,
        required=False,
        widget=forms.Textarea({"rows": 6}),
    )
    shape = forms.ChoiceField(
        label=gettext_lazy("What is pasted"),
        required=False,
        initial=LINES,
        choices=[
            (LINES, gettext_lazy("one text a line, each to be rated")),
            (TABLE, gettext_lazy("a table with a line of names, as in a file")),
        ],
        widget=forms.RadioSelect,
    )

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.fields["file"].widget.attrs["accept"] = ",".join(endings())

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if "file" in self.errors or "pasted" in self.errors:
            return given
        if given.get("file") is not None and given.get("pasted"):
            self.add_error("pasted", _("A file or what is pasted: one of them at a time."))
        elif given.get("file") is None and not given.get("pasted"):
            self.add_error("file", _("Choose a file, or paste what it would hold."))
        return given

    def content(self) -> tuple[IO[bytes], str]:
        """What is to be read, and its name."""
        file = self.cleaned_data["file"]
        if file is not None:
            return file, file.name
        shape = self.cleaned_data["shape"] or LINES
        return as_file(self.cleaned_data["pasted"], shape), PASTED_NAME


class ReadingForm(forms.Form):
    """What the file is, and how its bytes become cells; a source says which of it can be chosen."""

    source = forms.ChoiceField(label=gettext_lazy("Kind of file"), required=False)
    encoding = forms.ChoiceField(label=gettext_lazy("Encoding"))
    delimiter = forms.ChoiceField(
        label=gettext_lazy("Columns are separated by"), choices=DELIMITERS
    )

    def __init__(self, data: Any, *, mapping: Mapping) -> None:
        super().__init__(
            data,
            initial={
                "source": mapping.source,
                "encoding": mapping.encoding,
                "delimiter": mapping.delimiter,
            },
        )
        source = SOURCES[mapping.source]
        kinds = [(name, one.name) for name, one in SOURCES.items()]
        self.fields["source"].choices = kinds  # type: ignore[attr-defined]
        unchosen = [] if mapping.encoding else [("", _("choose one"))]
        self.fields["encoding"].choices = [*unchosen, *encoding_choices()]  # type: ignore[attr-defined]
        if not source.encodings:
            del self.fields["encoding"]
        if not source.delimiters:
            del self.fields["delimiter"]


class FileForm(forms.Form):
    """What is asked of every file, whatever it is."""

    project_name = forms.CharField(
        label=gettext_lazy("Project name"), max_length=200, required=False
    )
    time_zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=64,
        required=False,
        widget=forms.TextInput({"list": "time-zones", "autocomplete": "off"}),
        help_text=gettext_lazy(
            "Days and weeks of the trend are those of this zone, such as Europe/Berlin."
        ),
    )
    one_rater = forms.CharField(
        label=gettext_lazy("Rater of answers that name nobody"),
        max_length=fields.LONGEST_KEY,
        required=False,
    )
    make_new = forms.BooleanField(
        label=gettext_lazy("Make the items and raters that the project does not know"),
        required=False,
        help_text=gettext_lazy("Otherwise each unknown one is a problem."),
    )

    def __init__(self, data: Any, *, run: ImportRun, mapping: Mapping, **more: Any) -> None:
        self.project: Project | None = run.project
        self.mapping = mapping
        initial = {
            "project_name": mapping.project_name or PurePath(run.file_name).name.split(".")[0],
            "time_zone": mapping.time_zone,
            "one_rater": mapping.one_rater,
            "make_new": mapping.make_new,
        }
        super().__init__(data, initial=initial | more.get("initial", {}))
        if not self.project:
            del self.fields["make_new"]
        else:
            del self.fields["project_name"]
            del self.fields["time_zone"]

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        if not self.project:
            found["time_zone"] = project_validation.zone_named(found.get("time_zone", "") or "UTC")
            problems = project_validation.problems_of(
                name=found.get("project_name", ""), time_zone=found["time_zone"]
            )
            for name, message in problems.items():
                self.add_error("project_name" if name == "name" else name, message)
        one_rater = found.get("one_rater", "")
        if one_rater and key_trouble(one_rater, longest=fields.LONGEST_KEY):
            self.add_error("one_rater", _("A name without line ends is needed."))
        return found

    def chosen(self) -> Mapping:
        """The mapping as the lead wants it."""
        found = self.cleaned_data
        mapping = self.mapping
        mapping.make_new = found.get("make_new", True)
        mapping.project_name = found.get("project_name", "")
        mapping.time_zone = found.get("time_zone", "UTC")
        mapping.one_rater = found.get("one_rater", "")
        return mapping
