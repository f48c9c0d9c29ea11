"""The raters of a question as a CSV file."""

from __future__ import annotations

import csv

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from core import security_log
from core.web.tables import clean_row, escape_formula
from metrics.question_scale import QuestionScale
from metrics.views.common.selection import get_permitted_selection
from projects.models import Member
from quality.rater_status import comparison
from quality.rater_status.status import RaterSummary, list_rater_summaries

from .rater_list import parse_rater_ids
from .status_texts import describe_note

COLUMNS = (
    "rater", "status", "reasons", "ratings", "seconds", "peers", "peers_low", "peers_high",
    "peers_items", "bias", "bias_low", "bias_high", "gold", "gold_low", "gold_high",
    "gold_right", "gold_answers", "repeats", "repeats_low", "repeats_high", "repeats_same",
    "repeats_answers", "drift_measure", "drift_since", "drift_size",
    "drift_low", "drift_high", "drift_evidence", "open_alerts", "impact",
    "main_category", "main_share", "main_share_of_others", "note",
)  # fmt: skip


@login_required
@require_safe
def export_raters(request: HttpRequest, project_id: int) -> HttpResponse:
    """Return the raters as CSV, ordered by key: all, or those whose ids ``rater`` lists."""
    selection = get_permitted_selection(request, project_id, role=Member.Role.VIEWER)
    ids_text = request.GET.get("rater", "")
    ids = parse_rater_ids(ids_text.split(",")) if ids_text else None
    name = (
        f"{slugify(selection.project.name) or 'project'}-{slugify(selection.question.key)}-raters"
    )
    security_log.log_event("export", exported="raters", kind="csv", question=selection.question.key)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    writer = csv.writer(response)
    writer.writerow(COLUMNS)
    rater_comparison = comparison.get_comparison(selection.question)
    summaries = list_rater_summaries(
        selection.question, scale_is_ordered=selection.ordered, rater_ids=ids
    )
    for summary in sorted(summaries, key=lambda summary: summary.rater.key):
        row = _build_row(summary) | _build_comparison_columns(
            summary, rater_comparison, selection.scale
        )
        writer.writerow(clean_row(row[column] for column in COLUMNS))
    return response


def _build_comparison_columns(
    summary: RaterSummary, comparison: comparison.RaterComparison, scale: QuestionScale
) -> dict[str, object]:
    """Return the values of the columns that compare the rater with the others."""
    result = comparison.raters.get(summary.rater.pk)
    has_category = result is not None and result.n_items > 0 and result.category < len(scale.labels)
    return {
        "impact": summary.impact,
        "main_category": escape_formula(scale.labels[result.category])
        if result and has_category
        else None,
        "main_share": result.share if result and has_category else None,
        "main_share_of_others": result.peers if result and has_category else None,
    }


def _build_row(summary: RaterSummary) -> dict[str, object]:
    bias, drift = summary.bias or {}, summary.drift
    return {
        "rater": escape_formula(
            summary.rater.key
        ),  # a spreadsheet would take some texts for formulas
        "status": summary.status.value,
        "reasons": " ".join(dict.fromkeys(reason.code.value for reason in summary.reasons)),
        "ratings": summary.n_ratings,
        "seconds": summary.seconds,
        "peers": summary.peers["value"],
        "peers_low": summary.peers["low"],
        "peers_high": summary.peers["high"],
        "peers_items": summary.peers["n_items"],
        "bias": bias.get("value"),
        "bias_low": bias.get("low"),
        "bias_high": bias.get("high"),
        "gold": summary.gold_kappa["value"],
        "gold_low": summary.gold_kappa["low"],
        "gold_high": summary.gold_kappa["high"],
        "gold_right": summary.gold.right if summary.gold else None,
        "gold_answers": summary.gold.n if summary.gold else None,
        "repeats": summary.repeat_kappa["value"],
        "repeats_low": summary.repeat_kappa["low"],
        "repeats_high": summary.repeat_kappa["high"],
        "repeats_same": summary.repeats.same if summary.repeats else None,
        "repeats_answers": summary.repeats.n if summary.repeats else None,
        "drift_measure": drift.measure if drift else None,
        "drift_since": drift.since if drift else None,
        "drift_size": drift.size if drift else None,
        "drift_low": drift.low if drift else None,
        "drift_high": drift.high if drift else None,
        "drift_evidence": drift.evidence if drift else None,
        "open_alerts": len(summary.alerts),
        "note": describe_note(summary.note, summary.rater.pk),
    }
