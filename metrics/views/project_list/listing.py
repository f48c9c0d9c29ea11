"""Build the list of projects, with a fixed number of queries.

The rows are complete enough to search, sort and group them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Count, F, FilteredRelation, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Abs
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core.web.links import render_link
from metrics.agreement.explain import bands
from metrics.models import PeriodUnit
from metrics.results.findings import is_band_withheld
from metrics.results.question_agreement import load_agreements
from metrics.views.common.getting_started import build_steps, is_card_shown
from metrics.views.common.insights import (
    build_outlier_sentences,
    get_outlier_raters_by_question,
    get_stored_findings,
)
from metrics.views.common.number_formats import format_count
from metrics.views.common.question_rows import QuestionRow, count_items_with
from metrics.views.common.trends import recent_weeks
from projects.models import Deletion, Member, Project, Question, Rater
from projects.permissions import get_effective_role
from projects.selectors import count_items_by_project
from ratings.models import Rating
from ratings.services import uncounted_ratings

from .project_row import (
    PROJECT_INBOX,
    AvatarGroup,
    ProjectGroup,
    ProjectInbox,
    ProjectRow,
    get_avatars,
)

PROJECTS_PER_PAGE = 25
MAX_PROJECTS = 500  # the newest projects
MAX_SEARCH_LENGTH = 200
# What grouping, sorting and the rows of leads need of a project.
LISTED_FIELDS = (
    "name", "overlap", "band_scheme", "guidelines_version", "archived_at", "is_example",
    "created_by", "items_and_raters_version", "tags",
)  # fmt: skip


def build_rows(projects: list[Any], user: Any, deleting: Collection[int]) -> list[ProjectRow]:
    """Return the rows of these projects in their order; rows of those being deleted stay empty.

    ``projects``: as `_select_listed` loads them; ``deleting``: ids of those being deleted.
    """
    lead = Member.Role.LEAD if user.is_superuser else None
    project_rows = [
        ProjectRow(
            project,
            get_effective_role(project, lead or project.own_role) or "",
            project.pk in deleting,
            project.own_star,
        )
        for project in projects
    ]
    _fill_rows([row for row in project_rows if not row.is_being_deleted])
    return project_rows


def _select_listed(projects: QuerySet[Project], user: Any) -> QuerySet[Project]:
    """Load only LISTED_FIELDS, and the user's role and star as ``own_role`` and ``own_star``."""
    if user.is_superuser:  # of some projects no member
        own = FilteredRelation("members", condition=Q(members__user=user))
        projects = projects.alias(own=own)
        columns = {"own_role": F("own__role"), "own_star": F("own__starred")}
    else:  # the row of members by which the project is visible
        columns = {"own_role": F("members__role"), "own_star": F("members__starred")}
    return projects.annotate(**columns).only(*LISTED_FIELDS)


def _load_listed(
    projects: QuerySet[Project], impacts: Mapping[int, float], user: Any
) -> list[Project]:
    """Return at most MAX_PROJECTS: those with an impact, and then the newest."""
    listed = _select_listed(projects, user)
    needing = list(listed.filter(pk__in=impacts)) if impacts else []
    # Their ids alone are sorted in a third of the time that whole rows take.
    newest = projects.exclude(pk__in=impacts).values("pk")[: MAX_PROJECTS - len(needing)]
    return [*needing, *listed.filter(pk__in=newest)]


def _fill_rows(filled_rows: list[ProjectRow]) -> None:
    """Load the progress of the projects, and whatever else determines their groups."""
    questions: dict[int, list[_QuestionProgress]] = {}
    for progress in _load_progress([row.project.pk for row in filled_rows]):
        questions.setdefault(progress.project, []).append(progress)
    for row in filled_rows:
        if row.project.pk in questions and row.sees_results:
            progresses = questions[row.project.pk]
            first_rated = next((q for q in progresses if q.n_ratings), progresses[0])
            row.shown_question_id = first_rated.question
            row.n_complete_items = count_items_with(row.project.overlap, first_rated.by_ratings)
            row.rating_counts = {q.question: q.n_ratings for q in progresses}
    rows_with_complete_items = [row for row in filled_rows if row.n_complete_items]
    _add_item_counts(rows_with_complete_items)
    _add_uncounted_ratings([row for row in rows_with_complete_items if row.has_complete_items_only])


def _add_project_columns(rows: list[ProjectRow]) -> None:
    projects = Project.objects.in_bulk([row.project.pk for row in rows])
    for row in rows:
        row.project = projects.get(row.project.pk, row.project)


def _add_item_counts(rows: list[ProjectRow]) -> None:
    n_items = count_items_by_project([row.project for row in rows])
    for row in rows:
        row.n_items = n_items[row.project.pk]


def _add_uncounted_ratings(rows: list[ProjectRow]) -> None:
    uncounted = _count_uncounted_by_project([pk for row in rows for pk in row.rating_counts])
    for row in rows:
        row.uncounted = uncounted.get(row.project.pk, 0)


class _QuestionProgress(NamedTuple):
    """A question's id, project and number of ratings, and its items by number of ratings."""

    project: int
    question: int
    n_ratings: int
    by_ratings: dict[str, int]


def _load_progress(projects: list[int]) -> list[_QuestionProgress]:
    """Return the progress of every question of these projects, in the order of the questions."""
    all_time = FilteredRelation("results", condition=Q(results__period_unit=PeriodUnit.ALL))
    questions = Question.objects.filter(project__in=projects).alias(all_time=all_time)
    columns = questions.values_list(
        "project_id", "pk", "count_state__ratings", "all_time__details__by_ratings"
    )
    return [
        _QuestionProgress(project, question, n_ratings or 0, by_ratings or {})
        for project, question, n_ratings, by_ratings in columns
    ]


def _add_questions(rows: list[ProjectRow]) -> None:
    """Load the questions of these rows with their results."""
    rows_by_project = {row.project.pk: row for row in rows if row.shown_question_id}
    questions = list(Question.objects.filter(project__in=rows_by_project))
    agreements = load_agreements(questions)
    for question in questions:
        row = rows_by_project[question.project_id]
        question_row = QuestionRow(
            row.project,
            question,
            agreements.get(question.pk),
            row.rating_counts.get(question.pk, 0),
        )
        row.questions.append(question_row)
        if question.pk == row.shown_question_id:
            row.shown_question = question_row


def _add_lead_notes(rows: list[ProjectRow]) -> None:
    """Add notes for the lead, and whether the findings forbid naming a band for the shown value."""
    shown_rows = [row.shown_question for row in rows if row.shown_question]
    findings = get_stored_findings(shown_row.question.pk for shown_row in shown_rows)
    outliers = get_outlier_raters_by_question(findings)
    for row, shown_row in zip(rows, shown_rows, strict=True):
        shown_row.is_band_withheld = is_band_withheld(findings.get(shown_row.question.pk, []))
        row.attention = _build_attention_notes(
            row, shown_row.question, outliers.get(shown_row.question.pk, [])
        )


def _add_setup_steps(rows: list[ProjectRow]) -> None:
    """Add the steps that new projects still need, for their leads."""
    new_rows = [row for row in rows if is_card_shown(row.project, row.role, row.agreement)]
    if not new_rows:
        return
    raters = Rater.objects.filter(project__in=[row.project for row in new_rows])
    numbers = dict(raters.values_list("project").annotate(Count("pk")).order_by())
    for row in new_rows:
        n_raters = numbers.get(row.project.pk, 0)
        row.steps = build_steps(row.project, row.agreement, n_items=row.n_items, n_raters=n_raters)


def load_page_details(page_rows: list[ProjectRow], inboxes: Sequence[ProjectInbox]) -> None:
    """Load the details that only the rows of the shown page need.

    They are the numbers of items and of uncounted ratings, the questions with their results, the
    top entries of the inbox, the notes, the weekly trends, the raters, and when a rating last
    changed. Rows of users who don't see results get all columns of the project.

    ``inboxes``: those of the list (`list_projects`).
    """
    _add_project_columns([row for row in page_rows if not row.sees_results])
    counted_rows = [row for row in page_rows if not row.is_being_deleted]
    _add_item_counts([row for row in counted_rows if not row.n_complete_items])
    _add_uncounted_ratings([row for row in counted_rows if not row.has_complete_items_only])
    _add_questions([row for row in page_rows if not row.questions])
    needing = [row.project.pk for row in page_rows if row.impact is not None]
    for inbox in inboxes:
        top_entries = inbox.get_top_entries(needing)
        for row in page_rows:
            row.top_entry = top_entries.get(row.project.pk)
    filled_rows = [row for row in page_rows if row.questions]
    _add_lead_notes(filled_rows)
    _add_setup_steps(filled_rows)
    questions = [question_row for row in filled_rows for question_row in row.questions]
    weekly_trends = recent_weeks.get_recent_weeks(
        {row.question.pk: row.agreement for row in questions if row.agreement}
    )
    people = get_avatars([row.project for row in filled_rows])
    last_changes = dict(
        query_last_changes([question_row.question.pk for question_row in questions])
    )
    for row in filled_rows:
        for question_row in row.questions:
            question_row.weekly_trend = weekly_trends.get(question_row.question.pk)
        row.people = people.get(row.project.pk, AvatarGroup())
        times = [last_changes.get(question_row.question.pk) for question_row in row.questions]
        row.last_rated = max((time for time in times if time), default=None)


def query_last_changes(questions: Collection[int]) -> QuerySet[Question, tuple[int, Any]]:
    """Return a queryset of (question id, newest change of its ratings); None without ratings.

    It takes one index lookup for each question. SQLite uses the index only if the outer id is an
    expression, and if the order has no id: else it would sort the ratings of a file, which have the
    same time.
    """
    newest = Rating.objects.newest_for_question_id(Abs(OuterRef("pk"))).order_by("-changed_at")
    selected_questions = Question.objects.filter(pk__in=questions).order_by()
    return selected_questions.values_list("pk", Subquery(newest.values("changed_at")[:1]))


@dataclass(frozen=True)
class ProjectListPage:
    """The rows of the list that the URL selects, and the number of projects in each group."""

    rows: list[ProjectRow]
    groups: list[tuple[ProjectGroup, int]]
    search: str
    sort: str
    group: str
    example_names: set[str]  # of the examples that the user loaded
    inboxes: Sequence[ProjectInbox] = ()  # of the user


def list_projects(user: Any, *, search: str, sort: str, group: str) -> ProjectListPage:
    """Return the user's projects in one group whose name or tags contain ``search``.

    At most MAX_PROJECTS are considered: those in the user's inbox, and then the newest.

    Without a group, they are those neither archived nor examples; examples are included if there
    are no others, or if names are searched. Projects being deleted come last, in no group.
    """
    visible = Project.objects.visible_to(user).order_by("-id")
    if search:
        visible = visible.filter(Q(name__icontains=search) | Q(tags__icontains=search))
    deletions = Deletion.objects.filter(kind=Deletion.Kind.PROJECT, finished_at=None)
    deleting = set(deletions.values_list("target", flat=True))
    is_archived = Q(archived_at__isnull=False) & ~Q(pk__in=deleting)
    archived = group == ProjectGroup.ARCHIVED
    inboxes = [] if archived else PROJECT_INBOX.call(user)
    impacts = _rank_by_need(inboxes)
    in_state = visible.filter(is_archived if archived else ~is_archived)
    all_rows = build_rows(_load_listed(in_state, impacts, user), user, deleting)
    for row in all_rows:
        row.impact = impacts.get(row.project.pk)
    numbers = Counter(row.group for row in all_rows if not row.is_being_deleted)
    if archived:
        groups = [(ProjectGroup.ARCHIVED, len(all_rows))]
        return ProjectListPage(_sort_rows(all_rows, sort), groups, search, sort, group, set())
    if len(impacts) == MAX_PROJECTS and not search:
        numbers[ProjectGroup.ATTENTION] = sum(inbox.count_projects() for inbox in inboxes)
    numbers[ProjectGroup.ARCHIVED] = visible.filter(is_archived).count()
    groups = [(row_group, numbers[row_group]) for row_group in ProjectGroup if numbers[row_group]]
    has_only_examples = {row_group for row_group, _number in groups} == {ProjectGroup.EXAMPLES}
    if not group and not search and has_only_examples:
        group = ProjectGroup.EXAMPLES
    group_rows = [row for row in all_rows if _is_in_group(row, group, search=search)]
    examples = _get_example_names(all_rows, user)
    return ProjectListPage(
        _sort_rows(group_rows, sort), groups, search, sort, group, examples, inboxes
    )


def _get_example_names(rows: list[ProjectRow], user: Any) -> set[str]:
    """Return the names of the examples among the rows that the user has loaded."""
    projects = [row.project for row in rows if row.project.is_example]
    return {project.name for project in projects if project.created_by_id == user.pk}


def _is_in_group(row: ProjectRow, group: str, *, search: str) -> bool:
    if group:
        return row.group == group and not row.is_being_deleted
    return bool(search) or row.group != ProjectGroup.EXAMPLES


def _rank_by_need(inboxes: Sequence[ProjectInbox]) -> dict[int, float]:
    """Return {project id: impact} of the projects in the user's inbox, the largest first."""
    ranks: dict[int, float] = {}
    for inbox in inboxes:
        ranks |= inbox.rank_projects(MAX_PROJECTS)
    return ranks


def _get_agreement_sort_key(row: ProjectRow) -> tuple[bool, float]:
    """Return a sort key with the lowest agreement first, and values that are too early to say last.

    A value whose interval is too wide is not evidence of low agreement.
    """
    estimate = row.headline
    if estimate is None or (value := estimate["value"]) is None:
        return True, math.inf
    scheme = row.project.band_scheme
    is_too_early = bands.is_inconclusive(
        estimate.get("n_items"), estimate.get("low"), estimate.get("high"), scheme
    )
    return is_too_early, value


SORTS: dict[str, tuple[str | Promise, Callable[[ProjectRow], Any]]] = {
    "need": (
        gettext_lazy("Most urgent"),
        lambda row: (row.impact is None, -(row.impact or 0.0), -row.project.pk),
    ),
    "newest": (gettext_lazy("Newest"), lambda row: -row.project.pk),
    "name": (gettext_lazy("Name"), lambda row: row.project.name.casefold()),
    "agreement": (gettext_lazy("Lowest agreement"), _get_agreement_sort_key),
    "progress": (
        gettext_lazy("Least progress"),
        lambda row: row.n_complete_items / row.n_items if row.n_items else 0,
    ),
}


def _sort_rows(rows: list[ProjectRow], sort: str) -> list[ProjectRow]:
    """Sort the rows: starred projects first in any order, projects being deleted last."""
    if sort == "agreement":
        _add_questions(rows)
    key = SORTS[sort][1]
    return sorted(rows, key=lambda row: (row.is_being_deleted, not row.starred, key(row)))


def _count_uncounted_by_project(questions: list[int]) -> dict[int, int]:
    """Return {project id: number of uncounted ratings of these questions}."""
    rows = uncounted_ratings.get_ratings(questions).order_by().values_list("question__project_id")
    return dict(rows.annotate(Count("id")))


def _build_attention_notes(
    row: ProjectRow, question: Question, outlier_raters: list[Rater]
) -> list[str | SafeString]:
    """Return notes on what needs the lead's attention, the most urgent first, with links."""
    notes: list[str | SafeString] = []
    uncounted = row.uncounted
    query = urlencode({"question": question.key})
    if not row.n_items:
        notes.append(render_link(reverse("data", args=[row.project.pk]), _("No items yet.")))
    elif not row.n_ratings and not uncounted:
        notes.append(_("No ratings yet."))
    if row.is_single:
        notes.append(_("No item has two ratings yet."))
    if uncounted:
        notes.append(
            ngettext("%(n)s rating pending", "%(n)s ratings pending", uncounted) % {"n": uncounted}
        )
    notes += build_outlier_sentences(outlier_raters, row.project.pk, query)
    n_short = row.n_items - row.n_complete_items
    if row.n_ratings and n_short > 0:
        shortage_text = ngettext(
            "%(n)s item has fewer than %(overlap)s ratings.",
            "%(n)s items have fewer than %(overlap)s ratings.",
            n_short,
        ) % {"n": format_count(n_short), "overlap": row.project.overlap}
        coverage_url = f"{reverse('project_statistics', args=[row.project.pk])}?{query}#missing"
        notes.append(render_link(coverage_url, shortage_text))
    return notes
