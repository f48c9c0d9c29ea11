"""Forms of the first steps of the import wizard: upload, reading options, options of every file."""

from __future__ import annotations

import io
import json
from pathlib import PurePath
from typing import IO, Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.text import classify_key_problem, describe_line
from projects.models import Project
from projects.services import project_validation
from projects.services.rater_changes import MAX_KEY_LENGTH
from ratings.imports.decoding.encodings import get_encoding_choices
from ratings.imports.mapping.import_mapping import SHEET_CHOICES, ImportMapping
from ratings.imports.readers import SOURCES, list_extensions
from ratings.models import ImportRun

MAX_PASTED_LENGTH = 1_000_000  # characters; a longer text has to be uploaded as a file
PASTED_NAME = "pasted"
LINES, TABLE = "lines", "table"  # one text per line, each an item; or a table
DELIMITER_CHOICES = [
    (",", gettext_lazy("comma ,")),
    (";", gettext_lazy("semicolon ;")),
    ("\t", gettext_lazy("tab")),
    ("|", gettext_lazy("vertical bar |")),
    (" ", gettext_lazy("spaces")),
]


class UploadForm(forms.Form):
    """A file or pasted text to import."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        allow_empty_file=True,  # rejected later, with the same message as other invalid files
        max_length=1000,
        required=False,
    )
    pasted = forms.CharField(
        label=gettext_lazy("Or paste data"),
        max_length=MAX_PASTED_LENGTH,
        required=False,
        widget=forms.Textarea({"rows": 6}),
    )
    pasted_format = forms.ChoiceField(
        label=gettext_lazy("Paste as"),
        required=False,
        initial=LINES,
        choices=[
            (LINES, gettext_lazy("one item per line")),
            (TABLE, gettext_lazy("table with a header row")),
        ],
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.fields["file"].widget.attrs["accept"] = ",".join(list_extensions())

    def clean(self) -> dict[str, Any]:
        cleaned_data = self.cleaned_data
        if "file" in self.errors or "pasted" in self.errors:
            return cleaned_data
        has_file = cleaned_data.get("file") is not None
        if has_file and cleaned_data.get("pasted"):
            self.add_error("pasted", _("Choose a file or paste data, not both."))
        elif not has_file and not cleaned_data.get("pasted"):
            self.add_error("file", _("Choose a file or paste data, not both."))
        return cleaned_data

    def get_content(self) -> tuple[IO[bytes], str]:
        """Return the content to import, and its name."""
        file = self.cleaned_data["file"]
        if file is not None:
            return file, file.name
        text = self.cleaned_data["pasted"]
        if self.cleaned_data["pasted_format"] != TABLE:
            lines = (line.strip() for line in text.splitlines())
            records = (json.dumps({"text": line}) for line in dict.fromkeys(lines) if line)
            text = "".join(f"{record}\n" for record in records)
        return io.BytesIO(text.encode()), PASTED_NAME


class ReadingForm(forms.Form):
    """The source of a file, and how it is decoded. The source determines the fields."""

    source = forms.ChoiceField(label=gettext_lazy("File type"), required=False)
    encoding = forms.ChoiceField(label=gettext_lazy("Encoding"))
    delimiter = forms.ChoiceField(label=gettext_lazy("Column separator"), choices=DELIMITER_CHOICES)

    sheets = forms.ChoiceField(label=gettext_lazy("Sheets"), choices=list(SHEET_CHOICES.items()))

    def __init__(self, data: Any, *, mapping: ImportMapping) -> None:
        super().__init__(
            data,
            initial={
                "source": mapping.source,
                "sheets": mapping.sheets,
                "encoding": mapping.encoding,
                "delimiter": mapping.delimiter,
            },
        )
        source = SOURCES[mapping.source]
        source_choices = [(name, choice_source.name) for name, choice_source in SOURCES.items()]
        self.fields["source"].choices = source_choices  # type: ignore[attr-defined]
        empty_choice = [] if mapping.encoding else [("", _("choose one"))]
        self.fields["encoding"].choices = [*empty_choice, *get_encoding_choices()]  # type: ignore[attr-defined]
        if not source.has_encoding:
            del self.fields["encoding"]
        if not source.has_delimiter:
            del self.fields["delimiter"]
        if len(mapping.sheet_titles) < 2:
            del self.fields["sheets"]
        elif not mapping.sheets:
            self.fields["sheets"].choices = [("", _("choose one")), *SHEET_CHOICES.items()]  # type: ignore[attr-defined]


class ImportOptionsForm(forms.Form):
    """Options that apply to every file format."""

    project_name = forms.CharField(
        label=gettext_lazy("Project name"), max_length=200, required=False
    )
    time_zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=64,
        required=False,
        widget=forms.TextInput({"list": "time-zones", "autocomplete": "off"}),
        help_text=gettext_lazy("For charts, such as Europe/Berlin."),
    )
    default_rater = forms.CharField(
        label=gettext_lazy("Rater for rows without one"),
        max_length=MAX_KEY_LENGTH,
        required=False,
    )
    create_missing = forms.BooleanField(
        label=gettext_lazy("Create new items and raters as needed"),
        required=False,
        help_text=gettext_lazy("Otherwise, unknown ones are errors."),
    )

    def __init__(
        self, data: Any, *, run: ImportRun, mapping: ImportMapping, **options: Any
    ) -> None:
        self.project: Project | None = run.project
        self.mapping = mapping
        initial = {
            "project_name": mapping.project_name or PurePath(run.file_name).name.split(".")[0],
            "time_zone": mapping.time_zone,
            # A rater column leaves no row without a rater.
            "default_rater": "" if "rater" in mapping.columns else mapping.default_rater,
            "create_missing": mapping.create_missing,
        }
        super().__init__(data, initial=initial | options.get("initial", {}))
        if not self.project:
            del self.fields["create_missing"]
        else:
            del self.fields["project_name"]
            del self.fields["time_zone"]

    def clean(self) -> dict[str, Any]:
        cleaned_data = super().clean() or {}
        if not self.project:
            cleaned_data["time_zone"] = project_validation.normalize_time_zone(
                cleaned_data.get("time_zone", "") or "UTC"
            )
            problems = project_validation.find_project_problems(
                name=cleaned_data.get("project_name", ""), time_zone=cleaned_data["time_zone"]
            )
            for name, message in problems.items():
                self.add_error("project_name" if name == "name" else name, message)
        default_rater = cleaned_data.get("default_rater", "")
        if default_rater and classify_key_problem(default_rater, max_length=MAX_KEY_LENGTH):
            self.add_error("default_rater", describe_line(MAX_KEY_LENGTH))
        return cleaned_data

    def apply_to_mapping(self) -> ImportMapping:
        """Write the options of the form into its mapping and return it."""
        cleaned_data = self.cleaned_data
        mapping = self.mapping
        mapping.create_missing = cleaned_data.get("create_missing", True)
        mapping.project_name = cleaned_data.get("project_name", "")
        mapping.time_zone = cleaned_data.get("time_zone", "UTC")
        mapping.default_rater = cleaned_data.get("default_rater", "")
        return mapping
