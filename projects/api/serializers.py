"""API serializers of projects.

Rows of items and raters are declared and validated by their services.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from core.api.strict_fields import (
    BoundedListField,
    FiniteFloatField,
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictIntegerField,
    StrictSerializer,
)
from projects.models import Category, Member, Project, Question, Scale, Weights
from projects.services import item_upsert
from projects.services.project_validation import MAX_TAG_LENGTH, MAX_TAGS, normalize_tags
from projects.services.question_validation import (
    MAX_CATEGORIES,
    MAX_QUESTIONS,
    NewCategory,
    NewQuestion,
)
from projects.services.rater_changes import FIELDS as RATER_FIELDS
from projects.services.row_validation import FieldSpec


class CategoryIn(StrictSerializer):
    # The name is part of the API; the serializer's own label is not used.
    label = StrictCharField(max_length=200)  # type: ignore[assignment]
    value = FiniteFloatField(
        required=False,
        allow_null=True,
        help_text="Its number; needed on an interval or ratio scale",
    )
    hotkey = StrictCharField(required=False, allow_blank=True, max_length=1, trim_whitespace=False)


class QuestionIn(StrictSerializer):
    key = StrictCharField(
        max_length=64, help_text="Letters, digits, '_', '.' and '-'; unique in the project"
    )
    text = StrictCharField(max_length=500)
    scale = StrictChoiceField(Scale.choices)
    weights = StrictChoiceField(Weights.choices, required=False)
    weight_matrix = BoundedListField(
        child=BoundedListField(child=FiniteFloatField(), max_length=MAX_CATEGORIES),
        max_length=MAX_CATEGORIES,
        required=False,
        allow_null=True,
        help_text=(
            "How much two answers agree, 0 to 1: square, symmetric, ones on the diagonal; "
            "in declared order"
        ),
    )
    # Their number is checked before any of them is validated.
    categories = CategoryIn(
        many=True,
        max_length=MAX_CATEGORIES,  # type: ignore[call-arg]  # DRF passes it on to the list serializer
        help_text="2 to 50, in their declared order",
    )


def build_question(fields: Mapping[str, Any]) -> NewQuestion:
    """Build a NewQuestion from the validated fields of a QuestionIn."""
    categories = tuple(NewCategory(**category) for category in fields["categories"])
    return NewQuestion(**{**fields, "categories": categories})


class CategoryPatch(CategoryIn):
    renames = StrictCharField(
        required=False,
        max_length=200,
        help_text="Earlier label of the category; a label that none had is a new category",
    )


class QuestionPatch(StrictSerializer):
    """Fields left out stay as they are."""

    text = StrictCharField(required=False, max_length=500)
    scale = StrictChoiceField(Scale.choices, required=False)
    categories = CategoryPatch(
        many=True,
        required=False,
        max_length=MAX_CATEGORIES,  # type: ignore[call-arg]  # DRF passes it on to the list serializer
        help_text="All categories in their declared order; one that is left out is removed, unless"
        " ratings or gold answers use it",
    )


class ArchiveIn(StrictSerializer):
    archived = StrictBooleanField(
        required=False, default=True, help_text="false restores the project from the archive"
    )


class CopyIn(StrictSerializer):
    name = StrictCharField(max_length=200)


class InvitationIn(StrictSerializer):
    username = StrictCharField(max_length=150)
    role = StrictChoiceField(Member.Role.choices, required=False, default=Member.Role.ANNOTATOR)
    account = StrictChoiceField(
        [("new", "new"), ("existing", "existing")],
        required=False,
        default="new",
        help_text="new: create an account and a link with which its owner chooses a password;"
        " existing: offer the role to the owner of an account",
    )
    email = StrictCharField(
        max_length=254,
        required=False,
        default="",
        help_text="Where the invitation to a new account is sent, if the site sends mail",
    )


class InvitationOut(serializers.Serializer):
    username = serializers.CharField()
    role = serializers.ChoiceField(Member.Role.values)
    state = serializers.ChoiceField(
        ["member", "invited"], help_text="invited: the owner of the account, if any, is asked"
    )
    link = serializers.URLField(
        allow_null=True,
        help_text="For a new account: where its owner chooses a password; shown once",
    )


class TagsField(BoundedListField):
    """A list of tags in a request; its validated value is the text that is stored: "a, b"."""

    def __init__(self, **kwargs: Any) -> None:
        child = StrictCharField(max_length=MAX_TAG_LENGTH)
        super().__init__(child=child, max_length=MAX_TAGS, **kwargs)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        return normalize_tags(",".join(super().run_validation(data)))


class ProjectIn(StrictSerializer):
    name = StrictCharField(max_length=200)
    description = StrictCharField(required=False, allow_blank=True, trim_whitespace=False)
    guidelines = StrictCharField(
        required=False, allow_blank=True, trim_whitespace=False, help_text="Markdown"
    )
    overlap = StrictIntegerField(
        required=False, help_text="Ratings wanted per item, 1 to 1000; 3 when left out"
    )
    time_zone = StrictCharField(
        required=False, help_text="Days, weeks and months are those of this zone; UTC when left out"
    )
    cluster_attribute = StrictCharField(
        required=False,
        allow_blank=True,
        help_text="Attribute that items of one document or conversation share; intervals then"
        " take into account that such items are alike",
    )
    tags = TagsField(required=False, help_text="Words by which the list of projects is searched")
    questions = QuestionIn(many=True, max_length=MAX_QUESTIONS)  # type: ignore[call-arg]

    def validate_questions(self, questions: list[dict[str, Any]]) -> list[NewQuestion]:
        if not questions:
            raise serializers.ValidationError(
                f"A project has 1 to {MAX_QUESTIONS} questions; there is none."
            )
        return list(map(build_question, questions))


class ProjectPatch(StrictSerializer):
    """Fields left out stay as they are."""

    name = StrictCharField(required=False, max_length=200)
    description = StrictCharField(required=False, allow_blank=True, trim_whitespace=False)
    guidelines = StrictCharField(required=False, allow_blank=True, trim_whitespace=False)
    overlap = StrictIntegerField(required=False)
    time_zone = StrictCharField(required=False)
    cluster_attribute = StrictCharField(required=False, allow_blank=True)
    tags = TagsField(required=False)


class WeightsIn(StrictSerializer):
    question = StrictCharField(
        required=False, help_text="Key; may be left out where the project has one question"
    )
    weights = StrictChoiceField(Weights.choices)
    weight_matrix = BoundedListField(
        child=BoundedListField(child=FiniteFloatField(), max_length=MAX_CATEGORIES),
        max_length=MAX_CATEGORIES,
        required=False,
        help_text="Needed with custom weights; the stored matrix is kept when left out",
    )
    reason = StrictCharField(
        required=False, allow_blank=True, help_text="Kept with who changed the weights, and when"
    )


class CategoryOut(serializers.ModelSerializer):
    class Meta:
        model = Category
        fields = ["label", "value", "hotkey"]


class QuestionOut(serializers.ModelSerializer):
    categories = CategoryOut(
        source="active_categories", many=True, help_text="In their declared order"
    )
    weight_matrix = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField()), allow_null=True, read_only=True
    )

    weights_confirmed = serializers.BooleanField(
        source="has_confirmed_weights",
        read_only=True,
        help_text="false: quadratic weights are used because the labels are ordered and weights"
        " is none; change the weights to confirm or to replace them",
    )

    class Meta:
        model = Question
        fields = [
            "key",
            "text",
            "scale",
            "weights",
            "weight_matrix",
            "weights_confirmed",
            "categories",
        ]


class ProjectOut(serializers.ModelSerializer):
    role = serializers.ChoiceField(
        Member.Role.values,
        read_only=True,
        help_text="What the caller is in this project",
    )
    questions = QuestionOut(many=True)
    tags = serializers.ListField(child=serializers.CharField(), source="tag_list", read_only=True)

    class Meta:
        model = Project
        fields = [
            "id",
            "name",
            "description",
            "guidelines",
            "guidelines_version",
            "overlap",
            "time_zone",
            "cluster_attribute",
            "tags",
            "created_at",
            "archived_at",
            "role",
            "questions",
        ]


def _build_row_serializer(
    name: str, fields: Mapping[str, FieldSpec], base: type = serializers.Serializer
) -> Any:
    """Build the serializer class that documents a row of items or raters."""
    return type(name, (base,), {key: fields[key].serializer_field for key in fields})


class _RowPatch(serializers.Serializer):
    def get_fields(self) -> dict[str, Any]:
        fields = {name: field for name, field in super().get_fields().items() if name != "key"}
        for field in fields.values():
            field.required = False
        return fields


ItemIn = _build_row_serializer("ItemIn", item_upsert.FIELDS)
ItemPatch = _build_row_serializer("ItemPatch", item_upsert.FIELDS, _RowPatch)
RaterIn = _build_row_serializer("RaterIn", RATER_FIELDS)


class RaterPatch(_build_row_serializer("RaterPatch", RATER_FIELDS, _RowPatch)):  # type: ignore[misc]
    paused = serializers.BooleanField(required=False, help_text="A paused rater gets no items")


class UpsertCounts(serializers.Serializer):
    created = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()
