"""Raters' habits as the consensus estimates them: who is right how often, and what is said of
which true category."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.web.tables import a_page
from metrics.views.common.selection import by_key, chosen_question, page_number
from projects.models import Member, Rater
from quality.models import Consensus, RaterConfusion

RATERS_A_PAGE = 100
FEW = 5  # expected ratings; a row that rests on fewer is shown grey


@dataclass(frozen=True)
class TrueCategory:
    """A row of the matrix: what the rater probably says of items of this true category."""

    label: str
    shares: list[float]
    rests_on: float

    @property
    def few(self) -> bool:
        return self.rests_on < FEW


@login_required
@require_safe
def habits(request: HttpRequest, project_id: int) -> HttpResponse:
    """All raters, the least often right first; ``?rater=KEY``: one with the matrix."""
    chosen = chosen_question(request, project_id, role=Member.Role.VIEWER)
    consensus = Consensus.objects.filter(question=chosen.question).first()
    context = {"project": chosen.project, "chosen": chosen, "consensus": consensus}
    rows = RaterConfusion.objects.filter(question=chosen.question).select_related("rater")
    if "rater" in request.GET:
        rater = by_key(Rater, chosen.project, request.GET["rater"])
        found = rows.filter(rater=rater).first()
        matrix = _matrix(found, consensus, chosen.scale.labels)
        context |= {"rater": rater, "found": found, "matrix": matrix}
        return render(request, "quality/consensus/rater_confusion.html", context)
    paginator = Paginator(rows.order_by("accuracy", "rater__key"), a_page(RATERS_A_PAGE))
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    return render(
        request,
        "quality/consensus/rater_confusions.html",
        context | {"page": paginator.page(number)},
    )


def _matrix(
    found: RaterConfusion | None, consensus: Consensus | None, labels: list[str]
) -> list[TrueCategory]:
    """Empty where there is none, or where it is of other categories than those of now."""
    if found is None or consensus is None or len(labels) != len(found.confusion):
        return []
    rows = zip(labels, found.confusion, found.rests_on, strict=True)
    return [TrueCategory(*row) for row in rows]
