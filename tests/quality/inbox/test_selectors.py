"""What waits for the lead: in the bell, on the page of cases, and in the list of projects."""

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
from quality.exams import decisions
from quality.inbox import selectors
from quality.models import Appeal, GoldAct
from quality.rater_status import comparison
from ratings.models import Exam, ExamRules

pytestmark = pytest.mark.django_db


@pytest.fixture
def failed(project: Project, question: Question) -> Exam:
    """Ann did not pass, at the only try."""
    ExamRules.objects.create(question=question, required=True, tries=1)
    now = timezone.now()
    return Exam.objects.create(
        question=question,
        rater=project.raters.get(),
        number=1,
        state=Exam.State.FAILED,
        began_at=now,
        ended_at=now,
    )


@pytest.fixture
def act(project: Project, question: Question) -> GoldAct:
    return GoldAct.objects.create(
        question=question,
        rater=project.raters.get(),
        step="pause",
        state="proposed",
        evidence=120,
        answers=6,
        made_at=timezone.now(),
    )


def told(client: Client, address: str) -> str:
    return html.unescape(client.get(address).text)


WORDS = ("1 proposed warning or pause", "1 rater has no try of the exam left", "1 open appeal")


def test_the_lead_alone_is_told_at_each_place_and_led_to_the_page(
    project: Project,
    question: Question,
    failed: Exam,
    act: GoldAct,
    lead: User,
    viewer: User,
    client_for: Callable[[User], Client],
) -> None:
    item = Item.objects.create(project=project, key="i1")
    Appeal.objects.create(
        question=question, item=item, rater=act.rater, text="no", made_at=timezone.now()
    )
    base, leads = f"/projects/{project.pk}/", client_for(lead)
    bell = f'<span class="visually-hidden">{", ".join(WORDS)}</span>'
    for address in (base, f"{base}alarms/"):
        assert bell in told(leads, address)
    assert 'aria-hidden="true">3</span>' in told(leads, base)
    for address in (f"{base}alarms/", "/", "/?group=attention"):
        page = told(leads, address)
        for words, path in zip(
            WORDS, ("gold/?question=", "exams/?question=", "appeals/"), strict=True
        ):
            link = page.split(f">{words}</a>")[0].rpartition('href="')[2]
            assert link.startswith(f"{base}{path}"), (address, link)
            assert leads.get(link.rstrip('"')).status_code == 200
    for address in (base, f"{base}alarms/", "/"):
        assert not any(words in told(client_for(viewer), address) for words in WORDS)


def number(project: Project, what: str) -> int:
    found = selectors.get_project_entries({project.pk: "lead"}).get(project.pk, [])
    return sum(one.number for one in found if one.kind == what)


def test_what_was_decided_waits_no_more(
    project: Project, question: Question, failed: Exam, act: GoldAct, lead: User
) -> None:
    assert (number(project, "exams"), number(project, "gold")) == (1, 1)
    act.state, act.decided_at = "done", timezone.now()
    act.save()
    assert number(project, "gold") == 0
    rater = failed.rater
    for changed in ({"required": False}, {"tries": 2}):
        ExamRules.objects.update(**changed)
        assert number(project, "exams") == 0, changed
        ExamRules.objects.update(required=True, tries=1)
    Rater.objects.update(paused=True)
    assert number(project, "exams") == 0
    Rater.objects.update(paused=False)
    assert number(project, "exams") == 1
    decisions.waive_exam(question=question, rater=rater, by=lead, reason="known to be good")
    assert number(project, "exams") == 0


def test_all_projects_are_asked_in_one_query(
    project: Project, failed: Exam, make_project: Any, django_assert_num_queries: Any
) -> None:
    others = {make_project(f"Other {number}").pk: "lead" for number in range(3)}
    with django_assert_num_queries(1):
        found = selectors.get_project_entries({project.pk: "lead", **others})
    assert list(found) == [project.pk]
    assert [one.words for one in found[project.pk]] == ["1 rater has no try of the exam left"]


def test_tables_of_raters_mark_cases_and_what_is_proposed(
    project: Project,
    question: Question,
    act: GoldAct,
    lead: User,
    viewer: User,
    client_for: Callable[[User], Client],
    make_alarm: Any,
    rate: Any,
) -> None:
    for number in range(4):
        for key in ("ann", "ben"):
            rate(question, f"i{number}", key, "minor")
    update_question(question.pk)
    comparison.recompute_question(question.pk, at_once=True)
    case = make_alarm(question, act.rater)
    base = f"/projects/{project.pk}/"
    of_case = f'href="{base}alarms/{case.pk}/">'
    proposed = f'href="{base}gold/?question={question.key}">pause, proposed</a>'
    for path in ("", "raters/"):
        row = told(client_for(lead), f"{base}{path}").split("raters/ann/?")[1].split("</tr>")[0]
        assert of_case in row and proposed in row, path
        page = told(client_for(viewer), f"{base}{path}")
        assert of_case in page and "proposed</a>" not in page, path
    case.state = "resolved"
    case.save()
    assert of_case not in told(client_for(lead), base)
    filtered = told(client_for(lead), f"{base}?without=ben")
    assert proposed not in filtered
