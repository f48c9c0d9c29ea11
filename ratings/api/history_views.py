"""API of a rating's history."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import INVALID_PARAMETERS, BadRequest
from core.api.parameters import parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    QUESTION_PARAMETER,
    build_page_serializer,
    build_parameter,
    describe_get,
)
from projects.api.base import ApiView, get_question
from projects.models import Item, Question, Rater
from ratings.models import Assignment, CheckAnswer, Revision
from ratings.services.judgement import STORED_TEXTS


class RevisionOut(serializers.Serializer):
    # Field names are part of the API; the serializer attributes they shadow are not used.
    label = serializers.CharField(  # type: ignore[assignment]
        allow_null=True, help_text="null: withdrawn"
    )
    rated_at = serializers.DateTimeField(help_text="When the answer was given")
    recorded_at = serializers.DateTimeField(help_text="When it was recorded here")
    by = serializers.CharField(
        allow_null=True, help_text="The account that gave it, for leads only"
    )
    source = serializers.ChoiceField(Revision.Source.choices)  # type: ignore[assignment]
    superseded = serializers.BooleanField(
        help_text="Replaced by a later row of the same file: it was never current"
    )
    guidelines = serializers.IntegerField(allow_null=True)
    item_version = serializers.IntegerField(allow_null=True)

    def get_fields(self) -> dict[str, Any]:
        texts = {name: serializers.CharField(allow_blank=True) for name in STORED_TEXTS}
        return super().get_fields() | texts


class HistoryView(ApiView):
    @describe_get(
        "listHistory",
        "All that was ever said in one rating, oldest first; annotators see their own",
        build_page_serializer("Revision", RevisionOut),
        [
            build_parameter("item", "Key of the item", required=True),
            build_parameter("rater", "Key of the rater", required=True),
            QUESTION_PARAMETER,
            *PAGE_PARAMETERS,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id)
        query = parse_query_parameters(
            request, ("item", "rater", "question", *pagination.PAGE_PARAMETER_NAMES)
        )
        missing = [name for name in ("item", "rater") if name not in query]
        if missing:
            raise BadRequest(INVALID_PARAMETERS, fields=dict.fromkeys(missing, "missing"))
        question = get_question(project, query.get("question"))
        raters = Rater.objects.filter(project=project, key=query["rater"])
        if not project.can_see_results:
            raters = raters.filter(user=request.user.pk)
        items = Item.objects.filter(project=project, key=query["item"])
        rows = _get_revisions(question, items, raters, to_rater=not project.can_see_results)
        labels = {category.code: category.label for category in question.categories.all()}

        def read(
            after: pagination.CursorKey | None, size: int
        ) -> list[tuple[pagination.CursorKey, Any]]:
            page_rows = rows.filter(pk__gt=after[0] if after else 0).select_related("by")
            revisions = page_rows.order_by("pk")[:size]
            is_lead = project.can_manage and not project.hides_raters
            return [
                ((revision.pk,), _format_revision(revision, labels, is_lead=is_lead))
                for revision in revisions
            ]

        return Response(pagination.paginate(request, query, key_length=1, read=read))


def _get_revisions(question: Question, items: Any, raters: Any, *, to_rater: bool) -> Any:
    """Return the history entries of the ratings of these items by these raters.

    For the rater (``to_rater``), the check answers are returned instead if an item is a check.
    """
    checks = Assignment.objects.checks().filter(item__in=items, rater__in=raters)
    if to_rater and checks.exists():
        return CheckAnswer.objects.filter(question=question, item__in=items, rater__in=raters)
    return Revision.objects.filter(
        rating__question=question, rating__item__in=items, rating__rater__in=raters
    )


def _format_revision(
    revision: Revision | CheckAnswer, labels: dict[int, str], *, is_lead: bool
) -> dict[str, Any]:
    """Return a history entry for the response; with ``is_lead``, also whose account gave it."""
    return {
        "label": labels.get(revision.code),
        "rated_at": revision.rated_at,
        "recorded_at": revision.recorded_at
        if isinstance(revision, Revision)
        else revision.changed_at,
        "by": revision.by.get_username() if revision.by and is_lead else None,
        "source": revision.source,
        **{name: getattr(revision, name) for name in STORED_TEXTS},
        "superseded": isinstance(revision, Revision) and revision.superseded,
        "guidelines": revision.guidelines,
        "item_version": revision.item_version,
    }
