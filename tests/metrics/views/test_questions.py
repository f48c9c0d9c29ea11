"""The first page of a project with several questions: all questions side by side."""

from __future__ import annotations

import csv
import datetime
import io
import re
from typing import Any

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

from metrics.jobs.question_updates import sweep_questions, update_question
from metrics.models import Result
from projects.models import Member, Project, Question
from projects.services.question_validation import NewCategory, NewQuestion
from projects.services.questions import add_question
from quality.models import ItemLabel
from tests.cast import rate_many
from tests.query_counts import measure_round_trips

pytestmark = pytest.mark.django_db

LABELS = ("none", "minor", "major", "critical")
NOW = "2026-03-26T12:00:00Z"  # a Thursday


@pytest.fixture
def fixed_time() -> Any:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def two_questions(fixed_time: None, project: Any, question: Any, utc: Any, lead: Any) -> Any:
    """Return a project with two questions.

    Severity has ratings of three raters over eight weeks, who differ in the last four; tone
    has no ratings.
    """
    ratings = []
    for week in range(8):
        for item in range(12):
            moment = utc(2026, 2, 3, 9) + datetime.timedelta(weeks=week)
            for index, rater in enumerate("abc"):
                differs = week >= 4 and index == 0 and item % 3 != 0
                label = LABELS[item % 3 - differs]
                ratings.append((f"w{week}-{item}", rater, label, moment))
    rate_many(question, ratings)
    update_question(question.pk)
    create_question(project, lead, "tone")
    return project


def create_question(project: Any, by: Any, key: str) -> Question:
    new = NewQuestion(
        key=key, text=f"Which {key}?", categories=[NewCategory("warm"), NewCategory("cold")]
    )
    return add_question(project=project, question=new, by=by)


def get_overview(client: Any, project: Any, query: str = "") -> Any:
    page = client.get(f"/projects/{project.pk}/{query}")
    assert page.status_code == 200
    return page


def test_project_with_one_question_opens_its_dashboard(
    project: Any, question: Any, lead: Any, client_for: Any
) -> None:
    page = get_overview(client_for(lead), project)
    assert page.context["selection"].question == question
    assert "rows" not in page.context


def test_address_with_parameters_opens_dashboard(
    two_questions: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    for query in ("?question=severity", "?period=week", "?kind=human", "?sort=-ratings"):
        assert (
            get_overview(client, two_questions, query).context["selection"].question.key
            == "severity"
        )
    assert (
        get_overview(client, two_questions, "?question=tone").context["selection"].question.key
        == "tone"
    )
    assert client.get(f"/projects/{two_questions.pk}/?question=none").status_code == 404
    picker = get_overview(client, two_questions, "?question=tone").content.decode()
    assert f'<a href="/projects/{two_questions.pk}/">All questions</a>' in picker


def test_dashboard_open_since_before_continues(
    two_questions: Any, lead: Any, client_for: Any
) -> None:
    headers = {"X-Shown-Version": "", "X-Fragments": "trend"}
    page = client_for(lead).get(f"/projects/{two_questions.pk}/", headers=headers)
    assert page.context["selection"].question.key == "severity"


def test_open_overview_follows_ratings(
    two_questions: Any, question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    client, address = client_for(lead), f"/projects/{two_questions.pk}/"
    text = client.get(address).content.decode()
    assert "288 ratings, updated" in text
    match = re.search(r'"X-Shown-Version": "([^"]*)", "X-Fragments": "([^"]*)"', text)
    assert match is not None
    headers = {"X-Shown-Version": match[1], "X-Fragments": match[2]}
    assert client.get(address, headers=headers).status_code == 204
    rate(question, "one more", "a", "none")
    update = client.get(address, headers=headers).content.decode()
    assert "1 rating pending" in update
    assert 'id="questions"' not in update
    update_question(question.pk)
    update = client.get(address, headers=headers).content.decode()
    assert "289 ratings, updated" in update
    assert 'id="questions"' in update
    newer = client.get(address, headers={**headers, "X-Fragments": "questions-first"})
    assert newer["HX-Refresh"] == "true"


def test_questions_stand_side_by_side(two_questions: Any, lead: Any, client_for: Any) -> None:
    page = get_overview(client_for(lead), two_questions)
    severity, tone = page.context["rows"]
    assert severity.n_ratings == 8 * 12 * 3
    assert severity.headline["value"] is not None
    assert (tone.n_ratings, tone.headline, tone.weekly_trend, tone.top_confusion) == (
        0,
        None,
        None,
        None,
    )
    text = page.content.decode()
    assert f'<a href="/projects/{two_questions.pk}/?question=severity">Which severity?</a>' in text
    assert f'<a href="/projects/{two_questions.pk}/?question=tone">Which tone?</a>' in text
    assert text.count('<svg class="whisker"') == text.count('<svg class="spark"') == 1


def test_change_compares_last_four_weeks_with_four_before(
    two_questions: Any, lead: Any, client_for: Any
) -> None:
    severity, _tone = get_overview(client_for(lead), two_questions).context["rows"]
    weeks = [estimate for _start, estimate in severity.weekly_trend.weeks]
    assert len(weeks) == 8
    before, after = weeks[:4], weeks[4:]

    # Each week has as many items.
    def compute_mean(estimates: Any) -> Any:
        return sum(estimate["value"] for estimate in estimates) / 4

    assert severity.weekly_trend.change.value == pytest.approx(
        compute_mean(after) - compute_mean(before)
    )
    assert severity.weekly_trend.change.value < -0.2
    assert severity.weekly_trend.change.is_clear
    assert (
        "This may be chance." not in get_overview(client_for(lead), two_questions).content.decode()
    )


def test_small_change_may_be_chance(
    fixed_time: None, project: Any, question: Any, rate: Any, utc: Any, lead: Any, client_for: Any
) -> None:
    for week in range(8):
        for item in range(12):
            moment = utc(2026, 2, 3, 9) + datetime.timedelta(weeks=week)
            for index, rater in enumerate("abc"):
                differs = index == 0 and item in (1, 4, 7 if week == 5 else 4)
                rate(question, f"{week}-{item}", rater, LABELS[item % 3 - differs], rated_at=moment)
    update_question(question.pk)
    create_question(project, lead, "tone")
    page = get_overview(client_for(lead), project)
    change = page.context["rows"][0].weekly_trend.change
    assert change.value < 0
    assert not change.is_clear
    assert "This may be chance." in page.content.decode()


def test_weeks_of_few_items_are_left_out(
    two_questions: Any, question: Any, rate: Any, utc: Any, lead: Any, client_for: Any
) -> None:
    for item in range(9):
        for rater in "abc":
            rate(question, f"few-{item}", rater, LABELS[item % 3], rated_at=utc(2026, 1, 27, 9))
    update_question(question.pk)
    page = get_overview(client_for(lead), two_questions)
    assert len(page.context["rows"][0].weekly_trend.values) == 8
    assert ", 8 weeks, 96 items" in page.content.decode()


def test_most_confused_categories_link_to_their_items(
    two_questions: Any, question: Any, rate: Any, utc: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    # One rater answers none for minor and minor for major, equally often: no pair stands out.
    assert get_overview(client, two_questions).context["rows"][0].top_confusion is None
    for item in range(120):
        for rater in "abc":
            is_swapped = rater == "c" and item % 2
            label = (
                LABELS[1 - is_swapped] if item % 3 == 1 else LABELS[2 if item % 3 else is_swapped]
            )
            rate(question, f"swapped-{item}", rater, label, rated_at=utc(2026, 3, 3, 9))
    update_question(question.pk)
    sweep_questions()
    page = get_overview(client, two_questions)
    confused = page.context["rows"][0].top_confusion
    assert (confused.a, confused.b) == ("none", "minor")
    assert confused.share > 0.6
    assert f"of {confused.n_comparisons} disagreements" in page.content.decode()
    assert f"answer={confused.a}&other_answer={confused.b}" in confused.url
    assert client.get(confused.url).status_code == 200


def test_attention_lists_open_alerts_and_disputed_items(
    two_questions: Any, question: Any, make_alert: Any, lead: Any, viewer: Any, client_for: Any
) -> None:
    Member.objects.get_or_create(project=two_questions, user=viewer, defaults={"role": "viewer"})
    make_alert(question, two_questions.raters.get(key="a"))
    for item in two_questions.items.all()[:3]:
        ItemLabel.objects.update_or_create(
            question=question,
            item=item,
            defaults={
                "source": "consensus",
                "doubt": 0.5,
                "n_ratings": 3,
                "computed_at": timezone.now(),
            },
        )
    severity, tone = get_overview(client_for(lead), two_questions).context["rows"]
    assert [entry.text for entry in severity.inbox_entries] == ["1 open alert", "3 uncertain items"]
    review_page = client_for(lead).get(severity.inbox_entries[1].url)
    assert review_page.context["n_remaining"] == 3
    assert tone.inbox_entries == []
    severity, _tone = get_overview(client_for(viewer), two_questions).context["rows"]
    assert [entry.text for entry in severity.inbox_entries] == ["1 open alert"]


def test_only_leads_can_add_a_question_here(
    two_questions: Any, lead: Any, viewer: Any, client_for: Any
) -> None:
    Member.objects.get_or_create(project=two_questions, user=viewer, defaults={"role": "viewer"})
    link = f'class="button" href="{reverse("question_create", args=[two_questions.pk])}"'
    assert link in get_overview(client_for(lead), two_questions).content.decode()
    assert link not in get_overview(client_for(viewer), two_questions).content.decode()
    Project.objects.filter(pk=two_questions.pk).update(archived_at=timezone.now())
    assert link not in get_overview(client_for(lead), two_questions).content.decode()


def test_new_project_of_two_questions_shows_checklist(
    project: Any, lead: Any, client_for: Any
) -> None:
    create_question(project, lead, "tone")
    text = get_overview(client_for(lead), project).content.decode()
    assert 'id="getting-started"' in text


def test_questions_table_is_available_as_csv(
    two_questions: Any, lead: Any, client_for: Any
) -> None:
    page = get_overview(client_for(lead), two_questions, "?csv=questions-title")
    lines = page.content.decode("utf-8-sig").splitlines()
    assert lines[0].startswith("Question,Agreement,")
    assert lines[1].startswith("Which severity?,0.")
    assert len(lines) == 3


def test_questions_page_exists_for_any_number_of_questions(
    two_questions: Any,
    project: Any,
    question: Any,
    lead: Any,
    stranger: Any,
    annotator: Any,
    client_for: Any,
) -> None:
    Member.objects.get_or_create(
        project=two_questions, user=annotator, defaults={"role": "annotator"}
    )
    address = f"/projects/{two_questions.pk}/questions/"
    page = client_for(lead).get(address)
    assert [row.question for row in page.context["rows"]] == list(two_questions.questions.all())
    assert "<h1>Questions</h1>" in page.content.decode()
    single_question_page = client_for(lead).get(f"/projects/{project.pk}/questions/")
    assert single_question_page.status_code == 200
    assert "Add question" in single_question_page.content.decode()
    empty_project = Project.objects.create(name="Empty")
    Member.objects.create(project=empty_project, user=lead, role="lead")
    assert client_for(lead).get(f"/projects/{empty_project.pk}/questions/").status_code == 200
    assert client_for(annotator).get(address).status_code == 403
    assert client_for(stranger).get(address).status_code == 404


def test_query_count_does_not_grow_with_questions(
    two_questions: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)

    def count_queries(*keys: str) -> int:
        for key in keys:
            question = two_questions.questions.filter(key=key).first() or create_question(
                two_questions, lead, key
            )
            for item in range(12):
                for rater in "abc":
                    label = ("warm", "cold")[(item + (rater == "a" and item < 3)) % 2]
                    rate(question, f"w7-{item}", rater, label)
            update_question(question.pk)
        get_overview(client, two_questions)
        with measure_round_trips() as count_round_trips:
            page = get_overview(client, two_questions)
        assert all(row.weekly_trend.weeks for row in page.context["rows"])
        return count_round_trips()

    # One query fewer where every question has recent weeks.
    assert count_queries("tone") >= count_queries("more", "again", "once") == 17


def test_question_is_shown_by_its_text(two_questions: Any, lead: Any, client_for: Any) -> None:
    """The text is in the heading, in the picker and in the title of the page."""
    page = get_overview(client_for(lead), two_questions, "?question=tone").text
    picker = page.split('<select id="question"')[1].split("</select>")[0]
    assert re.findall(r">([^<>]+)</option>", picker) == ["Which severity?", "Which tone?"]
    assert page.split("<title>")[1].startswith("Which tone? · ")
    assert "<h1>Which tone?</h1>" in page


def test_one_control_selects_the_coefficient(
    two_questions: Any, lead: Any, client_for: Any
) -> None:
    """It is in the section of the statistics, and the headline and the trend name the coefficient."""
    query = "?question=severity&coefficient=gwet_ac1"
    overview = get_overview(client_for(lead), two_questions, query).text
    assert overview.count('name="coefficient"') == overview.count('hidden" name="coefficient"')
    for name in ("headline", "trend"):
        assert "Gwet’s AC1" in overview.split(f'id="{name}"', 1)[1].split("</section>", 1)[0]
    page = get_overview(client_for(lead), two_questions, f"statistics/{query}").text
    assert page.count('name="coefficient"') - page.count('hidden" name="coefficient"') == 1
    sections = {
        name: page.split(f'id="{name}"', 1)[1].split("</section>", 1)[0]
        for name in ("headline", "beside")
    }
    assert '<select id="coefficient"' in sections["beside"]
    assert "Gwet’s AC1" in sections["headline"]
    assert page.index('class="split"') < page.index('id="headline"') < page.index('id="beside"')


def test_skip_links_lead_to_content_and_headline(
    two_questions: Any, lead: Any, client_for: Any
) -> None:
    page = get_overview(client_for(lead), two_questions, "?question=severity").text
    targets = re.findall(r'<a class="skip-link" href="#([^"]*)"', page)
    assert targets == ["main", "headline"]
    assert all(page.count(f'id="{name}"') == 1 for name in targets)


def test_weighted_values_have_the_unweighted_one_beside_them(
    two_questions: Any, lead: Any, client_for: Any
) -> None:
    """In the list of questions, the list of projects and their files; not where weights are none."""
    client = client_for(lead)
    question = two_questions.questions.get(key="severity")
    headline = Result.objects.get(question=question, period_unit="all").headline
    unweighted = headline["unweighted"]["value"]
    assert headline["name"].endswith("_quadratic") and unweighted < headline["value"]["value"]
    for address, table in (
        (f"/projects/{two_questions.pk}/", "questions-title"),
        ("/", "projects-title"),
    ):
        page = client.get(address, follow=True)
        assert page.text.count(f"{unweighted:.2f} without weights") >= 1, address
        file = client.get(page.request["PATH_INFO"], {"csv": table}).text
        head, row, *_more = csv.reader(io.StringIO(file))
        assert float(row[head.index("Without weights")]) == pytest.approx(unweighted)
    warm = two_questions.questions.get(key="tone")  # two categories
    rate_many(
        warm,
        [
            ("w0-0", "a", "warm"),
            ("w0-0", "b", "cold"),
            ("w0-1", "a", "warm"),
            ("w0-1", "b", "warm"),
        ],
    )
    update_question(warm.pk)
    assert get_overview(client, two_questions).text.count("without weights") == 1
