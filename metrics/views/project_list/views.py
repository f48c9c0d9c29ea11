"""The questions of a project, the raters of a lead over all projects, and what a reader makes of
the list of projects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db.models import Case, Count, F, Min, Q, QuerySet, Sum, When, Window
from django.db.models.functions import RowNumber
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from core.web.tables import a_page
from metrics.agreement.weights import NONE, weighted
from metrics.models import RaterReading, Reading, Span
from metrics.views.common.selection import page_number
from metrics.views.questions import overview
from projects.models import Member, Project, Rater
from projects.permissions import get_project
from projects.services.members import membership

from . import listing

RATERS_A_PAGE = 50
LISTED = ("group", "search", "sort", "page")  # what the list of projects is asked for
SEATS = 8  # questions told of a person: those with the most ratings


@login_required
@require_safe
def questions(request: HttpRequest, project_id: int) -> HttpResponse:
    """All questions of a project side by side, however few."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    asked = list(project.questions.all())
    if not asked:
        return render(request, "metrics/common/no_question.html", {"project": project})
    return overview.page(request, project, asked, heading=_("Questions"))


@login_required
@require_POST
def star(request: HttpRequest, project_id: int) -> HttpResponse:
    """Put a project first in one's own list (``starred`` 1) or no longer (0); back to the list as
    it was (``passed``)."""
    project = get_project(request.user, project_id)
    if request.POST.get("starred") not in ("0", "1"):
        raise BadRequest(_("“starred” is 0 or 1."))
    starred = request.POST["starred"] == "1"
    if not membership.star(project=project, user=request.user, starred=starred):
        raise Http404
    passed = QueryDict(request.POST.get("passed", "")[:1000])
    back = {name: passed[name] for name in LISTED if passed.get(name)}
    return redirect(f"{reverse('projects')}{'?' if back else ''}{urlencode(back)}")


# An account, or the rater that no account is told of: what makes two rows one person.
Who = tuple[int | None, int | None]


@dataclass
class Person:
    """A rater over projects: an account; or one project's rater (``alone``, the project's name)
    whom nobody signs in as, for the same key may be somebody else's in another project."""

    name: str
    n_projects: int
    n_ratings: int
    alone: str = ""
    seats: list[tuple[RaterReading, Any]] = field(default_factory=list)  # with kappa with the peers


@login_required
@require_safe
def own_raters(request: HttpRequest) -> HttpResponse:
    """The people who rate in any project that the caller leads, those with the most ratings
    first."""
    search = (request.GET.get("search") or "").strip()
    if "\0" in search or len(search) > listing.LONGEST_SEARCH:
        raise BadRequest(_("Search for a shorter text."))
    readings = _of_own_projects(request.user)
    if search:
        readings = readings.filter(person__icontains=search)
    persons = (
        readings.order_by()
        .values("account", "alone")
        .annotate(
            name=Min("person"),
            n_projects=Count("rater__project", distinct=True),
            given=Sum("n_ratings"),
            project=Min("rater__project__name"),
        )
    )
    paginator = Paginator(
        persons.order_by("-given", "name", "account", "alone"), a_page(RATERS_A_PAGE)
    )
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page = paginator.page(number)
    people = {
        (row["account"], row["alone"]): Person(
            row["name"],
            row["n_projects"],
            row["given"],
            row["project"] if row["alone"] is not None else "",
        )
        for row in page.object_list
    }
    _seat(people, readings)
    context = {"page": page, "people": list(people.values()), "search": search}
    return render(request, "metrics/raters/own_raters.html", context)


def _of_own_projects(user: Any) -> QuerySet[Any]:
    """Readings of the whole time of people in projects in use that the user leads. ``account`` and
    ``alone``: see Who; ``person``: the account's name, or the key. Whose names a project hides
    stands there under the pseudonym, alone."""
    led = Project.objects.filter(archived_at=None)
    if not user.is_superuser:
        led = led.filter(members__user=user.pk, members__role=Member.Role.LEAD)
    rows = RaterReading.objects.filter(rater__project__in=led, rater__kind=Rater.Kind.HUMAN)
    known = Q(rater__user__isnull=False, rater__project__raters_hidden=False)
    return rows.annotate(
        account=Case(When(known, then=F("rater__user"))),
        alone=Case(When(~known, then=F("rater"))),
        person=Case(When(known, then=F("rater__user__username")), default=F("rater__key")),
    )


def _seat(people: dict[Who, Person], readings: QuerySet[Any]) -> None:
    """Where each of them rates: SEATS at most, by the weights that go with each headline."""
    accounts = [account for account, _alone in people if account is not None]
    alone = [rater for _account, rater in people if rater is not None]
    mine = readings.filter(Q(account__in=accounts) | Q(alone__in=alone))
    mine = mine.select_related("rater", "question__project")
    place = Window(
        RowNumber(),
        partition_by=[F("account"), F("alone")],
        order_by=[F("n_ratings").desc(), F("pk").asc()],
    )
    mine = mine.annotate(place=place).filter(place__lte=SEATS).defer("details")
    rows = list(mine.order_by("-n_ratings", "pk"))
    questions = {row.question_id for row in rows}
    whole = Reading.objects.filter(question__in=questions, span=Span.ALL)
    weights = dict(whole.values_list("question_id", "headline__weights"))
    for row in rows:
        name = weighted("vs_peers", weights.get(row.question_id) or NONE)
        people[row.account, row.alone].seats.append((row, row.coefficients.get(name)))
