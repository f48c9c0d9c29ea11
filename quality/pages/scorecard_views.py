"""The scorecard: one line a rater, sorted by any column, as a page and as a file."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from groundwork import security
from metrics.pages.selection import chosen_question, one_of, page_number
from projects.models import Member
from quality.scorecard.cards import Card, Status, cards

from . import alarm_words

CARDS_A_PAGE = 100
SEVERITY = {Status.ACT: 0, Status.WATCH: 1, Status.UNKNOWN: 2, Status.FINE: 3}


def _value(reading: Any) -> float | None:
    return reading["value"] if reading else None


# Column -> what it is sorted by; None comes last.
SORTED_BY: dict[str, Callable[[Card], Any]] = {
    "status": lambda card: SEVERITY[card.status],
    "rater": lambda card: card.rater.key,
    "ratings": lambda card: card.n_ratings,
    "peers": lambda card: _value(card.peers),
    "gold": lambda card: card.gold_kappa["value"],
    "repeats": lambda card: card.repeat_kappa["value"],
    "bias": lambda card: _value(card.bias),
    "seconds": lambda card: card.seconds,
    "drift": lambda card: card.drift.evidence if card.drift else None,
}


@dataclass(frozen=True)
class Line:
    """A card in words."""

    card: Card
    status: str
    reasons: list[str]


@login_required
@require_safe
def scorecard(request: HttpRequest, project_id: int) -> HttpResponse:
    """A page of the raters; those that ask for something first unless told otherwise."""
    chosen = chosen_question(request, project_id, role=Member.Role.VIEWER)
    allowed = [*SORTED_BY, *(f"-{name}" for name in SORTED_BY)]
    sort = one_of(request.GET, "sort", allowed) or "status"
    found = _sorted(cards(chosen.question, ordered=chosen.ordered), sort)
    paginator = Paginator(found, CARDS_A_PAGE)
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page = paginator.page(number)
    lines = [
        Line(card, alarm_words.status(card), alarm_words.reasons(card)) for card in page.object_list
    ]
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "page": page,
        "lines": lines,
        "sorted_by": sort,
    }
    return render(request, "quality/scorecard.html", context)


def _sorted(found: list[Card], sort: str) -> list[Card]:
    """By one column, equals by key; what has no value comes last in either order."""
    column = SORTED_BY[sort.removeprefix("-")]
    by_key = sorted(found, key=lambda card: card.rater.key)
    known = [card for card in by_key if column(card) is not None]
    known.sort(key=column, reverse=sort.startswith("-"))
    return known + [card for card in by_key if column(card) is None]


COLUMNS = (
    "rater", "status", "reasons", "ratings", "seconds", "peers", "peers_low", "peers_high",
    "peers_items", "bias", "bias_low", "bias_high", "gold", "gold_low", "gold_high",
    "gold_right", "gold_answers", "repeats", "repeats_low", "repeats_high", "repeats_same",
    "repeats_answers", "drift_measure", "drift_since", "drift_size",
    "drift_low", "drift_high", "drift_evidence", "open_alarms",
)  # fmt: skip


@login_required
@require_safe
def scorecard_file(request: HttpRequest, project_id: int) -> HttpResponse:
    """All raters as CSV, by key."""
    chosen = chosen_question(request, project_id, role=Member.Role.VIEWER)
    name = f"{slugify(chosen.project.name) or 'project'}-{slugify(chosen.question.key)}-raters"
    security.event("export", what_of="raters", kind="csv", question=chosen.question.key)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    writer = csv.writer(response)
    writer.writerow(COLUMNS)
    for card in _sorted(cards(chosen.question, ordered=chosen.ordered), "rater"):
        row = _row(card)
        writer.writerow([row[column] for column in COLUMNS])
    return response


def _row(card: Card) -> dict[str, Any]:
    bias, drift = card.bias or {}, card.drift
    key = card.rater.key
    return {
        # A text that a spreadsheet would take for a formula is told to be text.
        "rater": f"'{key}" if key[:1] in "=+-@\t\r" else key,
        "status": card.status.value,
        "reasons": " ".join(card.reasons),
        "ratings": card.n_ratings,
        "seconds": card.seconds,
        "peers": card.peers["value"],
        "peers_low": card.peers["low"],
        "peers_high": card.peers["high"],
        "peers_items": card.peers["n_items"],
        "bias": bias.get("value"),
        "bias_low": bias.get("low"),
        "bias_high": bias.get("high"),
        "gold": card.gold_kappa["value"],
        "gold_low": card.gold_kappa["low"],
        "gold_high": card.gold_kappa["high"],
        "gold_right": card.gold.right if card.gold else None,
        "gold_answers": card.gold.n if card.gold else None,
        "repeats": card.repeat_kappa["value"],
        "repeats_low": card.repeat_kappa["low"],
        "repeats_high": card.repeat_kappa["high"],
        "repeats_same": card.repeats.same if card.repeats else None,
        "repeats_answers": card.repeats.n if card.repeats else None,
        "drift_measure": drift.measure if drift else None,
        "drift_since": drift.since if drift else None,
        "drift_size": drift.size if drift else None,
        "drift_low": drift.low if drift else None,
        "drift_high": drift.high if drift else None,
        "drift_evidence": drift.evidence if drift else None,
        "open_alarms": len(card.alarms),
    }
