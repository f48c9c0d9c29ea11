"""API of imports: a file into a project, with everything that was understood of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import CODES, MEDIA_TYPE, build_error_body
from core.api.parsers import UploadParser
from core.api.schema import describe_write
from core.api.strict_fields import StrictSerializer
from projects.api.base import ApiView
from projects.authentication import TokenAuthentication
from projects.models import Member
from projects.services.project_validation import list_time_zones, normalize_time_zone
from ratings.imports import command
from ratings.imports.command_options import FileResult
from ratings.imports.decoding.encodings import ENCODINGS
from ratings.imports.decoding.table_times import DATE_ORDERS
from ratings.imports.mapping.column_options import (
    parse_column_roles,
    parse_scales,
)
from ratings.imports.mapping.display_texts import LAYOUT_TEXTS
from ratings.imports.mapping.import_mapping import (
    DUPLICATE_POLICIES,
    KEEP_EXISTING_POLICY,
    SHEET_CHOICES,
)
from ratings.imports.readers import SOURCES
from ratings.imports.values.label_interpretation import JOIN, KEEP, LabelOptions, parse_label_list
from ratings.imports.values.label_notes import MAYBE_MISSING, SIMILAR

MAX_ROLES = 1000
# Fields that decide about a kind of problem; all others concern the file.
PROBLEM_FIELDS = {
    "scale": "scale",
    MAYBE_MISSING: "missing",
    SIMILAR: "similar",
    "repeated_rows": "duplicates",
}
MAX_OPTION_LENGTH = 10_000


def _build_text_field(help_text: str) -> serializers.CharField:
    return serializers.CharField(
        required=False, allow_blank=True, default="", max_length=MAX_OPTION_LENGTH,
        help_text=help_text,
    )  # fmt: skip


def _build_choice_field(choices: Any, help_text: str) -> serializers.ChoiceField:
    return serializers.ChoiceField(
        choices=list(choices), required=False, allow_blank=True, default="", help_text=help_text
    )


def _parse_option(parse: Callable[[Any], Any], value: Any) -> Any:
    """Return the parsed value of an option. Raises ValidationError."""
    try:
        return parse(value)
    except ValueError as error:
        raise serializers.ValidationError(str(error)) from None


class ImportIn(StrictSerializer):
    """A file and the options of the command import_file; what is left out is guessed."""

    file = serializers.FileField(help_text="A table or the export of another tool")
    dry_run = serializers.BooleanField(
        required=False, default=False, help_text="Only check the file; store nothing"
    )
    map = serializers.ListField(
        child=serializers.CharField(max_length=MAX_OPTION_LENGTH),
        required=False,
        default=list,
        max_length=MAX_ROLES,
        help_text="ROLE=COLUMN, once for each column; ROLE= removes a guess",
    )
    layout = _build_choice_field(LAYOUT_TEXTS, "Layout of a table")
    sheets = _build_choice_field(SHEET_CHOICES, "Sheets of a workbook with the same columns")
    encoding = _build_choice_field(ENCODINGS, "Encoding of text that is not UTF-8")
    source = _build_choice_field(  # type: ignore[assignment]  # `source` of a Field is another thing
        SOURCES, "Format of the file; detected from its content"
    )
    question = _build_text_field("Key of the question of a table's labels")
    rater = _build_text_field("Rater of a file that names none")
    scale = _build_text_field(
        "Scale of new questions, or QUESTION=SCALE for each, separated by commas; required where "
        "the labels are three or more numbers"
    )
    order = _build_text_field("Categories of new questions, lowest first, separated by commas")
    missing = _build_text_field("Further texts that stand for a missing value, separated by commas")
    not_missing = _build_text_field("Texts that are labels although they usually stand for none")
    similar = _build_choice_field((JOIN, KEEP), "Labels that may be one")
    duplicates = _build_choice_field(
        [*DUPLICATE_POLICIES, KEEP_EXISTING_POLICY[0]], "Several rows of a rater for an item"
    )
    zone = _build_text_field("Time zone of times that name none; that of the project by default")
    dates = _build_choice_field(DATE_ORDERS, "Order of day and month in dates such as 03/04/2026")

    def validate_map(self, roles: list[str]) -> list[tuple[str, str]]:
        return _parse_option(parse_column_roles, roles)

    def validate_scale(self, text: str) -> dict[str, str]:
        return _parse_option(parse_scales, text) if text else {}

    def validate_zone(self, name: str) -> str:
        zone = normalize_time_zone(name) if name else ""
        if zone and zone not in list_time_zones():
            raise serializers.ValidationError("There is no such time zone.")
        return zone

    def _validate_labels(self, text: str) -> list[str]:
        return _parse_option(parse_label_list, text)

    validate_order = validate_missing = validate_not_missing = _validate_labels


class ColumnOut(serializers.Serializer):
    name = serializers.CharField()
    role = serializers.CharField(help_text="ignored: the column is not imported")
    detail = serializers.CharField(help_text="Rater, question, item or label that it stands for")
    meaning = serializers.CharField(help_text="The role in words")
    why = serializers.CharField()


class UnderstoodOut(serializers.Serializer):
    # Not `source`, which is an attribute of every serializer field.
    layout = serializers.CharField(help_text="Empty: the export of a tool")
    columns = ColumnOut(many=True)
    scale = serializers.CharField(help_text="Of the only question; empty: it has one already")
    order = serializers.ListField(child=serializers.CharField(), help_text="Lowest label first")
    missing = serializers.ListField(
        child=serializers.CharField(), help_text="Texts read as missing values"
    )
    questions = serializers.DictField(help_text="By key: labels, scale, order and its basis")
    counts = serializers.DictField(child=serializers.IntegerField())
    repeats = serializers.DictField(help_text="count, and examples with their lines")
    left_out = serializers.DictField(help_text="By kind: count, lines, values and reason")


class ImportOut(serializers.Serializer):
    stored = serializers.BooleanField(help_text="In a dry run: whether it would be")
    items = serializers.IntegerField()
    raters = serializers.IntegerField()
    ratings = serializers.IntegerField()
    gold = serializers.IntegerField()
    skips = serializers.IntegerField()
    left_out = serializers.DictField(child=serializers.IntegerField())
    problems = serializers.ListField(child=serializers.DictField())
    notes = serializers.ListField(child=serializers.CharField())
    understood = UnderstoodOut(allow_null=True)


class ImportsView(ApiView):
    # The check of a session's CSRF token would read the form before its size is known.
    authentication_classes = [TokenAuthentication]
    parser_classes = [UploadParser]

    @describe_write(
        "importFile",
        "Import a file into a project, like the command import_file",
        body={"multipart/form-data": ImportIn},
        response=ImportOut,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Import a file before answering; 400 if it has problems, and nothing was stored."""
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        options = self.parse_body(request, ImportIn)
        file = options["file"]
        result = command.import_file(
            file,
            Path(file.name),
            project=project,
            by=request.user,
            options=_build_options(options),
        )
        return _build_response(result)


def _build_options(options: Any) -> command.ImportOptions:
    same_names = ("layout", "sheets", "encoding", "source", "question", "rater", "order")
    return command.ImportOptions(
        **{name: options[name] for name in same_names},
        columns=options["map"],
        scales=options["scale"],
        duplicate_policy=options["duplicates"],
        zone=options["zone"],
        date_order=options["dates"],
        labels=LabelOptions(options["missing"], options["not_missing"], options["similar"]),
        dry_run=options["dry_run"],
    )


def _build_response(result: FileResult) -> Response:
    """Return the result, as an error with what was understood if nothing can be stored."""
    if result.stored:
        return Response(result.to_json())
    messages: dict[str, str] = {}
    for problem in result.problems:
        name = PROBLEM_FIELDS.get(problem["kind"], "file")
        messages[name] = f"{messages.get(name, '')} {problem['message']}".strip()
    body = build_error_body(
        400,
        "The file cannot be imported; nothing was stored.",
        messages,
        [
            {"row": None, "field": name, "code": CODES[400], "detail": text}
            for name, text in messages.items()
        ],
    )
    return Response({**body, **result.to_json()}, status=400, content_type=MEDIA_TYPE)
