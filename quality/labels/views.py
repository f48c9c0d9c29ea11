"""Pages of final labels: the list, downloads, the rules of labels, and confusions of raters."""

from __future__ import annotations

from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
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
from django.utils.translation import gettext_lazy as _lazy
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
    require_safe,
)

from core import security_log
from core.text import describe_saved
from core.web.forms import SettingsForm, add_form_errors
from core.web.tables import get_page_size, is_exporting
from metrics.views.common.selection import (
    Selection,
    get_after_id,
    get_by_key,
    get_choice,
    get_page_number,
    get_permitted_selection,
)
from projects.models import Item, Member, Project, Question, Rater
from quality.consensus import recomputation, storage
from quality.labels import data_card, files, selectors
from quality.models import (
    Appeal,
    Consensus,
    ConsensusMethod,
    Escalation,
    ItemLabel,
    LabelSource,
    RaterConfusion,
)
from quality.review import decisions, second_opinions
from quality.review.label_rules import get_label_rules, set_label_rules, summarize_escalations
from quality.settings_changes import InvalidSettings
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
    rules = get_label_rules(selection.question)
    context = {
        "project": selection.project,
        "selection": selection,
        "consensus": consensus,
        "calibration": [row for row in consensus.calibration if row["n"]] if consensus else [],
        "is_outdated": consensus is not None and recomputation.is_outdated(consensus),
        "rows": [
            _build_row(row, escalations.get(item_id), items.get(item_id))
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
        "adjudicator_agreement": second_opinions.compute_adjudicator_agreement(selection.question),
        "label_rules": rules,
        "escalation": summarize_escalations(selection.question, rules),
        "has_parquet": parquet_file.has_parquet(),
        "offers_files": consensus is not None and consensus.n_items > MAX_DIRECT_ROWS,
    }
    return render(request, "quality/labels/overview.html", context)


def _build_row(
    row: selectors.LabelRow, escalation: Escalation | None, content: Item | None
) -> dict[str, object]:
    """Return a row of the list: the label's fields, its request for ratings, and its item.

    ``escalation`` and ``content`` (the item) are None if there is none or it is not shown.
    """
    values = {"is_median": row.is_median, "escalation": escalation, "content": content}
    return row._asdict() | values


def _get_escalations(selection: Selection, item_ids: list[int]) -> dict[int, Escalation]:
    rows = Escalation.objects.filter(question=selection.question, item__in=item_ids)
    return {row.item_id: row for row in rows}


@login_required
@require_GET
def export_labels(request: HttpRequest, project_id: int, kind: str) -> HttpResponseBase:
    """Return the labels as a file in the format ``kind``; for ``card``, the data card as Markdown.

    ``?at_least=0.95``: only labels with at least this confidence. Raises Http404 for an unknown
    format or an invalid confidence.
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
    return stream_document(files.build_labels_document(project, label_names, kind, labels))


@login_required
@require_POST
def set_method(request: HttpRequest, project_id: int) -> HttpResponse:
    """Set the method by which the question's labels are computed."""
    selection = get_permitted_selection(request, project_id, role=Member.Role.LEAD)
    method = request.POST.get("method", "")
    if method not in ConsensusMethod.values:
        return HttpResponseBadRequest(_("Choose an action."), content_type="text/plain")
    storage.set_method(
        question=selection.question,
        method=method,
        with_models="with_models" in request.POST,
        by=request.user,
    )
    return redirect(f"{reverse('labels', args=[project_id])}?question={selection.question.key}")


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
    """List the raters' confusion matrices, largest impact first; with ``?rater=KEY`` show one."""
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
        return render(request, "quality/labels/rater_confusion.html", context)
    paginator = Paginator(rows.order_by("-impact", "rater__key"), get_page_size(RATERS_PER_PAGE))
    number = get_page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("Page not found."))
    return render(
        request,
        "quality/labels/rater_confusions.html",
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


class LabelRulesForm(SettingsForm):
    """Form of a question's label rules; quality.review.label_rules validates the bounds."""

    request_ratings = forms.BooleanField(
        label=_lazy("Extra ratings for uncertain items"), required=False
    )
    certain_from = forms.FloatField(
        label=_lazy("Confidence threshold"),
        widget=forms.NumberInput({"step": "any"}),
    )
    max_ratings = forms.IntegerField(
        label=_lazy("Maximum ratings per item"),
        help_text=_lazy("Then the item goes to review."),
    )
    budget = forms.IntegerField(
        label=_lazy("Maximum extra ratings in total"),
        help_text=_lazy("Then the item goes to review."),
    )
    second_opinion_share = forms.FloatField(
        label=_lazy("Share decided by two adjudicators"),
        help_text=_lazy("Nobody sees which items."),
        widget=forms.NumberInput({"step": "any"}),
    )
    show_to_raters = forms.BooleanField(
        label=_lazy("Show raters decisions on their items"), required=False
    )
    show_after_days = forms.IntegerField(label=_lazy("Delay in days"))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_label_rules(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the form of the rules for labels, and store it when it is posted."""
    selection = get_permitted_selection(request, project_id, role=Member.Role.LEAD)
    question = selection.question
    rules = get_label_rules(question)
    current = {name: getattr(rules, name) for name in LabelRulesForm.base_fields}
    form = LabelRulesForm(request.POST or None, initial=current)
    if request.method == "POST" and form.is_valid():
        try:
            set_label_rules(question=question, by=request.user, **form.get_changes())
        except InvalidSettings as invalid:
            add_form_errors(form, invalid.fields)
        else:
            messages.success(request, describe_saved(_("Label rules")))
            return _redirect_to_label_rules(selection)
    context = {
        "project": selection.project,
        "selection": selection,
        "form": form,
        "escalation": summarize_escalations(question, rules),
    }
    status = 400 if form.errors else 200
    return render(request, "quality/labels/label_rules.html", context, status=status)


def _redirect_to_label_rules(selection: Selection) -> HttpResponse:
    url = reverse("label_rules", args=[selection.project.pk])
    return redirect(f"{url}?question={selection.question.key}")
