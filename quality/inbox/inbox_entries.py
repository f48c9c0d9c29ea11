"""Entries of the inbox: what needs an action of a user, in all their projects.

One SQL query selects them, most impact first, whatever the number of projects. The impact of an
alert or a rater is the rater's impact in the list of raters, that of uncertain items the expected
number of wrong labels. Otherwise it is the number of affected people, items or requests. Raters to
check are one entry per question, with the impact of the first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    FloatField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.db import bulk
from metrics.views.common.number_formats import format_count
from projects.models import Project, Question, Rater
from projects.models.roles import Capability, list_roles_with
from quality.alerts.kinds import KINDS
from quality.models import Alert, RaterConfusion
from quality.rater_status.raters_of_led_projects import RatersToCheck, get_raters_to_check
from quality.rater_status.reasons import ReasonCode
from quality.rater_status.status_texts import REASON_TEXTS, get_reason_text
from ratings.models import Assignment

from . import entry_counts

ORDER = ("-row_impact", "in_project", "entry_kind", "in_question", "alert_id", "about_rater")
ACTIONS: dict[str, Promise] = {
    entry_counts.ALERTS: gettext_lazy("Open alert"),
    entry_counts.RATERS: gettext_lazy("View rater"),
    entry_counts.INTERVENTIONS: gettext_lazy("Decide on pause"),
    entry_counts.EXAMS: gettext_lazy("Decide on exam"),
    entry_counts.APPEALS: gettext_lazy("Answer appeals"),
    entry_counts.UNCERTAIN_ITEMS: gettext_lazy("Review items"),
    entry_counts.SKIPPED: gettext_lazy("Check items"),
    entry_counts.WEBHOOKS: gettext_lazy("Check webhooks"),
    entry_counts.APPROVALS: gettext_lazy("Decide on approval"),
}


@dataclass
class InboxScope:
    """The user's active projects by what the user may do in them, as subqueries."""

    results: QuerySet[Project]
    review: QuerySet[Project]
    led: QuerySet[Project]
    user: Any

    @cached_property
    def raters_to_check(self) -> dict[int, RatersToCheck]:
        """{question id: raters to check}; statuses are computed once per scope."""
        return get_raters_to_check(self.results)

    @classmethod
    def for_user(cls, user: Any, project_ids: Collection[int] | None = None) -> InboxScope:
        """Return the user's active projects, if given only of ``project_ids``; never examples."""
        projects = Project.objects.filter(archived_at=None, is_example=False)
        if project_ids is not None:
            projects = projects.filter(pk__in=project_ids)

        def select(capability: Capability) -> QuerySet[Project]:
            if user.is_superuser:
                return projects
            roles = list_roles_with(capability)
            return projects.filter(members__user=user, members__role__in=roles)

        return cls(
            results=select(Capability.SEE_RESULTS),
            review=select(Capability.REVIEW),
            led=select(Capability.MANAGE),
            user=user,
        )

    def narrow(self, project_ids: Collection[int]) -> InboxScope:
        """Return the part of the scope in these projects, without computing statuses again."""
        narrowed = self.for_user(self.user, project_ids)
        narrowed.raters_to_check = {
            question_id: check
            for question_id, check in self.raters_to_check.items()
            if check.project_id in project_ids
        }
        return narrowed

    def is_led(self, project: str) -> Exists:
        """Build the condition that the user leads a row's project; ``project``: lookup path to it.

        It is evaluated row by row, because few rows match: with `IN`, SQLite would list all
        projects of the user for each kind of row, and search each of them.
        """
        return Exists(self.led.filter(pk=OuterRef(project)))


class StoredEntry(NamedTuple):
    """An entry as a row of the query.

    ``entry_kind``: a key of ACTIONS; ``in_question``: question id, 0 if the entry is about the
    project; ``alert_id`` and ``about_rater``: ids, 0 if it is about no alert or no rater;
    ``number``: number of things of this kind.
    """

    entry_kind: str
    in_project: int
    in_question: int
    alert_id: int
    about_rater: int
    number: int
    row_impact: float


def select_entries(scope: InboxScope) -> QuerySet[Any, Any]:
    """Return a query with the columns of StoredEntry, in no order."""
    of_rater = Q(rater=OuterRef("rater"))
    alerts = _select_each(
        entry_counts.get_open_alerts().filter(question__project__in=scope.results),
        entry_counts.ALERTS,
        _get_largest_impact(of_rater | Q(rater=OuterRef("other_rater")), F("impact")),
        alert_id=F("pk"),
    )
    raters = _select_each(
        entry_counts.get_raters_below_pass_mark().filter(question__project__in=scope.results),
        entry_counts.RATERS,
        _get_largest_impact(of_rater, F("n") - F("right")),
        about_rater=F("rater_id"),
    )
    queries = [raters, *_list_count_queries(scope)]
    if scope.raters_to_check:
        queries.append(_select_raters_to_check(scope.raters_to_check))
    return alerts.union(*queries, all=True)


def _select_raters_to_check(checks: Mapping[int, RatersToCheck]) -> QuerySet[Any, Any]:
    """Return an entry for each question with raters to check.

    Only its impact is in the SQL, for the order; `_complete_entry` adds the rater and the number.
    """
    impacts = (When(pk=pk, then=Value(check.impact)) for pk, check in checks.items())
    annotated = Question.objects.filter(pk__in=checks).order_by()
    return annotated.annotate(
        entry_kind=Value(entry_counts.RATERS),
        in_project=F("project_id"),
        in_question=F("pk"),
        alert_id=Value(0),
        about_rater=Value(0),
        number=Value(1),
        row_impact=Case(*impacts, output_field=FloatField()),
    ).values_list(*StoredEntry._fields)


def _is_of_raters_to_check(entry: StoredEntry) -> bool:
    """Return whether `_select_raters_to_check` selected the entry."""
    return entry.entry_kind == entry_counts.RATERS and not entry.about_rater


def _complete_entry(entry: StoredEntry, scope: InboxScope) -> StoredEntry:
    """Add the rater and the number to an entry of `_select_raters_to_check`."""
    if not _is_of_raters_to_check(entry):
        return entry
    check = scope.raters_to_check[entry.in_question]
    return entry._replace(about_rater=check.first.pk, number=check.n_raters)


def _list_count_queries(scope: InboxScope) -> list[QuerySet[Any, Any]]:
    """Return the queries whose entries are counts, such as the number of open appeals."""
    uncertain = entry_counts.get_uncertain_labels().filter(question__project__in=scope.review)
    by_question = (
        (entry_counts.get_proposed_interventions(), entry_counts.INTERVENTIONS, Sum("n_answers")),
        (entry_counts.get_open_appeals(), entry_counts.APPEALS, None),
        (entry_counts.get_exams_without_attempts(), entry_counts.EXAMS, None),
    )
    by_project = (
        (Assignment.objects.skipped_or_flagged(), entry_counts.SKIPPED, "item__project"),
        (entry_counts.get_webhooks_paused_by_failure(), entry_counts.WEBHOOKS, "project"),
        (entry_counts.get_requested_approvals(scope.user), entry_counts.APPROVALS, "project"),
    )
    counted = [_build_count_query(uncertain, entry_counts.UNCERTAIN_ITEMS, Sum("doubt"))]
    counted += [
        _build_count_query(rows.filter(scope.is_led("question__project")), kind, impact)
        for rows, kind, impact in by_question
    ]
    return counted + [
        _build_count_query(rows.filter(scope.is_led(path)), kind, project=F(f"{path}_id"))
        for rows, kind, path in by_project
    ]


def _get_largest_impact(of_raters: Q, otherwise: Any) -> Coalesce:
    """Build the expression for the largest impact of a row's raters (``of_raters``).

    ``otherwise``: its value before the impacts are estimated.
    """
    errors = RaterConfusion.objects.filter(of_raters, question=OuterRef("question"))
    largest = Subquery(errors.order_by("-impact").values("impact")[:1])
    return Coalesce(largest, Cast(otherwise, FloatField()))


def _select_each(rows: QuerySet[Any], kind: str, impact: Any, **row_ids: F) -> QuerySet[Any, Any]:
    """Return a query with one entry for each row.

    ``row_ids``: expressions for ``alert_id`` or ``about_rater``, which are 0 by default.
    """
    annotated = rows.order_by().annotate(
        **{"alert_id": Value(0), "about_rater": Value(0), **row_ids},
        entry_kind=Value(kind),
        in_project=F("question__project_id"),
        in_question=F("question_id"),
        number=Value(1),
        row_impact=impact,
    )
    return annotated.values_list(*StoredEntry._fields)


def _build_count_query(
    rows: QuerySet[Any], kind: str, impact: Any = None, *, project: Any = None
) -> QuerySet[Any, Any]:
    """Return a query with one entry for each question, with its number of rows.

    ``project``: the expression for the project id, if the rows have no question; the query then has
    one entry for each project.
    """
    annotated = rows.order_by().annotate(
        entry_kind=Value(kind),
        in_project=F("question__project_id") if project is None else project,
        in_question=F("question_id") if project is None else Value(0),
        alert_id=Value(0),
        about_rater=Value(0),
    )
    grouped = annotated.values("entry_kind", "in_project", "in_question", "alert_id", "about_rater")
    return grouped.annotate(
        number=Count("pk"), row_impact=Cast(impact or Count("pk"), FloatField())
    ).values_list(*StoredEntry._fields)


class InboxSize(NamedTuple):
    """Number of entries of an inbox, and of the projects that have any."""

    n_entries: int
    n_projects: int


def count_entries(scope: InboxScope) -> InboxSize:
    """Return the size of the inbox in one query."""
    [(n_entries, n_projects)] = bulk.select_from_query(
        select_entries(scope), "COUNT(*), COUNT(DISTINCT in_project)"
    )
    return InboxSize(n_entries, n_projects)


@dataclass(frozen=True)
class InboxEntry:
    """An entry with the objects that it is about."""

    stored: StoredEntry
    project: Project
    question: Question | None
    alert: Alert | None = None
    rater: Rater | None = None
    rater_reason: str = ""
    is_to_check: bool = False  # raters whom a lead can mark as checked

    @property
    def text(self) -> str:
        """Sentence on what needs an action."""
        if self.alert is not None:
            return str(KINDS[self.alert.kind].sentence(self.alert))
        number = entry_counts.describe_number(self.stored.entry_kind, self.stored.number)
        if self.rater is not None:
            text = _("%(what)s: %(value)s") % {"what": self.rater, "value": self.rater_reason}
            return f"{number} · {text}" if self.stored.number > 1 else text
        return number

    @property
    def url(self) -> str:
        """URL of the page on which the user can act."""
        if self.alert is not None:
            return reverse("alert", args=[self.project.pk, self.alert.pk])
        page, parameters = self.stored.entry_kind, {}
        if self.rater is not None and self.stored.number == 1:
            url = reverse("rater", args=[self.project.pk, self.rater.key])
        else:
            url = reverse(page, args=[self.project.pk])
            parameters = {"sort": "-impact"} if page == entry_counts.RATERS else {}
        if self.question is not None:
            parameters |= {"question": self.question.key}
        return f"{url}?{urlencode(parameters)}" if parameters else url

    @property
    def action(self) -> str:
        is_list = self.rater is not None and self.stored.number > 1
        return _("View raters") if is_list else str(ACTIONS[self.stored.entry_kind])


def load_entries(rows: Sequence[tuple[Any, ...]], scope: InboxScope) -> list[InboxEntry]:
    """Return the rows with the objects that they are about, loaded in four queries."""
    stored_entries = [_complete_entry(StoredEntry(*row), scope) for row in rows]
    projects = Project.objects.in_bulk({row.in_project for row in stored_entries})
    questions = Question.objects.in_bulk({row.in_question for row in stored_entries} - {0})
    alerts = (
        Alert.objects.defer("chart")
        .select_related("question__project", "rater", "other_rater")
        .in_bulk({row.alert_id for row in stored_entries} - {0})
    )
    raters = Rater.objects.in_bulk({row.about_rater for row in stored_entries} - {0})
    return [
        InboxEntry(
            row,
            projects[row.in_project],
            questions.get(row.in_question),
            alerts.get(row.alert_id),
            raters.get(row.about_rater),
            _get_rater_reason(row, scope),
            _is_of_raters_to_check(StoredEntry(*stored_row)),
        )
        for stored_row, row in zip(rows, stored_entries, strict=True)
    ]


def _get_rater_reason(row: StoredEntry, scope: InboxScope) -> str:
    """Return why a row names a rater: the first reason of the status, or the gold answers."""
    check = scope.raters_to_check.get(row.in_question)
    if check is not None and check.first.pk == row.about_rater:
        return get_reason_text(check.first.reasons[0], check.first.pk)
    return str(REASON_TEXTS[ReasonCode.GOLD])


# --- the list of projects


@dataclass(frozen=True)
class TopEntry:
    """The entry with the most impact in a project, and the number of its other entries."""

    text: str
    url: str
    n_more: int
    all_url: str

    @property
    def more_text(self) -> str:
        return _("and %(n)s more") % {"n": format_count(self.n_more)}


class ProjectInbox:
    """A user's inbox by project, for the list of projects (metrics.views.project_list)."""

    def __init__(self, user: Any) -> None:
        self.scope = InboxScope.for_user(user)

    def rank_projects(self, limit: int) -> dict[int, float]:
        """Return {project id: largest impact of its entries}, largest first, at most ``limit``."""
        tail = f"GROUP BY in_project ORDER BY 2 DESC, 1 LIMIT {limit:d}"
        columns = "in_project, MAX(row_impact)"
        rows = bulk.select_from_query(select_entries(self.scope), columns, tail)
        return {project: float(impact) for project, impact in rows}

    def count_projects(self) -> int:
        """Return the number of projects with entries."""
        return count_entries(self.scope).n_projects

    def get_top_entries(self, project_ids: Collection[int]) -> dict[int, TopEntry]:
        """Return {project id: its top entry}, without projects that have no entries."""
        if not project_ids:
            return {}
        by_project: dict[int, list[StoredEntry]] = {}
        scope = self.scope.narrow(project_ids)
        for row in select_entries(scope).order_by(*ORDER):
            by_project.setdefault(row[1], []).append(StoredEntry(*row))
        top_entries = load_entries([rows[0] for rows in by_project.values()], scope)
        return {
            row.project.pk: TopEntry(
                row.text,
                row.url,
                len(by_project[row.project.pk]) - 1,
                f"{reverse('inbox')}?project={row.project.pk}",
            )
            for row in top_entries
        }
