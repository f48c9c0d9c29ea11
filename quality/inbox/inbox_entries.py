"""Entries of the inbox: what needs an action of a user, in all their projects.

One SQL query selects them, most impact first, whatever the number of projects. The impact of an
alert or a rater is the rater's impact in the list of raters, that of uncertain items the expected
number of wrong labels, and that of proposed warnings and pauses the number of answers on which they
are based. Otherwise it is the number of affected people, items or requests. A rater whose answers
on gold call for a pause is an entry; other raters to check are one entry per question, with the
impact of the first.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import (
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
)
from django.db.models.functions import Cast, Coalesce
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.db.bulk import Statement, execute_statements, select_from
from core.db.prepared_query import PreparedQuery
from core.text import remove_full_stop
from metrics.views.common.number_formats import format_count
from projects.models import Project, Question, Rater
from projects.models.roles import Capability
from projects.selectors import ActiveProjects
from projects.services import approvals
from quality.alerts.kinds import KINDS
from quality.models import Alert, RaterConfusion
from quality.rater_status.raters_of_led_projects import RatersToCheck, get_raters_to_check
from quality.rater_status.reasons import ReasonCode
from quality.rater_status.status_texts import REASON_TEXTS, get_reason_text
from ratings.models import Assignment

from . import entry_counts

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
_ORDER = "row_impact DESC, in_project, entry_kind, in_question, alert_id, about_rater"


class InboxScope:
    """A user whose inbox is read, of all active projects or of one of them."""

    def __init__(self, user: Any, project_id: int | None = None) -> None:
        self.projects = ActiveProjects.of_user(user, project_id)
        self.may_decide_approvals = approvals.may_decide(user)

    @cached_property
    def raters_to_check(self) -> dict[int, RatersToCheck]:
        """Return {question id: raters to check}; their statuses are computed once per scope."""
        return get_raters_to_check(self.projects)


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


class FirstEntry(NamedTuple):
    """The entry with the most impact in a project, and the number of all its entries."""

    entry: StoredEntry
    n_entries: int


@dataclass(frozen=True)
class InboxSize:
    """Number of entries of an inbox, and of the projects that have any."""

    n_entries: int
    n_projects: int


def read_entries(scope: InboxScope, limit: int, start: int = 0) -> list[StoredEntry]:
    """Return at most ``limit`` entries, most impact first, without the first ``start`` ones."""
    tail = f"ORDER BY {_ORDER} LIMIT {limit:d} OFFSET {start:d}"
    statement = select_from(_build_entries(scope), "*", tail)
    return [StoredEntry(*row) for row in execute_statements([statement])[0]]


def read_first_entries(scope: InboxScope, limit: int) -> list[FirstEntry]:
    """Return the first entry of each project, most impact first, of at most ``limit`` projects."""
    n_entries = "COUNT(*) OVER (PARTITION BY in_project) AS n_entries"
    place = f"ROW_NUMBER() OVER (PARTITION BY in_project ORDER BY {_ORDER}) AS place"
    placed = select_from(_build_entries(scope), f"*, {n_entries}, {place}")
    tail = f"WHERE place = 1 ORDER BY {_ORDER} LIMIT {limit:d}"
    statement = select_from(placed, f"{', '.join(StoredEntry._fields)}, n_entries", tail)
    rows = execute_statements([statement])[0]
    return [FirstEntry(StoredEntry(*row[:-1]), row[-1]) for row in rows]


def count_entries(scope: InboxScope) -> InboxSize:
    """Return the size of the inbox in one query, after those for the scope's raters to check."""
    numbers = "COUNT(*), COUNT(DISTINCT in_project)"
    [row] = execute_statements([select_from(_build_entries(scope), numbers)])[0]
    return InboxSize(*row)


def _build_entries(scope: InboxScope) -> Statement:
    """Return the statement of all entries, with the columns of StoredEntry, in no order."""
    prepared = _prepare_entries(scope.projects.parametrize(), scope.may_decide_approvals)
    rows = [
        StoredEntry(
            entry_counts.RATERS,
            check.project_id,
            question_id,
            0,
            check.first.pk,
            check.n_raters,
            check.impact,
        )
        for question_id, check in scope.raters_to_check.items()
    ]
    sql, values = prepared.sql, scope.projects.bind(prepared)
    if rows:
        sql += f" UNION ALL VALUES {', '.join(['(%s, %s, %s, %s, %s, %s, %s)'] * len(rows))}"
    return sql, [*values, *itertools.chain.from_iterable(rows)]


@functools.cache
def _prepare_entries(projects: ActiveProjects, may_decide_approvals: bool) -> PreparedQuery:
    """Build the query of all stored entries: those but the raters to check."""
    results = projects.select(Capability.SEE_RESULTS)
    of_rater = Q(rater=OuterRef("rater"))
    alerts = _select_entry_per_row(
        entry_counts.get_open_alerts().filter(question__project__in=results),
        entry_counts.ALERTS,
        _get_largest_impact(of_rater | Q(rater=OuterRef("other_rater")), F("impact")),
        alert_id=F("pk"),
    )
    raters = _select_entry_per_row(
        entry_counts.get_gold_scores_to_act_on().filter(question__project__in=results),
        entry_counts.RATERS,
        _get_largest_impact(of_rater, F("n") - F("right")),
        about_rater=F("rater_id"),
    )
    counted = _list_count_queries(projects, may_decide_approvals)
    return PreparedQuery(alerts.union(raters, *counted, all=True))


def _list_count_queries(
    projects: ActiveProjects, may_decide_approvals: bool
) -> list[QuerySet[Any, Any]]:
    """Return the queries whose entries are counts, such as the number of open appeals."""
    review = projects.select(Capability.REVIEW)
    uncertain = entry_counts.get_uncertain_labels().filter(question__project__in=review)
    by_question = (
        (entry_counts.get_proposed_interventions(), entry_counts.INTERVENTIONS, Sum("n_answers")),
        (entry_counts.get_open_appeals(), entry_counts.APPEALS, None),
        (entry_counts.get_exams_without_attempts(), entry_counts.EXAMS, None),
    )
    by_project = [
        (Assignment.objects.skipped_or_flagged(), entry_counts.SKIPPED, "item__project"),
        (entry_counts.get_webhooks_paused_by_failure(), entry_counts.WEBHOOKS, "project"),
    ]
    if may_decide_approvals:
        requested = entry_counts.get_requested_approvals(projects.user)
        by_project.append((requested, entry_counts.APPROVALS, "project"))
    counted = [_build_count_query(uncertain, entry_counts.UNCERTAIN_ITEMS, Sum("doubt"))]
    counted += [
        _build_count_query(rows.filter(_is_led(projects, "question__project")), kind, impact)
        for rows, kind, impact in by_question
    ]
    return counted + [
        _build_count_query(rows.filter(_is_led(projects, path)), kind, project=F(f"{path}_id"))
        for rows, kind, path in by_project
    ]


def _is_led(projects: ActiveProjects, path: str) -> Exists:
    """Build the condition that the user leads a row's project; ``path``: lookup path to it.

    It is evaluated row by row, because few rows match: with `IN`, SQLite would list all projects of
    the user for each kind of row, and search each of them.
    """
    return Exists(projects.select(Capability.MANAGE).filter(pk=OuterRef(path)))


def _get_largest_impact(of_raters: Q, otherwise: Any) -> Coalesce:
    """Build the SQL expression for the largest impact among the raters of a row.

    ``of_raters``: condition that selects the RaterConfusion rows of these raters; ``otherwise``:
    expression for the value before the impacts are estimated.
    """
    errors = RaterConfusion.objects.filter(of_raters, question=OuterRef("question"))
    largest = Subquery(errors.order_by("-impact").values("impact")[:1])
    return Coalesce(largest, Cast(otherwise, FloatField()))


def _select_entry_per_row(
    rows: QuerySet[Any], kind: str, impact: Any, **row_ids: F
) -> QuerySet[Any, Any]:
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
    """Return a query with one entry for each question, with the number of ``rows`` in it.

    ``impact``: expression for the impact, None for the number of rows. ``project``: expression for
    the project id, if the rows have no question; the query then has one entry for each project.
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
        """Return the sentence that says what needs an action."""
        if self.alert is not None:
            return str(KINDS[self.alert.kind].sentence(self.alert))
        number = entry_counts.describe_number(self.stored.entry_kind, self.stored.number)
        if self.rater is not None:
            text = _("%(what)s: %(value)s") % {"what": self.rater, "value": self.rater_reason}
            return f"{number} · {text}" if self.stored.number > 1 else text
        return number

    @property
    def url(self) -> str:
        """Return the URL of the page on which the user can act."""
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


def load_entries(stored_entries: Sequence[StoredEntry], scope: InboxScope) -> list[InboxEntry]:
    """Return the entries with the objects that they are about, loaded in at most four queries."""
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
            row.entry_kind == entry_counts.RATERS and _is_of_raters_to_check(row, scope),
        )
        for row in stored_entries
    ]


def _is_of_raters_to_check(row: StoredEntry, scope: InboxScope) -> bool:
    """Return whether a row is about the raters to check of its question."""
    check = scope.raters_to_check.get(row.in_question)
    return check is not None and check.first.pk == row.about_rater


def _get_rater_reason(row: StoredEntry, scope: InboxScope) -> str:
    """Return why a row names a rater: the first reason of the status, or the gold answers."""
    if _is_of_raters_to_check(row, scope):
        rater = scope.raters_to_check[row.in_question].first
        return get_reason_text(rater.reasons[0], rater.pk)
    return str(REASON_TEXTS[ReasonCode.GOLD])


# --- the list of projects


@dataclass(frozen=True)
class TopEntry:
    """The entry with the most impact in a project, and the number of its other entries.

    ``text`` has no full stop where the number follows.
    """

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
        self.scope = InboxScope(user)
        self._first_entries: dict[int, FirstEntry] = {}

    def rank_projects(self, limit: int) -> dict[int, float]:
        """Return {project id: largest impact of its entries}, largest first, at most ``limit``."""
        first_entries = read_first_entries(self.scope, limit)
        self._first_entries = {first.entry.in_project: first for first in first_entries}
        return {project: first.entry.row_impact for project, first in self._first_entries.items()}

    def count_projects(self) -> int:
        """Return the number of projects with entries."""
        return count_entries(self.scope).n_projects

    def get_top_entries(self, project_ids: Collection[int]) -> dict[int, TopEntry]:
        """Return {project id: its top entry} of projects that ``rank_projects`` returned."""
        stored_entries = [self._first_entries[project].entry for project in project_ids]
        return {
            row.project.pk: _build_top_entry(row, self._first_entries[row.project.pk].n_entries - 1)
            for row in load_entries(stored_entries, self.scope)
        }


def _build_top_entry(row: InboxEntry, n_more: int) -> TopEntry:
    text = remove_full_stop(row.text) if n_more else row.text
    return TopEntry(text, row.url, n_more, f"{reverse('inbox')}?project={row.project.pk}")
