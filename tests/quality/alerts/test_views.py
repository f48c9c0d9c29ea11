"""Test alerts and rater statuses in the browser for a lead, a viewer and an annotator."""

from __future__ import annotations

import csv
import datetime
import html
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from metrics.jobs.question_updates import update_question
from projects.models import Question, Rater
from quality.models import Alert, AlertStep, DriftState
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_cast(rated_cast: Cast) -> Cast:
    return rated_cast


@pytest.fixture
def alert(rated_question: Question, make_alert: Any) -> Any:
    return make_alert(rated_question, Rater.objects.get(key="dan"))


@pytest.fixture
def base_url(rated_question: Question) -> str:
    return f"/projects/{rated_question.project_id}/"


@pytest.fixture
def client(client_for: Callable[[User], Client], lead: User) -> Client:
    return client_for(lead)


def get_page_text(response: Any) -> str:
    assert response.status_code == 200
    return " ".join(html.unescape(response.text).split())


SENTENCE = (
    "dan has rated lower since 2026-08-17, by about 0.36 categories, adjusted for the others."
)


def test_alert_is_shown_on_every_page_about_it(alert: Any, base_url: str, client: Client) -> None:
    url = f"{base_url}alerts/{alert.pk}/"
    for path in ("statistics/", "alerts/", f"alerts/{alert.pk}/", "raters/dan/"):
        text = get_page_text(client.get(f"{base_url}{path}"))
        assert SENTENCE in text, path
        assert "1 open alert" in text, path
    assert f'href="{url}"' in client.get(f"{base_url}statistics/").text
    assert SENTENCE not in get_page_text(client.get(f"{base_url}raters/ann/"))
    # The list of projects and the inbox lead to the alert itself.
    for address in ("/", "/inbox/"):
        page = client.get(address).text
        assert f'href="{url}' in page
        assert SENTENCE in html.unescape(page)


def test_alerts_are_filtered_by_question(alert: Any, client: Client) -> None:
    project = alert.question.project
    base = f"/projects/{project.pk}/alerts/"
    project.questions.create(key="tone", text="Which tone?", position=1)
    assert client.get(f"{base}?question=tone").context["alerts"] == []
    page = client.get(f"{base}?question={alert.question.key}&state=open")
    assert [listed_alert for listed_alert, _sentence in page.context["alerts"]] == [alert]
    text = page.content.decode()
    assert f"Only the question “{alert.question}”." in text
    assert f'<input type="hidden" name="question" value="{alert.question.key}">' in text
    assert '<a href="?state=open">All questions</a>' in text
    for unknown in ("none", "%00"):
        assert client.get(f"{base}?question={unknown}").status_code == 404


def test_alert_page_shows_evidence_and_other_explanations(
    alert: Any, base_url: str, client: Client
) -> None:
    text = get_page_text(client.get(f"{base_url}alerts/{alert.pk}/"))
    for sentence in (
        "Based on 1,060 shared items since the change (up to 2026-08-31) and 400 before it.",
        "Average change: -0.50 to -0.22 (95% interval).",
        "It began between 2026-08-10 and 2026-08-24 (95% interval).",
        "Chance alone causes at most one false alert per rater in 20 years.",
        "No similar alerts then.",
        "The guidelines didn’t change then.",
    ):
        assert sentence in text
    Alert.objects.update(supported=False, measure="agreement")
    text = get_page_text(client.get(f"{base_url}alerts/{alert.pk}/"))
    assert "has agreed about 0.36 less since" in text
    assert "wouldn’t raise this alert" in text


def test_alert_page_names_others_who_drifted_in_the_same_days(
    alert: Any, base_url: str, client: Client, make_alert: Any, rated_question: Question
) -> None:
    make_alert(rated_question, Rater.objects.get(key="ben"))
    text = get_page_text(client.get(f"{base_url}alerts/{alert.pk}/"))
    assert "Similar alerts then: ben." in text


def test_alert_steps_are_saved_from_the_page(alert: Any, base_url: str, client: Client) -> None:
    url = f"{base_url}alerts/{alert.pk}/"
    assert client.post(f"{url}step/", {"do": "acknowledged"}).status_code == 302
    tomorrow = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=2)).date()
    body = {"do": "muted", "reason": "on holiday", "muted_until": tomorrow.isoformat()}
    assert client.post(f"{url}step/", body).status_code == 302
    body = {"do": "resolved:not_rater", "reason": "other texts"}
    assert client.post(f"{url}step/", body).status_code == 302
    alert.refresh_from_db()
    assert (alert.state, alert.cause) == ("resolved", "not_rater")
    assert [step.state for step in AlertStep.objects.all()] == ["acknowledged", "muted", "resolved"]
    text = get_page_text(client.get(url))
    assert "other texts" in text
    assert "Not the rater’s fault" in text
    assert "1 open alert" not in text
    assert SENTENCE not in get_page_text(client.get(f"{base_url}statistics/"))
    assert SENTENCE not in get_page_text(client.get(f"{base_url}alerts/"))
    assert SENTENCE in get_page_text(client.get(f"{base_url}alerts/?state=resolved"))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"do": "muted"}, "Enter a reason."),
        ({"do": "muted", "reason": "x", "muted_until": "soon"}, "Enter a date such as 2026-11-23."),
        ({"do": "muted", "reason": "x", "muted_until": "2001-01-01"}, "must be after today"),
        ({"do": "resolved:maybe", "reason": "x"}, "one of real, not_rater"),
        ({"do": ""}, "one of open, acknowledged, muted, resolved"),
    ],
)
def test_invalid_step_shows_an_error_and_changes_nothing(
    alert: Any, base_url: str, client: Client, body: dict[str, str], message: str
) -> None:
    response = client.post(f"{base_url}alerts/{alert.pk}/step/", body)
    assert response.status_code == 400
    assert message in html.unescape(response.text)
    alert.refresh_from_db()
    assert alert.state == "open"
    assert not AlertStep.objects.exists()


def test_permissions_of_alert_pages(
    alert: Any, base_url: str, client_for: Any, viewer: User, annotator: User, stranger: User
) -> None:
    url = f"{base_url}alerts/{alert.pk}/"
    for user, get_status, post_status in (
        (viewer, 200, 403),
        (annotator, 403, 403),
        (stranger, 404, 404),
    ):
        client = client_for(user)
        for path in (f"{base_url}alerts/", url, f"{base_url}raters/", f"{base_url}raters.csv"):
            assert client.get(path).status_code == get_status, (user.username, path)
        assert client.get(f"{url}chart.json").status_code == get_status
        assert client.post(f"{url}step/", {"do": "acknowledged"}).status_code == post_status
    assert "Outcome" not in get_page_text(client_for(viewer).get(url))


def test_the_chart_marks_the_onset(alert: Any, base_url: str, client: Client) -> None:
    chart = client.get(f"{base_url}alerts/{alert.pk}/chart.json").json()
    rows = chart["rows"]
    assert [row["start"] for row in rows] == ["2026-08-16", "2026-08-17", "2026-08-18"]
    assert [row["part"] for row in rows] == ["before", "since", "since"]
    assert rows[0]["level"] == pytest.approx(0.1)
    assert rows[1]["level"] == pytest.approx(-0.4 * 7 / 13)
    assert "2026-08-17" in str(chart["spec"])
    table = list(
        csv.DictReader(io.StringIO(client.get(f"{base_url}alerts/{alert.pk}/chart.csv").text))
    )
    assert [row["n"] for row in table] == ["5", "6", "7"]
    assert client.get(f"{base_url}alerts/{alert.pk}/chart.png").status_code == 404
    assert client.get(f"{base_url}alerts/999999/").status_code == 404


@pytest.mark.fresh
def test_the_ratings_that_differ_most_come_first(
    question: Question, rate: Any, utc: Any, make_alert: Any, client: Client
) -> None:
    for number, (own_label, other_label) in enumerate(
        [("minor", "minor"), ("none", "critical"), ("none", "minor"), ("major", "none")]
    ):
        rated_at = utc(2026, 8, 17 + (number > 0), 12)
        rate(question, f"i{number}", "ann", own_label, rated_at=rated_at)
        for key in ("ben", "cleo"):
            rate(question, f"i{number}", key, other_label, rated_at=rated_at)
    rate(question, "old", "ann", "none", rated_at=utc(2026, 8, 1, 12))
    rate(question, "old", "ben", "critical", rated_at=utc(2026, 8, 1, 12))
    update_question(question.pk)
    chart = {"days": [20660, 20690], "n": [1, 4], "means": [0, -1], "evidence": [0, 1]}
    ann = Rater.objects.get(project=question.project, key="ann")
    alert = make_alert(question, ann, chart=chart)
    response = client.get(f"/projects/{question.project_id}/alerts/{alert.pk}/")
    assert [differing.item.key for differing in response.context["deviating_ratings"]] == [
        "i1",
        "i3",
        "i2",
    ]
    shares_by_label = {
        row.label: (row.before, row.since) for row in response.context["category_use"]
    }
    assert shares_by_label["none"] == (1.0, 0.5)
    assert shares_by_label["major"] == (0.0, 0.25)


def test_rater_statuses_as_page_and_file(
    alert: Any, rated_question: Question, base_url: str, client: Client
) -> None:
    DriftState.objects.create(
        question=rated_question,
        rater=Rater.objects.get(key="ben"),
        evidence=300.0,
        max_evidence=300.0,
        watched=True,
        n=48,
        measure="bias",
        since=datetime.date(2026, 8, 1),
        size=0.3,
        low=0.1,
        high=0.5,
    )
    response = client.get(f"{base_url}raters/")
    text = get_page_text(response)
    assert {row.card.rater.key: row.status for row in response.context["rows"]} == {
        "dan": "Needs action", "ben": "Check", "ann": "OK", "cleo": "OK",
    }  # fmt: skip
    # Shown only once.
    sentence = "has rated lower since 2026-08-17, by about 0.36 categories, adjusted for the others"
    assert f'<a class="small" href="{base_url}alerts/{alert.pk}/">{sentence}</a>' in text
    assert "has an open alert" not in text
    assert "+0.30" not in text, "a size without an alert beside that of an alert"
    for sort in ("rater", "-ratings", "peers", "-bias", "seconds"):
        assert client.get(f"{base_url}raters/?sort={sort}").status_code == 200
    order = client.get(f"{base_url}raters/?sort=-rater").context["rows"]
    assert [row.card.rater.key for row in order] == ["dan", "cleo", "ben", "ann"]
    assert client.get(f"{base_url}raters/?sort=drift").status_code == 404
    assert client.get(f"{base_url}raters/?page=2").status_code == 404
    table = list(csv.DictReader(io.StringIO(client.get(f"{base_url}raters.csv").text)))
    assert [row["rater"] for row in table] == ["ann", "ben", "cleo", "dan"]
    assert (table[3]["status"], table[3]["reasons"]) == ("act", "drift")
    assert (table[1]["status"], table[1]["drift_low"]) == ("check", "0.1")


def test_pages_without_alerts(project: Any, client: Client) -> None:
    text = get_page_text(client.get(f"/projects/{project.pk}/alerts/"))
    assert "No alerts." in text
    assert get_page_text(client.get(f"/projects/{project.pk}/raters/"))


def test_a_single_day_is_a_sentence_and_no_chart(
    rated_question: Question, make_alert: Any, client: Client
) -> None:
    chart = {"days": [20683], "n": [18], "means": [-0.4], "evidence": [5500.0]}
    raters = Rater.objects.filter(project=rated_question.project, key__in=("ben", "dan"))
    alert_of_one_day, alert_of_many_days = (
        make_alert(rated_question, rater, **fields)
        for rater, fields in zip(raters, ({"chart": chart}, {}), strict=True)
    )
    base = f"/projects/{rated_question.project_id}/alerts/"
    pages = [
        client.get(f"{base}{alert.pk}/").text for alert in (alert_of_one_day, alert_of_many_days)
    ]
    assert ["All ratings are from one day" in page for page in pages] == [True, False]
    assert ["data-chart=" in page for page in pages] == [False, True]
