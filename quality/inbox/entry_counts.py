"""Inbox: numbers of alerts, reviews, appeals and other things that need an action."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, QuerySet, Value
from django.urls import reverse
from django.utils.translation import ngettext

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


def get_entries_by_project(roles: Mapping[int, str]) -> dict[int, list[EntryCount]]:
    """Return {project id: inbox entries for a user with this role}; one query.

    Projects without entries are left out. ``roles``: {project id: role}.
    """
    project_ids = list(roles)
    led_ids = [project for project, role in roles.items() if may(role, Capability.MANAGE)]
    rows = _build_count_query(ALERTS, get_open_alerts(), project_ids).union(
        _build_count_query(RATERS, get_gold_scores_to_act_on(), project_ids, per_question=True),
        _build_count_query(
            INTERVENTIONS,
            get_proposed_interventions(),
            led_ids,
            per_question=True,
        ),
        _build_count_query(EXAMS, get_exams_without_attempts(), led_ids, per_question=True),
        _build_count_query(APPEALS, get_open_appeals(), led_ids),
        _count_webhooks_paused_by_failure(led_ids),
        all=True,
    )
    entries: dict[int, list[EntryCount]] = {}
    for kind, project, question, number in _sort_rows(rows):
        entries.setdefault(project, []).append(EntryCount(kind, number, project, question))
    return entries


def get_entries_by_question(
    project: Any, questions: Sequence[Question]
) -> dict[int, list[EntryCount]]:
    """Return {question id: inbox entries that the reader (``project.role``) may see}; one query.

    Uncertain items are included for those who may decide them.
    """
    visible_ids, role = [project.pk], project.role
    led_ids, review_ids = (
        [project.pk] if may(role, capability) else []
        for capability in (Capability.MANAGE, Capability.REVIEW)
    )
    rows = _build_count_query(ALERTS, get_open_alerts(), visible_ids, per_question=True).union(
        _build_count_query(RATERS, get_gold_scores_to_act_on(), visible_ids, per_question=True),
        _build_count_query(
            INTERVENTIONS,
            get_proposed_interventions(),
            led_ids,
            per_question=True,
        ),
        _build_count_query(EXAMS, get_exams_without_attempts(), led_ids, per_question=True),
        _build_count_query(APPEALS, get_open_appeals(), led_ids, per_question=True),
        _build_count_query(UNCERTAIN_ITEMS, get_uncertain_labels(), review_ids, per_question=True),
        all=True,
    )
    ids = {question.key: question.pk for question in questions}
    entries: dict[int, list[EntryCount]] = {}
    for kind, _project, question, number in _sort_rows(rows):
        entries.setdefault(ids[question], []).append(EntryCount(kind, number, project.pk, question))
    return entries


def count_uncertain_items(project: Any, limit: int, *, question: Question | None = None) -> int:
    """Return the number of uncertain items that wait for a decision, at most ``limit``.

    ``question``: count only those of this question; None: of all questions of the project.
    """
    labels = get_uncertain_labels().filter(question__project=project)
    if question is not None:
        labels = labels.filter(question=question)
    return labels.order_by()[:limit].count()


def _sort_rows(rows: Iterable[Any]) -> list[Any]:
    order = [ALERTS, RATERS, INTERVENTIONS, EXAMS, APPEALS, UNCERTAIN_ITEMS, WEBHOOKS]
    return sorted(rows, key=lambda row: order.index(row[0]))


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


def _build_count_query(
    kind: str, rows: QuerySet[Any], projects: list[int], *, per_question: bool = False
) -> Any:
    """Return a query of (kind, project id, question key, number of ``rows``) for each project.

    With ``per_question`` for each question; otherwise the question key is empty.
    """
    question = F("question__key") if per_question else Value("")
    selected = rows.filter(question__project__in=projects).order_by()
    annotated = selected.annotate(entry_kind=Value(kind), question_key=question)
    columns = "entry_kind", "question__project_id", "question_key"
    return annotated.values_list(*columns).annotate(number=Count("pk"))


def _count_webhooks_paused_by_failure(projects: list[int]) -> Any:
    """Return a query of webhooks paused by failure, with the columns of ``_build_count_query``."""
    rows = get_webhooks_paused_by_failure().filter(project__in=projects).order_by()
    annotated = rows.annotate(entry_kind=Value(WEBHOOKS), question_key=Value(""))
    columns = "entry_kind", "project_id", "question_key"
    return annotated.values_list(*columns).annotate(number=Count("pk"))
