"""Views of a project's questions, of the raters of a lead's projects, and of stars."""

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

from core.web.tables import Interval, get_page_size
from metrics.agreement.weights import UNWEIGHTED, get_weighted_name
from metrics.models import PeriodUnit, RaterResult, Result
from metrics.views.common.selection import get_page_number
from metrics.views.questions import overview
from projects.models import Member, Project, Rater
from projects.permissions import get_project
from projects.services.members import membership

from . import listing

RATERS_PER_PAGE = 50
LIST_PARAMETERS = ("group", "search", "sort", "page")  # parameters of the list of projects
MAX_QUESTIONS_SHOWN = 8  # questions shown for a person: those with the most ratings


@login_required
@require_safe
def questions(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show all questions of a project side by side."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    project_questions = list(project.questions.all())
    if not project_questions:
        return render(request, "metrics/common/no_question.html", {"project": project})
    return overview.render_overview(request, project, project_questions, heading=_("Questions"))


@login_required
@require_POST
def set_star(request: HttpRequest, project_id: int) -> HttpResponse:
    """Star a project (``starred`` 1) or remove the star (0).

    Redirects to the list with its previous parameters (``passed``).
    """
    project = get_project(request.user, project_id)
    if request.POST.get("starred") not in ("0", "1"):
        raise BadRequest(_("“starred” is 0 or 1."))
    starred = request.POST["starred"] == "1"
    if not membership.set_starred(project=project, user=request.user, starred=starred):
        raise Http404
    list_query = QueryDict(request.POST.get("passed", "")[:1000])
    list_parameters = {name: list_query[name] for name in LIST_PARAMETERS if list_query.get(name)}
    return redirect(
        f"{reverse('projects')}{'?' if list_parameters else ''}{urlencode(list_parameters)}"
    )


# (account id, None), or (None, rater id) for a rater without a known account. Rows with the same
# key are of one person.
PersonKey = tuple[int | None, int | None]


@dataclass
class PersonSummary:
    """A person who rates: an account, or a rater without an account in one project.

    ``single_project``: the name of that one project; the same rater key may belong to somebody else
    in another project.
    """

    name: str
    n_projects: int
    n_ratings: int
    single_project: str = ""
    question_results: list[tuple[RaterResult, Any]] = field(
        default_factory=list
    )  # (result, vs_peers)

    @property
    def exported_results(self) -> Interval | str:
        """The kappa of the only question, or all as text, for a file."""
        cells = []
        for seat, estimate in self.question_results:
            numbers = [(estimate or {}).get(name) for name in ("value", "low", "high")]
            cells.append(Interval(*numbers, text=f"{seat.question.project.name}: {seat.question}"))
        return cells[0] if len(cells) == 1 else "; ".join(map(str, cells))


@login_required
@require_safe
def all_raters(request: HttpRequest) -> HttpResponse:
    """Show the people who rate in projects that the user leads, most ratings first."""
    search = (request.GET.get("search") or "").strip()
    if "\0" in search or len(search) > listing.MAX_SEARCH_LENGTH:
        raise BadRequest(_("Search for a shorter text."))
    results = _query_results_of_led_projects(request.user)
    if search:
        results = results.filter(person__icontains=search)
    persons = (
        results.order_by()
        .values("account", "alone")
        .annotate(
            name=Min("person"),
            n_projects=Count("rater__project", distinct=True),
            total_ratings=Sum("n_ratings"),
            project=Min("rater__project__name"),
        )
    )
    paginator = Paginator(
        persons.order_by("-total_ratings", "name", "account", "alone"),
        get_page_size(RATERS_PER_PAGE),
    )
    number = get_page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page = paginator.page(number)
    people = {
        (row["account"], row["alone"]): PersonSummary(
            row["name"],
            row["n_projects"],
            row["total_ratings"],
            row["project"] if row["alone"] is not None else "",
        )
        for row in page.object_list
    }
    _add_question_results(people, results)
    context = {"page": page, "people": list(people.values()), "search": search}
    return render(request, "metrics/raters/all_raters.html", context)


def _query_results_of_led_projects(user: Any) -> QuerySet[Any]:
    """Return all-time results of people in active projects that the user leads.

    Annotated with ``account`` and ``alone`` (see PersonKey) and ``person``: the account's name, or
    the rater's key. Raters of a project with pseudonyms appear under the pseudonym, without an
    account.
    """
    led_projects = Project.objects.filter(archived_at=None)
    if not user.is_superuser:
        led_projects = led_projects.filter(members__user=user.pk, members__role=Member.Role.LEAD)
    rows = RaterResult.objects.filter(rater__project__in=led_projects, rater__kind=Rater.Kind.HUMAN)
    has_known_account = Q(rater__user__isnull=False, rater__project__hides_raters=False)
    return rows.annotate(
        account=Case(When(has_known_account, then=F("rater__user"))),
        alone=Case(When(~has_known_account, then=F("rater"))),
        person=Case(
            When(has_known_account, then=F("rater__user__username")), default=F("rater__key")
        ),
    )


def _add_question_results(people: dict[PersonKey, PersonSummary], results: QuerySet[Any]) -> None:
    """Add each person's largest results, under the weights of each headline.

    At most MAX_QUESTIONS_SHOWN a person.
    """
    accounts = [account for account, _alone in people if account is not None]
    rater_ids = [rater for _account, rater in people if rater is not None]
    own_results = results.filter(Q(account__in=accounts) | Q(alone__in=rater_ids))
    own_results = own_results.select_related("rater", "question__project")
    rank = Window(
        RowNumber(),
        partition_by=[F("account"), F("alone")],
        order_by=[F("n_ratings").desc(), F("pk").asc()],
    )
    own_results = (
        own_results.annotate(rank=rank).filter(rank__lte=MAX_QUESTIONS_SHOWN).defer("details")
    )
    rows = list(own_results.order_by("-n_ratings", "pk"))
    questions = {row.question_id for row in rows}
    all_time = Result.objects.filter(question__in=questions, period_unit=PeriodUnit.ALL)
    weights = dict(all_time.values_list("question_id", "headline__weights"))
    for row in rows:
        name = get_weighted_name("vs_peers", weights.get(row.question_id) or UNWEIGHTED)
        people[row.account, row.alone].question_results.append((row, row.coefficients.get(name)))
