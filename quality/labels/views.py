"""Page of final labels: how they are computed, how certain they are, and downloads."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST, require_safe

from core import security_log
from core.web.tables import get_page_size, is_exporting
from metrics.views.common.selection import (
    Selection,
    get_after_id,
    get_choice,
    get_permitted_selection,
)
from projects.models import Item, Member, Project, Question
from quality.consensus import consensus_method, recomputation
from quality.escalation.label_rules import get_label_rules, summarize_escalations
from quality.labels import data_card, files, selectors
from quality.models import Appeal, Consensus, ConsensusMethod, Escalation, ItemLabel, LabelSource
from quality.review import decisions, second_opinions
from ratings.exports.documents import stream_document
from ratings.exports.services import MAX_DIRECT_ROWS
from ratings.files import parquet_file

LABELS_PER_PAGE = 50


@login_required
@require_safe
def show_labels(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the labels of a question, a page at a time, with the state of their computation."""
    selection = get_permitted_selection(request, project_id, role=Member.Role.VIEWER)
    consensus = Consensus.objects.filter(question=selection.question).first()
    label_names = selectors.LabelNames.for_question(selection.question, consensus)
    source = get_choice(request.GET, "source", LabelSource.values)
    after = get_after_id(request.GET)
    labels = selectors.get_labels(selection.question, source=source).filter(item__gt=after)
    page_size = get_page_size(LABELS_PER_PAGE)
    rows = list(selectors.iter_label_rows(labels[: page_size + 1], label_names))
    has_more = len(rows) > page_size
    escalations = _get_escalations(selection, [item_id for item_id, _row in rows])
    # The download of a table names items by key; it is long, so it reads no items.
    items = {} if is_exporting() else Item.objects.in_bulk([item_id for item_id, _row in rows])
    label_rules = get_label_rules(selection.question)
    context = {
        "project": selection.project,
        "selection": selection,
        "consensus": consensus,
        "calibration": [row for row in consensus.calibration if row["n"]] if consensus else [],
        "is_outdated": consensus is not None and recomputation.is_outdated(consensus),
        "rows": [
            row._asdict() | {"escalation": escalations.get(item_id), "content": items.get(item_id)}
            for item_id, row in rows[:page_size]
        ],
        "next_after": rows[page_size - 1][0] if has_more else None,
        "after": after,
        "source": source or "",
        "sources": LabelSource.choices,
        "methods": ConsensusMethod.choices,
        "n_uncertain": decisions.get_review_queue(selection.question).order_by().count(),
        "n_single": decisions.count_uncertain_items_with_one_rating(selection.question),
        "open_appeals": Appeal.objects.filter(question=selection.question, state="open").count(),
        "adjudicator_agreement": second_opinions.compute_agreement(selection.question),
        "label_rules": label_rules,
        "escalation": summarize_escalations(selection.question, label_rules),
        "has_parquet": parquet_file.has_parquet(),
        "offers_files": consensus is not None and consensus.n_items > MAX_DIRECT_ROWS,
    }
    return render(request, "quality/labels/overview.html", context)


def _get_escalations(selection: Selection, item_ids: list[int]) -> dict[int, Escalation]:
    rows = Escalation.objects.filter(question=selection.question, item__in=item_ids)
    return {row.item_id: row for row in rows}


@login_required
@require_GET
def export_labels(request: HttpRequest, project_id: int, kind: str) -> HttpResponseBase:
    """Return the labels as a file, or for ``card`` the data card as Markdown.

    ``?at_least=0.95``: only labels with at least this confidence.
    """
    selection = get_permitted_selection(request, project_id, role=Member.Role.VIEWER)
    name = f"{slugify(selection.project.name) or 'project'}-{selection.question.key}-labels"
    if kind == "card":  # numbers only, no items
        response = HttpResponse(
            data_card.build_data_card(selection.question),
            content_type="text/markdown; charset=utf-8",
        )
        response["Content-Disposition"] = f'attachment; filename="{slugify(name)}.md"'
        return response
    if kind not in files.FORMATS:
        raise Http404(_("Page not found."))
    if kind == "parquet" and not parquet_file.has_parquet():
        return parquet_file.build_missing_response()
    try:
        at_least = selectors.parse_share(request.GET.get("at_least") or None)
    except ValueError:
        raise Http404("at_least must be a number from 0 to 1.") from None
    labels = selectors.get_labels(selection.question, at_least=at_least)
    return stream_labels(selection.project, selection.question, kind, labels)


def stream_labels(
    project: Project,
    question: Question,
    kind: str,
    labels: QuerySet[ItemLabel],
) -> StreamingHttpResponse:
    """Return a streaming response with the final labels; the export is logged.

    ``kind``: a key of files.FORMATS.
    """
    security_log.log_event("export", exported="labels", kind=kind, question=question.key)
    consensus = Consensus.objects.filter(question=question).first()
    label_names = selectors.LabelNames.for_question(question, consensus)
    return stream_document(files.build_document(project, label_names, kind, labels))


@login_required
@require_POST
def set_method(request: HttpRequest, project_id: int) -> HttpResponse:
    """Set the method by which the question's labels are computed."""
    selection = get_permitted_selection(request, project_id, role=Member.Role.LEAD)
    method = request.POST.get("method", "")
    if method not in ConsensusMethod.values:
        return HttpResponseBadRequest(_("Choose an action."), content_type="text/plain")
    consensus_method.set_method(
        question=selection.question,
        method=method,
        with_models="with_models" in request.POST,
        by=request.user,
    )
    return redirect(f"{reverse('labels', args=[project_id])}?question={selection.question.key}")
