"""The raters of a project as a file."""

from __future__ import annotations

import csv
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from core import security_log
from metrics.scale import QuestionScale
from metrics.views.common.selection import chosen_question
from projects.models import Member
from quality.rater_status import comparison
from quality.rater_status.status import Card, cards
from ratings.files.formula_escaping import guard

from .rater_list import ids_of

COLUMNS = (
    "rater", "status", "reasons", "ratings", "seconds", "peers", "peers_low", "peers_high",
    "peers_items", "bias", "bias_low", "bias_high", "gold", "gold_low", "gold_high",
    "gold_right", "gold_answers", "repeats", "repeats_low", "repeats_high", "repeats_same",
    "repeats_answers", "drift_measure", "drift_since", "drift_size",
    "drift_low", "drift_high", "drift_evidence", "open_alarms", "harm",
    "main_category", "main_share", "main_share_of_others",
)  # fmt: skip


@login_required
@require_safe
def raters_file(request: HttpRequest, project_id: int) -> HttpResponse:
    """The raters as CSV, by key: all of them, or those whose ids ``rater`` names."""
    chosen = chosen_question(request, project_id, role=Member.Role.VIEWER)
    named = request.GET.get("rater", "")
    ids = ids_of(named.split(",")) if named else None
    name = f"{slugify(chosen.project.name) or 'project'}-{slugify(chosen.question.key)}-raters"
    security_log.event("export", what_of="raters", kind="csv", question=chosen.question.key)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    writer = csv.writer(response)
    writer.writerow(COLUMNS)
    standings = comparison.of(chosen.question)
    found = cards(chosen.question, ordered=chosen.ordered, raters=ids)
    for card in sorted(found, key=lambda card: card.rater.key):
        row = _row(card) | _beside(card, standings, chosen.scale)
        writer.writerow([row[column] for column in COLUMNS])
    return response


def _beside(card: Card, standings: comparison.Standings, scale: QuestionScale) -> dict[str, Any]:
    """What is known of the rater beside all others."""
    one = standings.raters.get(card.rater.pk)
    known = one is not None and one.n_items > 0 and one.category < len(scale.labels)
    return {
        "harm": standings.harm(card.rater.pk),
        "main_category": guard(scale.labels[one.category]) if one and known else None,
        "main_share": one.share if one and known else None,
        "main_share_of_others": one.peers if one and known else None,
    }


def _row(card: Card) -> dict[str, Any]:
    bias, drift = card.bias or {}, card.drift
    return {
        "rater": guard(card.rater.key),  # a spreadsheet would take some texts for formulas
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
