"""Test the lead's inbox: in the bell, on the alerts page, and in the list of projects."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from metrics.jobs.question_updates import update_question
from projects.models import Item, Project, Question, Rater
from quality.exams import exam_rules
from quality.inbox import entry_counts
from quality.models import Appeal, GoldIntervention
from quality.rater_status import recomputation as rater_recomputation
from ratings.models import Exam, ExamRules

pytestmark = pytest.mark.django_db


@pytest.fixture
def failed_exam(project: Project, question: Question) -> Exam:
    """Ann failed the exam at the only try."""
    ExamRules.objects.create(question=question, required=True, max_attempts=1)
    now = timezone.now()
    return Exam.objects.create(
        question=question,
        rater=project.raters.get(),
        number=1,
        state=Exam.State.FAILED,
        started_at=now,
        ended_at=now,
    )


@pytest.fixture
def intervention(project: Project, question: Question) -> GoldIntervention:
    return GoldIntervention.objects.create(
        question=question,
        rater=project.raters.get(),
        step="pause",
        state="proposed",
        evidence=120,
        n_answers=6,
        created_at=timezone.now(),
    )


def get_page_text(client: Client, address: str) -> str:
    return html.unescape(client.get(address).text)


INBOX_TEXTS = (
    "1 proposed warning or pause",
    "1 rater has no exam attempts left",
    "1 open appeal",
)


def test_only_the_lead_sees_inbox_entries_with_their_links(
    project: Project,
    question: Question,
    failed_exam: Exam,
    intervention: GoldIntervention,
    lead: User,
    viewer: User,
    client_for: Callable[[User], Client],
) -> None:
    item = Item.objects.create(project=project, key="i1")
    Appeal.objects.create(
        question=question, item=item, rater=intervention.rater, text="no", created_at=timezone.now()
    )
    base, lead_client = f"/projects/{project.pk}/", client_for(lead)
    bell = f'<span class="visually-hidden">{", ".join(INBOX_TEXTS)}</span>'
    for address in (base, f"{base}alerts/"):
        assert bell in get_page_text(lead_client, address)
    assert 'aria-hidden="true">3</span>' in get_page_text(lead_client, base)
    paths = ("gold/?question=", "exams/?question=", "appeals/")
    texts = list(zip(INBOX_TEXTS, paths, strict=True))
    # The list of projects shows the entry with the most impact, and leads to the others.
    for address, listed_texts in (
        (f"{base}alerts/", texts),
        ("/inbox/", texts),
        ("/", texts[:1]),
        ("/?group=attention", texts[:1]),
    ):
        page = get_page_text(lead_client, address)
        for text, path in listed_texts:
            if address == "/inbox/":
                assert text in page
                continue
            link = page.split(f">{text}</a>")[0].rpartition('href="')[2]
            assert link.startswith(f"{base}{path}"), (address, link)
            assert lead_client.get(link.rstrip('"')).status_code == 200
    for address in (base, f"{base}alerts/", "/"):
        assert not any(text in get_page_text(client_for(viewer), address) for text in INBOX_TEXTS)


def count_entries(project: Project, kind: str) -> int:
    project.role = "lead"
    entries = entry_counts.get_project_entries(project)
    return sum(entry.number for entry in entries if entry.kind == kind)


def test_decided_entries_leave_the_inbox(
    project: Project,
    question: Question,
    failed_exam: Exam,
    intervention: GoldIntervention,
    lead: User,
) -> None:
    assert (count_entries(project, "exam_settings"), count_entries(project, "gold")) == (1, 1)
    intervention.state, intervention.decided_at = "done", timezone.now()
    intervention.save()
    assert count_entries(project, "gold") == 0
    rater = failed_exam.rater
    for fields in ({"required": False}, {"max_attempts": 2}):
        ExamRules.objects.update(**fields)
        assert count_entries(project, "exam_settings") == 0, fields
        ExamRules.objects.update(required=True, max_attempts=1)
    Rater.objects.update(paused=True)
    assert count_entries(project, "exam_settings") == 0
    Rater.objects.update(paused=False)
    assert count_entries(project, "exam_settings") == 1
    exam_rules.waive_exam(question=question, rater=rater, by=lead, reason="known to be good")
    assert count_entries(project, "exam_settings") == 0


def test_entries_of_a_project_take_one_query_and_are_those_of_the_role(
    project: Project, failed_exam: Exam, make_project: Any, django_assert_num_queries: Any
) -> None:
    other_project = make_project("Other")
    for counted, role, texts in (
        (project, "lead", ["1 rater has no exam attempts left"]),
        (project, "viewer", []),
        (other_project, "lead", []),
    ):
        counted.role = role
        with django_assert_num_queries(1):
            entries = entry_counts.get_project_entries(counted)
        assert [entry.text for entry in entries] == texts


def test_rater_tables_show_alerts_and_proposed_pauses(
    project: Project,
    question: Question,
    intervention: GoldIntervention,
    lead: User,
    viewer: User,
    client_for: Callable[[User], Client],
    make_alert: Any,
    rate: Any,
) -> None:
    for number in range(4):
        for key in ("ann", "ben"):
            rate(question, f"i{number}", key, "minor")
    update_question(question.pk)
    rater_recomputation.recompute_question(question.pk, at_once=True)
    alert = make_alert(question, intervention.rater)
    base = f"/projects/{project.pk}/"
    alert_link = f'href="{base}alerts/{alert.pk}/">'
    proposal_link = f'href="{base}gold/?question={question.key}">Pause, proposed</a>'
    for path in ("statistics/", "raters/"):
        row = (
            get_page_text(client_for(lead), f"{base}{path}")
            .split("raters/ann/?")[1]
            .split("</tr>")[0]
        )
        assert alert_link in row and proposal_link in row, path
        page = get_page_text(client_for(viewer), f"{base}{path}")
        assert alert_link in page and "proposed</a>" not in page, path
    alert.state = "resolved"
    alert.save()
    assert alert_link not in get_page_text(client_for(lead), f"{base}statistics/")
    filtered = get_page_text(client_for(lead), f"{base}statistics/?exclude=ben")
    assert proposal_link not in filtered
