"""The API of a rating's history."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import BadRequest
from core.api.parameters import parameters
from core.api.schema import PAGING, QUESTION, page_of, parameter, reads
from projects.api.base import ApiView, question_of
from projects.models import Item, Member, Question, Rater
from ratings.models import Apart, Assignment, Revision
from ratings.services.judgement import KEPT


class RevisionOut(serializers.Serializer):
    # The names are the contract's; the serializer's own are not used.
    label = serializers.CharField(  # type: ignore[assignment]
        allow_null=True, help_text="null: withdrawn"
    )
    rated_at = serializers.DateTimeField(help_text="When it was said")
    recorded_at = serializers.DateTimeField(help_text="When it was written down here")
    by = serializers.CharField(
        allow_null=True, help_text="The account that said it, for leads alone"
    )
    source = serializers.ChoiceField(Revision.Source.choices)  # type: ignore[assignment]
    superseded = serializers.BooleanField(
        help_text="Its file said something else later: it never stood"
    )
    guidelines = serializers.IntegerField(allow_null=True)
    item_version = serializers.IntegerField(allow_null=True)

    def get_fields(self) -> dict[str, Any]:
        texts = {name: serializers.CharField(allow_blank=True) for name in KEPT}
        return super().get_fields() | texts


class History(ApiView):
    @reads(
        "listHistory",
        "All that was ever said in one rating, oldest first; annotators see their own",
        page_of("Revision", RevisionOut),
        [
            parameter("item", "Key of the item", required=True),
            parameter("rater", "Key of the rater", required=True),
            QUESTION,
            *PAGING,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id)
        found = parameters(request, ("item", "rater", "question", *pagination.PAGING))
        missing = [name for name in ("item", "rater") if name not in found]
        if missing:
            raise BadRequest(
                "The query has invalid parameters.", fields=dict.fromkeys(missing, "missing")
            )
        question = question_of(project, found.get("question"))
        role = project.role  # type: ignore[attr-defined]  # set by the door
        raters = Rater.objects.filter(project=project, key=found["rater"])
        if role == Member.Role.ANNOTATOR:
            raters = raters.filter(user=request.user.pk)
        items = Item.objects.filter(project=project, key=found["item"])
        rows = _lines(question, items, raters, to_rater=role == Member.Role.ANNOTATOR)
        labels = {category.code: category.label for category in question.categories.all()}

        def read(after: pagination.Key | None, size: int) -> list[tuple[pagination.Key, Any]]:
            chosen = rows.filter(pk__gt=after[0] if after else 0).select_related("by")
            lines = chosen.order_by("pk")[:size]
            is_lead = role == Member.Role.LEAD and not project.raters_hidden
            return [((line.pk,), _shown(line, labels, is_lead=is_lead)) for line in lines]

        return Response(pagination.page(request, found, key=1, read=read))


def _lines(question: Question, items: Any, raters: Any, *, to_rater: bool) -> Any:
    """To the rater, the history of what tests them is that of a rating like others."""
    tests = Assignment.objects.apart().filter(item__in=items, rater__in=raters)
    if to_rater and tests.exists():
        return Apart.objects.filter(question=question, item__in=items, rater__in=raters)
    return Revision.objects.filter(
        rating__question=question, rating__item__in=items, rating__rater__in=raters
    )


def _shown(line: Revision | Apart, labels: dict[int, str], *, is_lead: bool) -> dict[str, Any]:
    return {
        "label": labels.get(line.code),
        "rated_at": line.rated_at,
        "recorded_at": line.recorded_at if isinstance(line, Revision) else line.changed_at,
        "by": line.by.get_username() if line.by and is_lead else None,
        "source": line.source,
        **{name: getattr(line, name) for name in KEPT},
        "superseded": isinstance(line, Revision) and line.superseded,
        "guidelines": line.guidelines,
        "item_version": line.item_version,
    }
