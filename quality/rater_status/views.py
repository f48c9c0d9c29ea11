"""The raters of a project: whom to look at first, as a page, a chart and a file, and what is done
about many at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from metrics.filters import Filter, one_line
from metrics.scale import weighted
from metrics.views.common import display_names, live_updates
from metrics.views.common.charts import vega_lite
from metrics.views.common.selection import Selection, asked_question, one_of, page_number
from metrics.views.common.sources.filtered import SlicedProject
from metrics.views.common.sources.stored import whole_reading
from projects.models import Member, Project, Rater
from projects.permissions import get_project
from projects.services.raters.updates import pause_raters
from quality.alerts.kinds import briefly
from quality.models import Alarm, GoldAct
from quality.rater_status.comparison import LEAST_ITEMS
from quality.rater_status.status import Card, Status, cards

from . import comparison_texts, funnel_chart, texts
from .message_views import address_of
from .rater_list import COMPARED, SORTED_BY, Line, RaterList, Wanted, ids_of, refused_choice

LEAD = Member.Role.LEAD
LINES_A_PAGE = 50
PASSED = (
    "question",
    "show",
    "least",
    "search",
    "sort",
    "page",
    "without",
)  # from one address to the next


@dataclass(frozen=True)
class Row:
    """A rater of the page: the line among all, the card, both in words, and their cases;
    ``untold``: of the reasons those that the cases do not tell."""

    line: Line
    card: Card
    status: str
    reasons: list[str]
    untold: list[str]
    cases: list[tuple[Alarm, str]]
    acts: list[GoldAct]


@login_required
@require_safe
def raters(request: HttpRequest, project_id: int) -> HttpResponse:
    """A page of the raters, those of most harm first unless told otherwise."""
    return raters_of(request, get_project(request.user, project_id, role=Member.Role.VIEWER))


def raters_of(request: HttpRequest, project: Project) -> HttpResponse:
    chosen = asked_question(request, project)
    allowed = [*SORTED_BY, *(f"-{name}" for name in SORTED_BY)]
    sort = one_of(request.GET, "sort", allowed) or "-harm"
    wanted = Wanted.of(request.GET)
    every = RaterList(chosen.question)
    if live_updates.asks(request):
        return live_updates.awaited(waiting=every.waiting)
    lines = every.chosen(wanted, sort)
    paginator = Paginator(lines, LINES_A_PAGE)
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page = paginator.page(number)
    rows = _rows(chosen, every, list(page.object_list))
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "every": every,
        "waiting": every.waiting,
        "wanted": wanted,
        "chips": every.chips(),
        "page": page,
        "rows": rows,
        "n_lines": len(lines),
        "sorted_by": sort,
        "floor": LEAST_ITEMS if sort.removeprefix("-") in COMPARED else 0,
        "most_ratings": 200,
        "shown": {
            "gold": bool(every.gold_values),
            "repeats": bool(every.repeat_values),
            "drift": any(row.card.drift and row.card.drift.size is not None for row in rows),
            "seconds": any(row.card.seconds is not None for row in rows),
        },
        "passed": _passed(request.GET),
        "paused_now": _paused_now(request, chosen.project),
        "comparison": _comparison(request, chosen),
    }
    return render(request, "quality/rater_status/rater_list.html", context)


@login_required
@require_safe
def scorecard(request: HttpRequest, project_id: int) -> HttpResponse:
    """Where the raters stood in earlier releases."""
    address = reverse("raters", args=[project_id])
    query = request.GET.urlencode()
    return redirect(f"{address}?{query}" if query else address, permanent=True)


def _rows(chosen: Selection, every: RaterList, lines: list[Line]) -> list[Row]:
    ids = [line.pk for line in lines]
    found = cards(chosen.question, ordered=chosen.ordered, raters=ids, standings=every.standings)
    known = {card.rater.pk: card for card in found}
    # Whoever rates must not know what is gold, and a viewer may rate elsewhere.
    proposed = GoldAct.objects.filter(question=chosen.question, state=GoldAct.State.PROPOSED)
    acts = (
        list(proposed.filter(rater__in=ids)) if getattr(chosen.project, "role", "") == LEAD else []
    )
    remarks = {
        pk: comparison_texts.remark(every.standings, pk)
        for pk, card in known.items()
        if card.status is Status.FINE
    }
    return [
        Row(
            line=line,
            card=card,
            # "Nothing found" would be read as "good" of whom the chart shows far below.
            status=_("agrees less") if remarks.get(line.pk) else texts.status(card),
            reasons=[*texts.reasons(card), *filter(None, [remarks.get(line.pk)])],
            untold=[*texts.untold(card), *filter(None, [remarks.get(line.pk)])],
            acts=[act for act in acts if act.rater_id == line.pk],
            cases=[(case, briefly(case, line.pk)) for case in card.alarms],
        )
        for line in lines
        if (card := known.get(line.pk)) is not None
    ]


def _passed(given: QueryDict) -> str:
    """What an act brings back to the same list."""
    return urlencode({name: given[name] for name in PASSED if given.get(name)})


def _paused_now(request: HttpRequest, project: Any) -> list[Rater]:
    """Those who were paused just now and still are: for the way back."""
    if project.role != Member.Role.LEAD or "paused" not in request.GET:
        return []
    ids = ids_of(request.GET["paused"].split(","))
    return list(project.raters.filter(pk__in=ids, paused=True))


@dataclass(frozen=True)
class Comparison:
    """What is read first, of all ratings and without those of some raters. ``without``: None while
    a worker is at it."""

    keys: tuple[str, ...]
    name: str
    whole: dict[str, Any] | None
    without: dict[str, Any] | None
    waiting: bool
    query: str


def _comparison(request: HttpRequest, chosen: Selection) -> Comparison | None:
    """For ``without`` in the address; a worker computes it (metrics.filtered.filtered_jobs)."""
    given = QueryDict(mutable=True)
    given["without"] = request.GET.get("without", "")
    narrowed = Filter.of(given)
    if not narrowed:
        return None
    numbers = SlicedProject(
        Selection(
            chosen.project, chosen.questions, chosen.question, chosen.scale, None, None, None,
            narrowed,
        )
    )  # fmt: skip
    reading = whole_reading(chosen.question)
    name, whole = "", None
    if reading is not None and reading.headline:
        name, whole = reading.headline["name"], reading.headline["value"]
    waiting = numbers.waiting
    without = None if waiting else numbers.reading.told.get(name)
    if not waiting and numbers.reading.headline.get("name") == name:
        without = numbers.reading.headline["value"]
    query = urlencode({"question": chosen.question.key, **narrowed.parameters})
    return Comparison(narrowed.without, name, whole, without, waiting, query)


@login_required
@require_safe
def funnel(request: HttpRequest, project_id: int, form: str) -> HttpResponse:
    """The funnel plot of the raters whom the list shows: ``form`` json."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    if form != "json":
        raise Http404(_("No such chart."))
    return funnel_of(request, project)


def funnel_of(request: HttpRequest, project: Project) -> HttpResponse:
    chosen = asked_question(request, project)
    every = RaterList(chosen.question)
    address = reverse("rater", args=[chosen.project.pk, "KEY"])
    query = urlencode({"question": chosen.question.key})
    lines = every.chosen(Wanted.of(request.GET))
    rows = funnel_chart.rows(lines, every.standings.funnel, f"{address}?{query}")
    spec = funnel_chart.spec(
        title=str(display_names.coefficient(weighted("vs_peers", every.standings.weights)))
    )
    return JsonResponse({"spec": spec, "rows": rows, "locale": vega_lite.locale()})


@login_required
@require_POST
def act(request: HttpRequest, project_id: int) -> HttpResponse:
    """What is done about the raters that were chosen: ``do`` pause, resume, write, without or
    csv."""
    do = request.POST.get("do", "")
    if do not in ("pause", "resume", "write", "without", "csv"):
        raise BadRequest(_("“do” is one of pause, resume, write, without, csv."))
    role = Member.Role.LEAD if do in ("pause", "resume", "write") else Member.Role.VIEWER
    project = get_project(request.user, project_id, role=role)
    ids = ids_of(request.POST.getlist("rater"))
    found = list(project.raters.filter(pk__in=ids).order_by("key"))
    if len(found) != len(set(ids)):
        raise refused_choice()
    back = QueryDict(_passed(QueryDict(request.POST.get("passed", ""))), mutable=True)
    if not found:
        messages.error(request, _("Choose a rater first."))
    elif do == "csv":
        back["rater"] = ",".join(str(one.pk) for one in found)
        return redirect(f"{reverse('raters_file', args=[project.pk])}?{back.urlencode()}")
    elif do == "write":
        came = request.POST.get("back", "")
        return redirect(address_of(project, found, passed=back.urlencode(), back=came))
    elif do == "without":
        back["without"] = one_line(one.key for one in found)
    else:
        _pause(request, found, do == "pause", back)
        if request.POST.get("back") == "rater":
            address = reverse("rater", args=[project.pk, found[0].key])
            return redirect(f"{address}?{urlencode({'question': back.get('question', '')})}")
    return redirect(f"{reverse('raters', args=[project.pk])}?{back.urlencode()}")


def _pause(request: HttpRequest, found: list[Rater], pause: bool, back: QueryDict) -> None:
    changed = pause_raters(raters=found, paused=pause, by=request.user)
    n = len(changed)
    if pause:
        said = ngettext(
            "%(n)s rater gets no items until you resume.",
            "%(n)s raters get no items until you resume.",
            n,
        )
        if changed:
            back["paused"] = ",".join(str(one.pk) for one in changed)
    else:
        said = ngettext("%(n)s rater gets items again.", "%(n)s raters get items again.", n)
    messages.success(request, said % {"n": n})
