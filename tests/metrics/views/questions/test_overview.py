"""The first page of a project with several questions: all of them side by side."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

from metrics.jobs.question_updates import update_question
from projects.models import Member, Project, Question
from projects.services.question_validation import NewCategory, NewQuestion
from projects.services.questions import add_question
from quality.models import ItemLabel
from tests.query_counts import journeys

pytestmark = pytest.mark.django_db

LABELS = ("none", "minor", "major", "critical")
NOW = "2026-03-26T12:00:00Z"  # a Thursday


@pytest.fixture
def now() -> Any:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def two(now: None, project: Any, question: Any, rate: Any, utc: Any, lead: Any) -> Any:
    """Severity: three raters over eight weeks, who part in the last four; and a question that
    nobody was asked yet."""
    for week in range(8):
        for item in range(12):
            moment = utc(2026, 2, 3, 9) + datetime.timedelta(weeks=week)
            for place, rater in enumerate("abc"):
                parts = week >= 4 and place == 0 and item % 3 != 0
                label = LABELS[item % 3 - parts]
                rate(question, f"w{week}-{item}", rater, label, rated_at=moment)
    update_question(question.pk)
    add(project, lead, "tone")
    return project


def add(project: Any, by: Any, key: str) -> Question:
    new = NewQuestion(
        key=key, text=f"Which {key}?", categories=[NewCategory("warm"), NewCategory("cold")]
    )
    return add_question(project=project, question=new, by=by)


def overview(client: Any, project: Any, query: str = "") -> Any:
    page = client.get(f"/projects/{project.pk}/{query}")
    assert page.status_code == 200
    return page


def test_a_project_with_one_question_opens_its_dashboard(
    project: Any, question: Any, lead: Any, client_for: Any
) -> None:
    page = overview(client_for(lead), project)
    assert page.context["chosen"].question == question
    assert "rows" not in page.context


def test_an_address_that_names_a_question_is_its_dashboard(
    two: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    for query in ("?question=severity", "?period=week", "?kind=human", "?sort=-ratings"):
        assert overview(client, two, query).context["chosen"].question.key == "severity"
    assert overview(client, two, "?question=tone").context["chosen"].question.key == "tone"
    assert client.get(f"/projects/{two.pk}/?question=none").status_code == 404
    picker = overview(client, two, "?question=tone").content.decode()
    assert f'<a href="/projects/{two.pk}/">All questions</a>' in picker


def test_a_page_that_was_open_before_goes_on(two: Any, lead: Any, client_for: Any) -> None:
    asks = {"X-Shown": "", "X-Places": "trend-3"}
    page = client_for(lead).get(f"/projects/{two.pk}/", headers=asks)
    assert page.context["chosen"].question.key == "severity"


def test_an_open_page_follows_the_ratings(
    two: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    client, address = client_for(lead), f"/projects/{two.pk}/"
    text = client.get(address).content.decode()
    assert "288 ratings, as of" in text
    shown = re.search(r'"X-Shown": "([^"]*)", "X-Places": "([^"]*)"', text)
    assert shown is not None
    asks = {"X-Shown": shown[1], "X-Places": shown[2]}
    assert client.get(address, headers=asks).status_code == 204
    rate(question, "one more", "a", "none")
    told = client.get(address, headers=asks).content.decode()
    assert "1 rating not counted yet" in told
    assert 'id="questions"' not in told
    update_question(question.pk)
    told = client.get(address, headers=asks).content.decode()
    assert "289 ratings, as of" in told
    assert 'id="questions"' in told
    newer = client.get(address, headers={**asks, "X-Places": "questions-first"})
    assert newer["HX-Refresh"] == "true"


def test_questions_stand_side_by_side(two: Any, lead: Any, client_for: Any) -> None:
    page = overview(client_for(lead), two)
    severity, tone = page.context["rows"]
    assert severity.n_ratings == 8 * 12 * 3
    assert severity.headline["value"] is not None
    assert (tone.n_ratings, tone.headline, tone.course, tone.confused) == (0, None, None, None)
    text = page.content.decode()
    assert f'<a href="/projects/{two.pk}/?question=severity">Which severity?</a>' in text
    assert f'<a href="/projects/{two.pk}/?question=tone">Which tone?</a>' in text
    assert text.count('<svg class="whisker"') == text.count('<svg class="spark"') == 1


def test_the_change_is_of_the_last_four_weeks_against_the_four_before(
    two: Any, lead: Any, client_for: Any
) -> None:
    severity, _tone = overview(client_for(lead), two).context["rows"]
    weeks = [reading for _start, reading in severity.course.weeks]
    assert len(weeks) == 8
    before, after = weeks[:4], weeks[4:]
    mean = lambda part: sum(one["value"] for one in part) / 4  # noqa: E731 - as many items each
    assert severity.course.change.value == pytest.approx(mean(after) - mean(before))
    assert severity.course.change.value < -0.2
    assert severity.course.change.sure
    assert "may be chance" not in overview(client_for(lead), two).content.decode()


def test_a_small_change_may_be_chance(
    now: None, project: Any, question: Any, rate: Any, utc: Any, lead: Any, client_for: Any
) -> None:
    for week in range(8):
        for item in range(12):
            moment = utc(2026, 2, 3, 9) + datetime.timedelta(weeks=week)
            for place, rater in enumerate("abc"):
                parts = place == 0 and item in (1, 4, 7 if week == 5 else 4)
                rate(question, f"{week}-{item}", rater, LABELS[item % 3 - parts], rated_at=moment)
    update_question(question.pk)
    add(project, lead, "tone")
    page = overview(client_for(lead), project)
    change = page.context["rows"][0].course.change
    assert change.value < 0
    assert not change.sure
    assert "may be chance" in page.content.decode()


def test_weeks_of_few_items_are_left_out(
    two: Any, question: Any, rate: Any, utc: Any, lead: Any, client_for: Any
) -> None:
    for item in range(9):
        for rater in "abc":
            rate(question, f"few-{item}", rater, LABELS[item % 3], rated_at=utc(2026, 1, 27, 9))
    update_question(question.pk)
    page = overview(client_for(lead), two)
    assert len(page.context["rows"][0].course.line) == 8
    assert ", 8 weeks, 96 items" in page.content.decode()


def test_what_is_confused_most_leads_to_its_items(two: Any, lead: Any, client_for: Any) -> None:
    page = overview(client_for(lead), two)
    confused = page.context["rows"][0].confused
    # Of the last four weeks' items one rater says minor as none, and major as minor, alike often.
    assert (confused.a, confused.b, confused.share) == ("none", "minor", 0.5)
    assert f"said={confused.a}&and_said={confused.b}" in confused.url
    assert client_for(lead).get(confused.url).status_code == 200


def test_attention_tells_open_cases_and_disputed_items(
    two: Any, question: Any, make_alarm: Any, lead: Any, viewer: Any, client_for: Any
) -> None:
    Member.objects.get_or_create(project=two, user=viewer, defaults={"role": "viewer"})
    make_alarm(question, two.raters.get(key="a"))
    for item in two.items.all()[:3]:
        ItemLabel.objects.update_or_create(
            question=question,
            item=item,
            defaults={
                "source": "consensus",
                "doubt": 0.5,
                "n_ratings": 3,
                "made_at": timezone.now(),
            },
        )
    severity, tone = overview(client_for(lead), two).context["rows"]
    assert [wait.words for wait in severity.waits] == ["1 open case", "3 items in doubt"]
    left = client_for(lead).get(severity.waits[1].url)
    assert left.context["left"] == 3
    assert tone.waits == []
    severity, _tone = overview(client_for(viewer), two).context["rows"]
    assert [wait.words for wait in severity.waits] == ["1 open case"]


def test_leads_add_a_question_here(two: Any, lead: Any, viewer: Any, client_for: Any) -> None:
    Member.objects.get_or_create(project=two, user=viewer, defaults={"role": "viewer"})
    link = f'class="button" href="{reverse("question_new", args=[two.pk])}"'
    assert link in overview(client_for(lead), two).content.decode()
    assert link not in overview(client_for(viewer), two).content.decode()
    Project.objects.filter(pk=two.pk).update(archived_at=timezone.now())
    assert link not in overview(client_for(lead), two).content.decode()


def test_a_new_project_of_two_questions_says_what_it_needs(
    project: Any, lead: Any, client_for: Any
) -> None:
    add(project, lead, "tone")
    text = overview(client_for(lead), project).content.decode()
    assert 'id="getting-started"' in text


def test_the_table_is_a_file(two: Any, lead: Any, client_for: Any) -> None:
    page = overview(client_for(lead), two, "?csv=questions-title")
    lines = page.content.decode("utf-8-sig").splitlines()
    assert lines[0].startswith("Question,Agreement,")
    assert lines[1].startswith("Which severity?,0.")
    assert len(lines) == 3


def test_the_questions_have_a_page_of_their_own_however_few(
    two: Any, project: Any, question: Any, lead: Any, stranger: Any, annotator: Any, client_for: Any
) -> None:
    Member.objects.get_or_create(project=two, user=annotator, defaults={"role": "annotator"})
    address = f"/projects/{two.pk}/questions/"
    page = client_for(lead).get(address)
    assert [row.question for row in page.context["rows"]] == list(two.questions.all())
    assert "<h1>Questions</h1>" in page.content.decode()
    alone = client_for(lead).get(f"/projects/{project.pk}/questions/")
    assert alone.status_code == 200
    assert "Add a question" in alone.content.decode()
    empty = Project.objects.create(name="Empty")
    Member.objects.create(project=empty, user=lead, role="lead")
    assert client_for(lead).get(f"/projects/{empty.pk}/questions/").status_code == 200
    assert client_for(annotator).get(address).status_code == 403
    assert client_for(stranger).get(address).status_code == 404


def test_queries_do_not_grow_with_questions(
    two: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)

    def queries(*keys: str) -> int:
        for key in keys:
            asked = two.questions.filter(key=key).first() or add(two, lead, key)
            for item in range(12):
                for rater in "abc":
                    label = ("warm", "cold")[(item + (rater == "a" and item < 3)) % 2]
                    rate(asked, f"w7-{item}", rater, label)
            update_question(asked.pk)
        overview(client, two)
        with journeys() as taken:
            page = overview(client, two)
        assert all(row.course.weeks for row in page.context["rows"])
        return taken()

    assert queries("tone") == queries("more", "again", "once") == 18


def test_each_question_is_called_by_its_text(two: Any, lead: Any, client_for: Any) -> None:
    """Where one of several is chosen, in the head and in the title of the page."""
    page = overview(client_for(lead), two, "?question=tone").text
    picker = page.split('<select id="question"')[1].split("</select>")[0]
    assert re.findall(r">([^<>]+)</option>", picker) == ["Which severity?", "Which tone?"]
    assert page.split("<title>")[1].startswith("Which tone? · ")
    assert "<h1>Which tone?</h1>" in page


def test_one_control_chooses_the_coefficient_and_the_page_says_which(
    two: Any, lead: Any, client_for: Any
) -> None:
    """It stands beside the number that it changes, not in the card of the trend."""
    page = overview(client_for(lead), two, "?question=severity&coefficient=gwet_ac1").text
    assert page.count('name="coefficient"') - page.count('hidden" name="coefficient"') == 1
    cards = {
        name: page.split(f'id="{name}"', 1)[1].split("</section>", 1)[0]
        for name in ("headline", "beside", "trend")
    }
    assert '<select id="coefficient"' in cards["beside"]
    for name in ("headline", "trend"):
        assert "Gwet’s AC1" in cards[name]
    assert page.index('class="split"') < page.index('id="headline"') < page.index('id="beside"')


def test_by_keyboard_the_first_number_is_one_step_away(
    two: Any, lead: Any, client_for: Any
) -> None:
    page = overview(client_for(lead), two, "?question=severity").text
    skips = re.findall(r'<a class="skip-link" href="#([^"]*)"', page)
    assert skips == ["main", "headline"]
    assert all(page.count(f'id="{name}"') == 1 for name in skips)
