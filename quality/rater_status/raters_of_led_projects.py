"""People who rate in the projects that a user leads, with their statuses; one entry a person."""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Sum,
    TextField,
    When,
    Window,
)
from django.db.models.functions import Cast, RowNumber

from core.db.bulk import execute_statements
from core.db.prepared_query import PreparedQuery
from core.web.tables import Interval
from metrics.agreement.weights import UNWEIGHTED, get_weighted_name
from metrics.models import Diagnosis, PeriodUnit, RaterResult, Result
from metrics.results.findings import OUTLYING_RATERS
from projects.models import Project, Question, Rater
from projects.models.roles import Capability
from projects.permissions import get_led_memberships
from projects.selectors import ActiveProjects
from quality.models import DriftState, GoldScore, RaterCheck, RepeatScore, StoredRaterComparison
from quality.repeats import find_inconsistent_scores
from ratings.models import Exam

from .comparison import get_comparisons
from .rater_list import RaterListEntry, build_entry
from .reasons import NO_ALERTS, RaterStatus
from .status import (
    build_rank,
    get_alerts_by_question,
    get_failed_exams_by_question,
)
from .status_texts import get_reason_text, get_status_label

MAX_QUESTIONS_SHOWN = 8  # questions shown for a person: those with the most ratings
MAX_QUESTIONS_WITH_STATUS = 500  # with more questions, people are not sorted by status

# (account id, None), or (None, rater id) for a rater without a known account. Rows with the same
# key are of one person.
PersonKey = tuple[int | None, int | None]


@dataclass(frozen=True)
class RaterWithStatus:
    """A rater's entry, with status, in one question."""

    question: Question
    entry: RaterListEntry

    @property
    def rank(self) -> tuple[int, float]:
        """Return the sort key of the entry: worst status first, then greatest impact."""
        return build_rank(self.entry.status, self.entry.impact)


@dataclass
class Person:
    """A person who rates: an account, or a rater without an account in one project.

    ``single_project``: name of the project of a rater without an account, because the same key may
    be another person's elsewhere. ``worst``: the worst status in any question; None before it is
    set.
    """

    key: PersonKey
    username: str
    n_projects: int
    n_ratings: int
    single_project: str = ""
    worst: RaterWithStatus | None = None
    # (result, kappa with peers)
    question_results: list[tuple[RaterResult, Any]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the name of the rater with the worst status, or else the username or rater key."""
        return (self.worst.entry.name if self.worst else "") or self.username

    @property
    def status(self) -> RaterStatus:
        return self.worst.entry.status if self.worst else RaterStatus.UNKNOWN

    @property
    def status_label(self) -> str:
        return get_status_label(self.status, self.worst.entry.note if self.worst else None)

    @property
    def reason(self) -> str:
        """Return the first reason of the worst status; empty for people who are OK."""
        if self.worst is None or not self.worst.entry.reasons:
            return ""
        return get_reason_text(self.worst.entry.reasons[0], self.worst.entry.pk)

    @property
    def exported_name(self) -> str:
        """Return the name for a file, with the project of a rater without an account."""
        return f"{self.name} ({self.single_project})" if self.single_project else self.name

    @property
    def exported_status(self) -> str:
        return f"{self.status_label}: {self.reason}" if self.reason else self.status_label

    @property
    def exported_results(self) -> Interval | str:
        """Return kappa with its interval if the person has one question, else all kappas as a text.

        For a file.
        """
        cells = []
        for result, estimate in self.question_results:
            value, low, high = ((estimate or {}).get(name) for name in ("value", "low", "high"))
            name = f"{result.question.project.name}: {result.question}"
            cells.append(Interval(value, low, high, name))
        return cells[0] if len(cells) == 1 else "; ".join(map(str, cells))


def _get_rank(person: Person) -> tuple[int, float]:
    return person.worst.rank if person.worst else build_rank(RaterStatus.UNKNOWN, None)


# Column -> ascending sort key; the worst status and the largest numbers come first.
SORT_KEYS = {
    "status": _get_rank,
    "rater": lambda person: person.name.casefold(),
    "projects": lambda person: -person.n_projects,
    "ratings": lambda person: -person.n_ratings,
}


def query_results(user: Any, search: str = "") -> QuerySet[Any]:
    """Return the all-time results of people in the active projects that the user leads.

    Examples are left out. Annotated with ``account`` and ``alone`` (see PersonKey) and ``person``:
    the username, or the rater's key. If a project hides its raters, they have their pseudonym as
    key and no account.
    """
    led_projects = Project.objects.filter(archived_at=None, is_example=False)
    if not user.is_superuser:
        led_projects = led_projects.filter(members__in=get_led_memberships(user))
    rows = RaterResult.objects.filter(rater__project__in=led_projects, rater__kind=Rater.Kind.HUMAN)
    has_known_account = Q(rater__user__isnull=False, rater__project__hides_raters=False)
    results = rows.annotate(
        account=Case(When(has_known_account, then=F("rater__user"))),
        alone=Case(When(~has_known_account, then=F("rater"))),
        person=Case(
            When(has_known_account, then=F("rater__user__username")), default=F("rater__key")
        ),
    )
    if not search:
        return results
    return results.filter(Q(person__icontains=search) | Q(rater__name__icontains=search))


def list_people(results: QuerySet[Any], sort: str) -> list[Person]:
    """Return the people of ``query_results`` with their statuses, sorted by a key of SORT_KEYS.

    Statuses are left out if there are more than MAX_QUESTIONS_WITH_STATUS questions; sorting by
    status then sorts by the number of ratings.
    """
    rows = results.order_by().values("account", "alone")
    totals = rows.annotate(
        username=Min("person"),
        n_projects=Count("rater__project", distinct=True),
        n_ratings=Sum("n_ratings"),
        project=Min("rater__project__name"),
    )
    people = {
        (row["account"], row["alone"]): Person(
            (row["account"], row["alone"]),
            row["username"],
            row["n_projects"],
            row["n_ratings"],
            row["project"] if row["alone"] is not None else "",
        )
        for row in totals.order_by("-n_ratings", "username", "account", "alone")
    }
    question_ids = set(results.order_by().values_list("question", flat=True).distinct())
    if len(question_ids) <= MAX_QUESTIONS_WITH_STATUS:
        keys = {row[0]: row[1:] for row in results.values_list("rater", "account", "alone")}
        for rater in _list_raters_with_status(question_ids):
            key = keys.get(rater.entry.pk)
            has_result = rater.entry.result is not None
            person = people.get(key) if key is not None and has_result else None
            if person and (person.worst is None or rater.rank < person.worst.rank):
                person.worst = rater
    elif sort.removeprefix("-") == "status":
        sort = "ratings"
    column = sort.removeprefix("-")
    return sorted(people.values(), key=SORT_KEYS[column], reverse=sort.startswith("-"))


class RatersToCheck(NamedTuple):
    """Raters of a question with the status check: their ids, and the one with most impact."""

    project_id: int
    rater_ids: tuple[int, ...]
    first: RaterListEntry

    @property
    def n_raters(self) -> int:
        return len(self.rater_ids)

    @property
    def impact(self) -> float:
        """Impact of the first rater; 0 while it is not estimated."""
        return self.first.impact or 0.0


def get_raters_to_check(projects: ActiveProjects) -> dict[int, RatersToCheck]:
    """Return {question id: raters to check} of the questions whose results the user sees.

    Leaves out questions without any, paused and checked raters, and raters with a muted alert.
    Empty if there are more than MAX_QUESTIONS_WITH_STATUS questions.
    """
    signs = _prepare_signs(projects.parametrize())
    rows = execute_statements([(signs.sql, projects.bind(signs))])[0]
    if len(rows) > MAX_QUESTIONS_WITH_STATUS:
        return {}
    candidates = [question_id for question_id, has_sign in rows if has_sign]
    raters_of: dict[Question, list[RaterListEntry]] = {}
    for rater in _list_raters_with_status(candidates) if candidates else ():
        if _is_to_check(rater.entry):
            raters_of.setdefault(rater.question, []).append(rater.entry)
    return {
        question.pk: RatersToCheck(
            question.project_id,
            tuple(rater.pk for rater in raters),
            max(raters, key=lambda rater: rater.impact or 0),
        )
        for question, raters in raters_of.items()
    }


@functools.cache
def _prepare_signs(projects: ActiveProjects) -> PreparedQuery:
    """Build the query of (question id, whether a rater's status may become check).

    It may, with stored data that show a sign of a problem. At most one question more than
    MAX_QUESTIONS_WITH_STATUS is returned.
    """
    findings = Diagnosis.objects.annotate(text=Cast("findings", TextField()))
    rows: list[QuerySet[Any]] = [
        StoredRaterComparison.objects.exclude(body__has_findings=False),
        findings.filter(text__contains=OUTLYING_RATERS),
        DriftState.objects.filter(watched=True),
        GoldScore.objects.below_pass_mark(),
        RepeatScore.objects.all(),
        Exam.objects.latest_failed(),
    ]
    signs = (Q(Exists(queryset.filter(question=OuterRef("questions")))) for queryset in rows)
    # From projects to questions: with the limit, the database need not visit all projects.
    of_questions = projects.select(Capability.SEE_RESULTS).filter(questions__isnull=False)
    with_sign = of_questions.order_by().annotate(has_sign=functools.reduce(operator.or_, signs))
    columns = with_sign.values_list("questions", "has_sign")
    return PreparedQuery(columns[: MAX_QUESTIONS_WITH_STATUS + 1])


def _is_to_check(rater: RaterListEntry) -> bool:
    """Return whether a rater with the status check needs an action.

    Not if an alert gives that status: it has been muted, because an open one gives the status act.
    """
    is_muted = any(reason.alert for reason in rater.reasons)
    return rater.status == RaterStatus.CHECK and rater.needs_action and not is_muted


def _list_raters_with_status(question_ids: Collection[int]) -> list[RaterWithStatus]:
    """Return the status of each person in each question of their project, in ten queries."""
    questions = list(Question.objects.filter(pk__in=question_ids).select_related("project"))
    comparisons = get_comparisons(questions)
    people_of: dict[int, list[Rater]] = {}
    for rater in Rater.objects.filter(
        project__in={question.project_id for question in questions}, kind=Rater.Kind.HUMAN
    ):
        people_of.setdefault(rater.project_id, []).append(rater)
    alerts = get_alerts_by_question(questions)
    failed_exams = get_failed_exams_by_question(questions)
    drift = {
        (row.question_id, row.rater_id): row
        for row in DriftState.objects.filter(question__in=questions, watched=True)
    }
    gold = {
        (row.question_id, row.rater_id): row
        for row in GoldScore.objects.below_pass_mark().filter(question__in=questions)
    }
    scores_of: dict[int, list[RepeatScore]] = {}
    for score in RepeatScore.objects.filter(question__in=questions).defer("table", "months"):
        scores_of.setdefault(score.question_id, []).append(score)
    checks = RaterCheck.objects.recent().filter(question__in=questions)
    checked = set(checks.values_list("question_id", "rater_id"))
    raters: list[RaterWithStatus] = []
    for question in questions:
        repeats = find_inconsistent_scores(scores_of.get(question.pk, []))
        for rater in people_of.get(question.project_id, []):
            entry = build_entry(
                rater,
                comparisons[question.pk],
                drift=drift.get((question.pk, rater.pk)),
                gold=gold.get((question.pk, rater.pk)),
                repeats=repeats.get(rater.pk),
                failed_exam=failed_exams.get((question.pk, rater.pk)),
                alerts=alerts.get((question.pk, rater.pk), NO_ALERTS),
                is_checked=(question.pk, rater.pk) in checked,
            )
            raters.append(RaterWithStatus(question, entry))
    return raters


def add_question_results(people: Sequence[Person], results: QuerySet[Any]) -> None:
    """Add to each person the results with the most ratings, at most MAX_QUESTIONS_SHOWN.

    Kappa has the weights of each question's headline.
    """
    by_key = {person.key: person for person in people}
    accounts = [account for account, _alone in by_key if account is not None]
    rater_ids = [rater for _account, rater in by_key if rater is not None]
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
        value = row.coefficients.get(name)
        by_key[row.account, row.alone].question_results.append((row, value))
