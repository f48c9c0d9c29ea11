"""Pages of raters' confusion matrices as the consensus estimates them."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.web.tables import get_page_size
from metrics.views.common.selection import get_by_key, get_page_number, get_permitted_selection
from projects.models import Member, Rater
from quality.models import Consensus, RaterConfusion

RATERS_PER_PAGE = 100
MIN_EXPECTED_RATINGS = 5  # rows based on fewer expected ratings are shown grey


@dataclass(frozen=True)
class ConfusionRow:
    """Row of a confusion matrix: the rater's answers to items of one true category."""

    label: str
    shares: list[float]
    expected_ratings: float

    @property
    def has_few_ratings(self) -> bool:
        return self.expected_ratings < MIN_EXPECTED_RATINGS


@login_required
@require_safe
def show_confusions(request: HttpRequest, project_id: int) -> HttpResponse:
    """List the raters with a confusion matrix by impact; with ``?rater=KEY`` show the rater's."""
    selection = get_permitted_selection(request, project_id, role=Member.Role.VIEWER)
    consensus = Consensus.objects.filter(question=selection.question).first()
    context = {"project": selection.project, "selection": selection, "consensus": consensus}
    rows = RaterConfusion.objects.filter(question=selection.question).exclude(confusion=[])
    rows = rows.select_related("rater")
    if "rater" in request.GET:
        rater = get_by_key(Rater, selection.project, request.GET["rater"])
        confusion = rows.filter(rater=rater).first()
        matrix = _build_matrix(confusion, consensus, selection.scale.labels)
        context |= {"rater": rater, "confusion": confusion, "matrix": matrix}
        return render(request, "quality/consensus/rater_confusion.html", context)
    paginator = Paginator(rows.order_by("-impact", "rater__key"), get_page_size(RATERS_PER_PAGE))
    number = get_page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("Page not found."))
    return render(
        request,
        "quality/consensus/rater_confusions.html",
        context | {"page": paginator.page(number)},
    )


def _build_matrix(
    confusion: RaterConfusion | None, consensus: Consensus | None, labels: list[str]
) -> list[ConfusionRow]:
    """Return the rows of a rater's confusion matrix.

    Empty if none is stored, or if the number of categories has changed since it was computed.
    """
    if confusion is None or consensus is None or len(labels) != len(confusion.confusion):
        return []
    rows = zip(labels, confusion.confusion, confusion.expected_counts, strict=True)
    return [ConfusionRow(*row) for row in rows]
