"""The page of final labels: how they are made, how sure they are, and the files."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
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
from core.web.tables import a_page, is_made
from metrics.views.common.selection import Selection, chosen_question, one_of, place_after
from projects.models import Item, Member
from quality.consensus import input_version, settings
from quality.escalation.settings import rules_of
from quality.escalation.summary import summary
from quality.labels import data_card, files, selectors
from quality.models import Appeal, Consensus, Escalation, Method, Source
from quality.models.consensus import DOUBT
from quality.review import decisions, second_opinions
from ratings.files import parquet_file

LABELS_A_PAGE = 50


@login_required
@require_safe
def labels(request: HttpRequest, project_id: int) -> HttpResponse:
    """The labels of a question, a page at a time, and what they rest on."""
    chosen = chosen_question(request, project_id, role=Member.Role.VIEWER)
    consensus = Consensus.objects.filter(question=chosen.question).first()
    words = selectors.Words.of(chosen.question, consensus)
    source = one_of(request.GET, "source", Source.values)
    after = place_after(request.GET)
    found = selectors.chosen(chosen.question, source=source).filter(item__gt=after)
    shown = a_page(LABELS_A_PAGE)
    rows = list(selectors.rows(found[: shown + 1], words))
    more = len(rows) > shown
    asked = _asked_again(chosen, [item for item, _row in rows])
    # A table's file names items by their keys, and is long.
    contents = {} if is_made() else Item.objects.in_bulk([item for item, _row in rows])
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "consensus": consensus,
        "waiting": consensus is not None and input_version.is_old(consensus),
        "rows": [
            row | {"asked": asked.get(item), "content": contents.get(item)}
            for item, row in rows[:shown]
        ],
        "next_after": rows[shown - 1][0] if more else None,
        "after": after,
        "source": source or "",
        "sources": Source.choices,
        "methods": Method.choices,
        "doubtful": _doubtful(chosen, consensus),
        "open_appeals": Appeal.objects.filter(question=chosen.question, state="open").count(),
        "adjudicators": second_opinions.agreement(chosen.question),
        "escalation": summary(chosen.question, rules_of(chosen.question)),
        "has_parquet": parquet_file.has_parquet(),
    }
    return render(request, "quality/labels/overview.html", context)


def _asked_again(chosen: Selection, items: list[int]) -> dict[int, Escalation]:
    rows = Escalation.objects.filter(question=chosen.question, item__in=items)
    return {row.item_id: row for row in rows}


def _doubtful(chosen: Selection, consensus: Consensus | None) -> int:
    if consensus is None:
        return 0
    return decisions.worth_deciding(chosen.question, doubt=DOUBT).order_by().count()


@login_required
@require_GET
def labels_file(request: HttpRequest, project_id: int, kind: str) -> HttpResponseBase:
    """The labels of a question as a file; ``?at_least=0.95``: only those at least so sure."""
    chosen = chosen_question(request, project_id, role=Member.Role.VIEWER)
    name = f"{slugify(chosen.project.name) or 'project'}-{chosen.question.key}-labels"
    if kind == "card":  # figures alone
        answer = HttpResponse(
            data_card.text(chosen.question), content_type="text/markdown; charset=utf-8"
        )
        answer["Content-Disposition"] = f'attachment; filename="{slugify(name)}.md"'
        return answer
    if kind not in files.KINDS:
        raise Http404(_("There is no such file."))
    if kind == "parquet" and not parquet_file.has_parquet():
        return parquet_file.missing()
    at_least = _share(request.GET.get("at_least"))
    security_log.event("export", what_of="labels", kind=kind, question=chosen.question.key)
    consensus = Consensus.objects.filter(question=chosen.question).first()
    words = selectors.Words.of(chosen.question, consensus)
    found = files.KINDS[kind]
    pieces = found.make(selectors.chosen(chosen.question, at_least=at_least), words)
    headers: dict[str, Any] = {
        "Content-Disposition": f'attachment; filename="{slugify(name)}.{found.ending}"'
    }
    return StreamingHttpResponse(pieces, content_type=found.content_type, headers=headers)


def _share(text: str | None) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value <= 1:
        raise Http404(_("at_least is a number from 0 to 1."))
    return value


@login_required
@require_POST
def choose_method(request: HttpRequest, project_id: int) -> HttpResponse:
    """How the labels of a question are made, from now on."""
    chosen = chosen_question(request, project_id, role=Member.Role.LEAD)
    method = request.POST.get("method", "")
    if method not in Method.values:
        return HttpResponseBadRequest(_("Choose one of the methods."), content_type="text/plain")
    settings.choose(
        question=chosen.question,
        method=method,
        with_models="with_models" in request.POST,
        by=request.user,
    )
    return redirect(f"{reverse('labels', args=[project_id])}?question={chosen.question.key}")
