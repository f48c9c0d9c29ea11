"""The list of projects: one row a project, read in a fixed number of queries for all of them, so
that the list can be searched, sorted, and told by what is to be done."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Abs
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from metrics.agreement.explain import bands
from metrics.views.common.getting_started import starts, steps_of
from metrics.views.common.insights import apart_sentences, raters_apart
from metrics.views.common.number_formats import whole
from metrics.views.common.question_rows import QuestionRow, Wait, numbers_of_ratings, read
from metrics.views.common.trends import recent_weeks
from projects.models import Deletion, Member, Project, Question, Rater
from projects.selectors.item_counts import n_items_by_project
from ratings.models import Rating
from ratings.services import uncounted as services_uncounted

from .avatars import People, people_of
from .rows import Group, Row

PROJECTS_A_PAGE = 50
MOST = 500  # projects in a list: the newest
LONGEST_SEARCH = 200


# What finds what waits: project -> the reader's role there, to project -> what waits. A higher room
# adds its own when the site starts.
WAITS: list[Callable[[Mapping[int, str]], Mapping[int, Sequence[Wait]]]] = []


def rows(projects: list[Project], user: Any, going: Collection[int] = ()) -> list[Row]:
    """The rows of these projects, in their order; of those that are ``going`` the names alone."""
    mine = Member.objects.filter(user=user, project__in=projects)
    stars, roles = {}, {}
    for project, role, starred in mine.values_list("project_id", "role", "starred"):
        roles[project], stars[project] = role, starred
    if user.is_superuser:
        roles = {project.pk: Member.Role.LEAD for project in projects}
    found = [
        Row(project, roles.get(project.pk, ""), project.pk in going, stars.get(project.pk))
        for project in projects
    ]
    _fill([row for row in found if not row.going])
    return found


def _fill(found: list[Row]) -> None:
    """What is told of projects, in a fixed number of queries for all of them."""
    projects = [row.project for row in found]
    all_questions = list(Question.objects.filter(project__in=projects))
    n_items = n_items_by_project(projects)
    readings, numbers = read(all_questions), numbers_of_ratings(all_questions)
    of_project: dict[int, list[QuestionRow]] = {}
    by_id = {project.pk: project for project in projects}
    for one in all_questions:
        told = QuestionRow(by_id[one.project_id], one, readings.get(one.pk), numbers.get(one.pk, 0))
        of_project.setdefault(one.project_id, []).append(told)
    shown = {pk: _shown(questions) for pk, questions in of_project.items()}
    uncounted = _uncounted([question.pk for question in all_questions])
    apart = raters_apart(
        {one.question.pk: one.reading for one in shown.values() if one.reading is not None}
    )
    seen = {row.project.pk: row.role for row in found if row.sees_results}
    waiting_there = [find(seen) for find in WAITS]
    for row in found:
        row.n_items = n_items[row.project.pk]
        if row.project.pk in shown and row.sees_results:
            row.questions, row.shown = of_project[row.project.pk], shown[row.project.pk]
            row.uncounted = uncounted.get(row.project.pk, 0)
            row.waits = [wait for one in waiting_there for wait in one.get(row.project.pk, ())]
            asked = row.shown.question
            row.apart = asked.pk in apart
            row.attention = _attention(row, asked, apart.get(asked.pk, []))
    _take_steps(found)


def _take_steps(found: list[Row]) -> None:
    """What new projects still need, for who leads them."""
    new = [row for row in found if row.questions and starts(row.project, row.role, row.reading)]
    if not new:
        return
    raters = Rater.objects.filter(project__in=[row.project for row in new])
    numbers = dict(raters.values_list("project").annotate(Count("pk")).order_by())
    for row in new:
        n_raters = numbers.get(row.project.pk, 0)
        row.steps = steps_of(row.project, row.reading, n_items=row.n_items, n_raters=n_raters)


def _shown(questions: list[QuestionRow]) -> QuestionRow:
    """The first question of a project that has ratings, or the first."""
    return next((one for one in questions if one.n_ratings), questions[0])


def draw(shown: list[Row]) -> None:
    """Give the rows of a page what only they are asked for: the small lines of all their questions,
    who rates, and when somebody did last."""
    told = [row for row in shown if row.questions]
    questions = [one for row in told for one in row.questions]
    courses = recent_weeks.lately([one.reading for one in questions if one.reading])
    people = people_of([row.project for row in told])
    last = dict(last_rated([one.question.pk for one in questions]))
    for row in told:
        for one in row.questions:
            one.course = courses.get(one.question.pk)
        row.people = people.get(row.project.pk, People())
        moments = [last.get(one.question.pk) for one in row.questions]
        row.last_rated = max((one for one in moments if one), default=None)


def last_rated(questions: Collection[int]) -> QuerySet[Question, tuple[int, Any]]:
    """(question, when one of its ratings changed last): a look into an index for each, in one
    query. SQLite takes the index against an expression alone, not against a column; and without
    the id in the order, for of a file all ratings are of one moment and would be sorted."""
    newest = Rating.objects.newest_of(Abs(OuterRef("pk"))).order_by("-changed_at")
    asked = Question.objects.filter(pk__in=questions).order_by()
    return asked.values_list("pk", Subquery(newest.values("changed_at")[:1]))


@dataclass(frozen=True)
class Listed:
    """The part of the list that an address asks for: rows, and how many are in each group."""

    rows: list[Row]
    groups: list[tuple[Group, int]]
    search: str
    sort: str
    group: str


def listed(user: Any, *, search: str, sort: str, group: str) -> Listed:
    """The newest projects of the user whose names hold ``search``, of one group or, where that is
    empty, all that are not archived. Those that are being deleted stand at the end of these, in no
    group."""
    visible = Project.objects.visible_to(user).order_by("-id")
    if search:
        visible = visible.filter(name__icontains=search)
    under_way = Deletion.objects.filter(kind=Deletion.Kind.PROJECT, finished_at=None)
    going = set(under_way.values_list("target", flat=True))
    resting = Q(archived_at__isnull=False) & ~Q(pk__in=going)
    archived = group == Group.ARCHIVED
    found = rows(list(visible.filter(resting if archived else ~resting)[:MOST]), user, going)
    numbers = Counter(row.group for row in found if not row.going)
    if archived:
        return Listed(_sorted(found, sort), [(Group.ARCHIVED, len(found))], search, sort, group)
    numbers[Group.ARCHIVED] = visible.filter(resting).count()
    groups = [(one, numbers[one]) for one in Group if numbers[one]]
    mine = [row for row in found if not group or (row.group == group and not row.going)]
    return Listed(_sorted(mine, sort), groups, search, sort, group)


def _lowest(row: Row) -> tuple[bool, float]:
    """What is too early to say last: an interval over half the scale is no low agreement."""
    told = row.headline or {}
    value = told.get("value")
    if value is None:
        return True, math.inf
    scheme = row.project.band_scheme
    early = bands.too_early(told.get("n_items"), told.get("low"), told.get("high"), scheme)
    return early, value


SORTS: dict[str, tuple[str | Promise, Callable[[Row], Any]]] = {
    "newest": (gettext_lazy("newest first"), lambda row: -row.project.pk),
    "name": (gettext_lazy("by name"), lambda row: row.project.name.casefold()),
    "agreement": (gettext_lazy("lowest agreement first"), _lowest),
    "progress": (
        gettext_lazy("least progress first"),
        lambda row: row.enough / row.n_items if row.n_items else 0,
    ),
}


def _sorted(found: list[Row], sort: str) -> list[Row]:
    """Those with a star first, whatever the order, and last those that are being deleted."""
    key = SORTS[sort][1]
    return sorted(found, key=lambda row: (row.going, not row.starred, key(row)))


def _uncounted(questions: list[int]) -> dict[int, int]:
    """Project -> how many ratings of these questions are uncounted."""
    rows = services_uncounted.ratings(questions).order_by().values_list("question__project_id")
    return dict(rows.annotate(Count("id")))


def _attention(row: Row, question: Question, apart: list[str]) -> list[str | SafeString]:
    """What a lead should look at, the most pressing first; what is named leads to its page."""
    said: list[str | SafeString] = []
    uncounted = row.uncounted
    query = urlencode({"question": question.key})
    if not row.n_items:
        said.append(_link(reverse("data", args=[row.project.pk]), _("No items yet: import them.")))
    elif not row.n_ratings and not uncounted:
        said.append(_("No ratings yet."))
    if row.is_single:
        said.append(_("No item has two ratings, so nothing can be compared."))
    if uncounted:
        said.append(
            ngettext(
                "%(n)s rating is not counted yet.", "%(n)s ratings are not counted yet.", uncounted
            )
            % {"n": uncounted}
        )
    said += apart_sentences(apart, row.project.pk, query)
    short = row.n_items - row.enough
    if row.n_ratings and short > 0:
        words = ngettext(
            "%(n)s item has fewer than %(overlap)s ratings.",
            "%(n)s items have fewer than %(overlap)s ratings.",
            short,
        ) % {"n": whole(short), "overlap": row.project.overlap}
        missing = f"{reverse('dashboard', args=[row.project.pk])}?{query}#missing"
        said.append(_link(missing, words))
    return said


def _link(url: str, words: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', url, words)
