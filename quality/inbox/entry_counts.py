"""Inbox: numbers of alerts, reviews, appeals and other things that need an action."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, QuerySet, Value
from django.urls import reverse
from django.utils.translation import ngettext

from core.db.bulk import execute_statements
from core.db.prepared_query import Parameter, PreparedQuery
from events.models import Webhook
from metrics.views.common import number_formats
from projects.models import Approval, Question
from projects.models.roles import Capability, may
from quality.models import (
    Alert,
    AlertState,
    Appeal,
    Escalation,
    GoldIntervention,
    GoldScore,
    ItemLabel,
)
from quality.models.alert import AlertQuerySet
from ratings.models import Exam

# URL names of the pages
ALERTS = "alerts"
INTERVENTIONS = "gold"
EXAMS = "exam_settings"
APPEALS = "appeals"
UNCERTAIN_ITEMS = "review"
RATERS = "raters"
SKIPPED = "skipped_and_flagged"
WEBHOOKS = "webhooks"
APPROVALS = "approvals"

_KINDS = (ALERTS, RATERS, INTERVENTIONS, EXAMS, APPEALS, UNCERTAIN_ITEMS, WEBHOOKS)  # in order
_PROJECT = Parameter("project")


@dataclass(frozen=True)
class EntryCount:
    """Number of things of one kind that need an action.

    ``question``: key of the question that the entry is about, "" for the whole project.
    """

    kind: str
    number: int
    project_id: int
    question: str = ""

    @property
    def text(self) -> str:
        """Return the number and the kind in words, such as "3 open alerts"."""
        return describe_number(self.kind, self.number)

    @property
    def url(self) -> str:
        """Return the URL of the page that lists these things."""
        page = reverse(self.kind, args=[self.project_id])
        return f"{page}?question={self.question}" if self.question else page


def describe_number(kind: str, n: int) -> str:
    """Return a text such as "3 open alerts" for ``n`` things of this kind."""
    forms = {
        ALERTS: ngettext("%(n)s open alert", "%(n)s open alerts", n),
        RATERS: ngettext("%(n)s rater to check", "%(n)s raters to check", n),
        INTERVENTIONS: ngettext(
            "%(n)s proposed warning or pause", "%(n)s proposed warnings or pauses", n
        ),
        EXAMS: ngettext(
            "%(n)s rater has no exam attempts left",
            "%(n)s raters have no exam attempts left",
            n,
        ),
        APPEALS: ngettext("%(n)s open appeal", "%(n)s open appeals", n),
        UNCERTAIN_ITEMS: ngettext("%(n)s uncertain item", "%(n)s uncertain items", n),
        SKIPPED: ngettext("%(n)s skipped or flagged item", "%(n)s skipped or flagged items", n),
        WEBHOOKS: ngettext(
            "%(n)s webhook paused after failures",
            "%(n)s webhooks paused after failures",
            n,
        ),
        APPROVALS: ngettext("%(n)s requested approval", "%(n)s requested approvals", n),
    }
    return forms[kind] % {"n": number_formats.format_count(n)}


def get_project_entries(project: Any) -> list[EntryCount]:
    """Return the inbox entries of a project that the reader (``project.role``) may see; one query.

    Uncertain items are left out.
    """
    query = _prepare_project_counts(may(project.role, Capability.MANAGE))
    return _read_entries(query, project)


def get_entries_by_question(
    project: Any, questions: Sequence[Question]
) -> dict[int, list[EntryCount]]:
    """Return {question id: inbox entries that the reader (``project.role``) may see}; one query.

    Uncertain items are included for those who may decide them; what concerns the whole project is
    not. Questions without entries are left out.
    """
    capabilities = may(project.role, Capability.MANAGE), may(project.role, Capability.REVIEW)
    ids = {question.key: question.pk for question in questions}
    entries: dict[int, list[EntryCount]] = {}
    for entry in _read_entries(_prepare_question_counts(*capabilities), project):
        entries.setdefault(ids[entry.question], []).append(entry)
    return entries


def count_uncertain_items(project: Any, limit: int, *, question: Question | None = None) -> int:
    """Return the number of uncertain items that wait for a decision, at most ``limit``.

    ``question``: count only those of this question; None: of all questions of the project.
    """
    labels = get_uncertain_labels().filter(question__project=project)
    if question is not None:
        labels = labels.filter(question=question)
    return labels.order_by()[:limit].count()


def get_open_alerts() -> AlertQuerySet:
    """Return the alerts that are open or acknowledged, thus neither muted nor resolved."""
    return Alert.objects.filter(state__in=(AlertState.OPEN, AlertState.ACKNOWLEDGED))


def get_gold_scores_to_act_on() -> QuerySet[GoldScore]:
    """Return the gold scores that call for a pause, unless an intervention is proposed already."""
    proposed = get_proposed_interventions().filter(
        question=OuterRef("question"), rater=OuterRef("rater")
    )
    return GoldScore.objects.to_act_on().filter(~Exists(proposed))


def get_open_appeals() -> QuerySet[Appeal]:
    return Appeal.objects.unsettled()


def get_proposed_interventions() -> QuerySet[GoldIntervention]:
    return GoldIntervention.objects.filter(state=GoldIntervention.State.PROPOSED)


def get_requested_approvals(user: Any) -> QuerySet[Approval]:
    """Return the open requests of people other than ``user`` (an id or an expression)."""
    return Approval.objects.filter(state=Approval.State.OPEN).exclude(requested_by=user)


def get_webhooks_paused_by_failure() -> QuerySet[Webhook]:
    """Return the webhooks that were paused because their address is gone or failed for too long."""
    failed = [Webhook.PauseReason.GONE, Webhook.PauseReason.FAILING]
    return Webhook.objects.filter(pause_reason__in=failed)


def get_exams_without_attempts() -> QuerySet[Exam]:
    """Return the last failed exam of each unpaused rater who has no attempt left.

    Only questions that require an exam are included.
    """
    return Exam.objects.latest_failed().filter(
        number__gte=F("question__exam_rules__max_attempts"),
        question__exam_rules__required=True,
        rater__paused=False,
    )


def get_uncertain_labels() -> QuerySet[ItemLabel]:
    """Return the uncertain consensus labels that need a decision (see get_review_queue)."""
    pending_requests = Escalation.objects.filter(
        question=OuterRef("question"), item=OuterRef("item"), state=Escalation.State.REQUESTED
    )
    return ItemLabel.objects.uncertain().filter(~Exists(pending_requests), n_ratings__gte=2)


def _read_entries(query: PreparedQuery, project: Any) -> list[EntryCount]:
    rows = execute_statements([(query.sql, query.bind(project=project.pk))])[0]
    rows.sort(key=lambda row: _KINDS.index(row[0]))
    return [EntryCount(kind, number, pk, question) for kind, pk, question, number in rows]


@functools.cache
def _prepare_project_counts(is_led: bool) -> PreparedQuery:
    """Build the query of the counts of a project; ``is_led``: with those that its leads see."""
    queries = [
        _build_count_query(ALERTS, get_open_alerts()),
        _build_count_query(RATERS, get_gold_scores_to_act_on(), per_question=True),
    ]
    if is_led:
        webhooks = get_webhooks_paused_by_failure().filter(project=_PROJECT)
        queries += [
            _build_count_query(INTERVENTIONS, get_proposed_interventions(), per_question=True),
            _build_count_query(EXAMS, get_exams_without_attempts(), per_question=True),
            _build_count_query(APPEALS, get_open_appeals()),
            _count_rows(WEBHOOKS, webhooks, Value(""), "project_id"),
        ]
    return PreparedQuery(queries[0].union(*queries[1:], all=True))


@functools.cache
def _prepare_question_counts(is_led: bool, is_reviewed: bool) -> PreparedQuery:
    """Build the query of the counts of a project's questions.

    ``is_led``, ``is_reviewed``: with those that its leads and reviewers see.
    """
    counted: list[tuple[str, QuerySet[Any]]] = [
        (ALERTS, get_open_alerts()),
        (RATERS, get_gold_scores_to_act_on()),
    ]
    if is_led:
        counted += [
            (INTERVENTIONS, get_proposed_interventions()),
            (EXAMS, get_exams_without_attempts()),
            (APPEALS, get_open_appeals()),
        ]
    if is_reviewed:
        counted.append((UNCERTAIN_ITEMS, get_uncertain_labels()))
    queries = [_build_count_query(kind, rows, per_question=True) for kind, rows in counted]
    return PreparedQuery(queries[0].union(*queries[1:], all=True))


def _build_count_query(kind: str, rows: QuerySet[Any], *, per_question: bool = False) -> Any:
    """Return a query of (kind, project id, question key, number of ``rows``) of a project.

    With ``per_question`` for each question; otherwise the question key is empty.
    """
    question = F("question__key") if per_question else Value("")
    of_project = rows.filter(question__project=_PROJECT)
    return _count_rows(kind, of_project, question, "question__project_id")


def _count_rows(kind: str, rows: QuerySet[Any], question: F | Value, project: str) -> Any:
    """Return the query; rows are grouped by ``project``, the path to the project's id, as well.

    Without a column to group by, there would be a row for nothing counted.
    """
    annotated = rows.order_by().annotate(entry_kind=Value(kind), question_key=question)
    columns = "entry_kind", project, "question_key"
    return annotated.values_list(*columns).annotate(number=Count("pk"))
