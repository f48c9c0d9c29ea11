"""Cases and scorecards in the browser, as a lead, a viewer and an annotator meet them."""

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
from quality.models import Alarm, AlarmStep, DriftStanding
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made_once(answered_once: Cast) -> Cast:
    return answered_once


@pytest.fixture
def case(answered: Question, make_alarm: Any) -> Any:
    return make_alarm(answered, Rater.objects.get(key="dan"))


@pytest.fixture
def base(answered: Question) -> str:
    return f"/projects/{answered.project_id}/"


@pytest.fixture
def client(client_for: Callable[[User], Client], lead: User) -> Client:
    return client_for(lead)


def words(answer: Any) -> str:
    assert answer.status_code == 200
    return " ".join(html.unescape(answer.text).split())


SAID = "dan rates lower than before: by about 0.36 categories on average since 2026-08-17."


def test_the_list_the_case_and_every_place_that_tells_of_it(
    case: Any, base: str, client: Client
) -> None:
    url = f"{base}alarms/{case.pk}/"
    for path in ("", "alarms/", f"alarms/{case.pk}/", "raters/dan/"):
        text = words(client.get(f"{base}{path}"))
        assert SAID in text, path
        assert "1 open case" in text, path
    assert f'href="{url}"' in client.get(base).text
    assert SAID not in words(client.get(f"{base}raters/ann/"))
    listed = client.get("/").text
    assert f'href="{base}alarms/"' in listed
    assert "1 open case" in listed


def test_the_cases_of_one_question(case: Any, client: Client) -> None:
    project = case.question.project
    base = f"/projects/{project.pk}/alarms/"
    project.questions.create(key="tone", text="Which tone?", position=1)
    assert client.get(f"{base}?question=tone").context["cases"] == []
    page = client.get(f"{base}?question={case.question.key}&state=open")
    assert [one for one, _sentence in page.context["cases"]] == [case]
    text = page.content.decode()
    assert f"Of the question “{case.question}”." in text
    assert f'<input type="hidden" name="question" value="{case.question.key}">' in text
    assert '<a href="?state=open">All questions</a>' in text
    for unknown in ("none", "%00"):
        assert client.get(f"{base}?question={unknown}").status_code == 404


def test_a_case_says_what_it_rests_on_and_what_else_it_could_be(
    case: Any, base: str, client: Client
) -> None:
    text = words(client.get(f"{base}alarms/{case.pk}/"))
    for said in (
        "It rests on 1,060 items of this rater that others rated too, up to 2026-08-31, and on"
        " 400 before.",
        "On average until then, the change lies between -0.50 and -0.22 (95 %). If it still grows, it has"
        " become larger.",
        "It began between 2026-08-10 and 2026-08-24 (95 %).",
        "A false alarm of this kind comes at most once in 20 years of one rater’s work.",
        "Nobody else moved in these days.",
        "The guidelines did not change in these days.",
    ):
        assert said in text
    Alarm.objects.update(stands=False, measure="agreement")
    text = words(client.get(f"{base}alarms/{case.pk}/"))
    assert "dan agrees less with everybody than before: by about 0.36 in kappa" in text
    assert "would not raise this alarm any more" in text


def test_others_who_moved_in_the_same_days_are_named(
    case: Any, base: str, client: Client, make_alarm: Any, answered: Question
) -> None:
    make_alarm(answered, Rater.objects.get(key="ben"))
    text = words(client.get(f"{base}alarms/{case.pk}/"))
    assert "Others moved in these days too: ben." in text


def test_the_steps_of_a_case(case: Any, base: str, client: Client) -> None:
    url = f"{base}alarms/{case.pk}/"
    assert client.post(f"{url}step/", {"do": "looked_at"}).status_code == 302
    tomorrow = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=2)).date()
    body = {"do": "muted", "reason": "on holiday", "until": tomorrow.isoformat()}
    assert client.post(f"{url}step/", body).status_code == 302
    body = {"do": "resolved:not_his_fault", "reason": "other texts"}
    assert client.post(f"{url}step/", body).status_code == 302
    case.refresh_from_db()
    assert (case.state, case.answer) == ("resolved", "not_his_fault")
    assert [step.state for step in AlarmStep.objects.all()] == ["looked_at", "muted", "resolved"]
    text = words(client.get(url))
    assert "other texts" in text
    assert "It is not the rater's fault" in text
    assert "1 open case" not in text
    assert SAID not in words(client.get(base))
    assert SAID not in words(client.get(f"{base}alarms/"))
    assert SAID in words(client.get(f"{base}alarms/?state=resolved"))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"do": "muted"}, "say why, or what was done"),
        ({"do": "muted", "reason": "x", "until": "soon"}, "Write the day as 2026-12-31."),
        ({"do": "muted", "reason": "x", "until": "2001-01-01"}, "a day after today"),
        ({"do": "resolved:maybe", "reason": "x"}, "one of real, not_his_fault"),
        ({"do": ""}, "one of open, looked_at, muted, resolved"),
    ],
)
def test_a_wrong_step_says_what_is_missing_and_changes_nothing(
    case: Any, base: str, client: Client, body: dict[str, str], said: str
) -> None:
    answer = client.post(f"{base}alarms/{case.pk}/step/", body)
    assert answer.status_code == 400
    assert said in html.unescape(answer.text)
    case.refresh_from_db()
    assert case.state == "open"
    assert not AlarmStep.objects.exists()


def test_who_may_what(
    case: Any, base: str, client_for: Any, viewer: User, annotator: User, stranger: User
) -> None:
    url = f"{base}alarms/{case.pk}/"
    for user, seen, done in ((viewer, 200, 403), (annotator, 403, 403), (stranger, 404, 404)):
        client = client_for(user)
        for path in (f"{base}alarms/", url, f"{base}raters/", f"{base}raters.csv"):
            assert client.get(path).status_code == seen, (user.username, path)
        assert client.get(f"{url}chart.json").status_code == seen
        assert client.post(f"{url}step/", {"do": "looked_at"}).status_code == done
    assert "What came of it" not in words(client_for(viewer).get(url))


def test_the_chart_marks_the_onset(case: Any, base: str, client: Client) -> None:
    answer = client.get(f"{base}alarms/{case.pk}/chart.json").json()
    rows = answer["rows"]
    assert [row["start"] for row in rows] == ["2026-08-16", "2026-08-17", "2026-08-18"]
    assert [row["part"] for row in rows] == ["before", "since", "since"]
    assert rows[0]["level"] == pytest.approx(0.1)
    assert rows[1]["level"] == pytest.approx(-0.4 * 7 / 13)
    assert "2026-08-17" in str(answer["spec"])
    table = list(csv.DictReader(io.StringIO(client.get(f"{base}alarms/{case.pk}/chart.csv").text)))
    assert [row["n"] for row in table] == ["5", "6", "7"]
    assert client.get(f"{base}alarms/{case.pk}/chart.png").status_code == 404
    assert client.get(f"{base}alarms/999999/").status_code == 404


@pytest.mark.fresh
def test_the_ratings_that_differ_most_come_first(
    question: Question, rate: Any, utc: Any, make_alarm: Any, client: Client
) -> None:
    for number, (own, others) in enumerate(
        [("minor", "minor"), ("none", "critical"), ("none", "minor"), ("major", "none")]
    ):
        when = utc(2026, 8, 17 + (number > 0), 12)
        rate(question, f"i{number}", "ann", own, rated_at=when)
        for key in ("ben", "cleo"):
            rate(question, f"i{number}", key, others, rated_at=when)
    rate(question, "old", "ann", "none", rated_at=utc(2026, 8, 1, 12))
    rate(question, "old", "ben", "critical", rated_at=utc(2026, 8, 1, 12))
    update_question(question.pk)
    chart = {"days": [20660, 20690], "n": [1, 4], "means": [0, -1], "evidence": [0, 1]}
    ann = Rater.objects.get(project=question.project, key="ann")
    case = make_alarm(question, ann, chart=chart)
    answer = client.get(f"/projects/{question.project_id}/alarms/{case.pk}/")
    assert [one.item_key for one in answer.context["differing"]] == ["i1", "i3", "i2"]
    use = {row.label: (row.before, row.since) for row in answer.context["use"]}
    assert use["none"] == (1.0, 0.5)
    assert use["major"] == (0.0, 0.25)


def test_the_scorecard_as_a_page_and_a_file(
    case: Any, answered: Question, base: str, client: Client
) -> None:
    DriftStanding.objects.create(
        question=answered,
        rater=Rater.objects.get(key="ben"),
        evidence=300.0,
        greatest=300.0,
        watched=True,
        n=48,
        measure="bias",
        since=datetime.date(2026, 8, 1),
        size=0.3,
        low=0.1,
        high=0.5,
    )
    answer = client.get(f"{base}raters/")
    text = words(answer)
    assert {row.card.rater.key: row.status for row in answer.context["rows"]} == {
        "dan": "ask them", "ben": "watch", "ann": "nothing found", "cleo": "nothing found",
    }  # fmt: skip
    said = "rates lower than before, by about 0.36, since 2026-08-17"  # and no second time
    assert f'<a class="small" href="{base}alarms/{case.pk}/">{said}</a>' in text
    assert "an alarm is open" not in text
    assert "+0.30 [0.10, 0.50]" in text
    for sort in ("rater", "-ratings", "peers", "-bias", "seconds", "-drift"):
        assert client.get(f"{base}raters/?sort={sort}").status_code == 200
    order = client.get(f"{base}raters/?sort=-rater").context["rows"]
    assert [row.card.rater.key for row in order] == ["dan", "cleo", "ben", "ann"]
    assert client.get(f"{base}raters/?sort=name").status_code == 404
    assert client.get(f"{base}raters/?page=2").status_code == 404
    table = list(csv.DictReader(io.StringIO(client.get(f"{base}raters.csv").text)))
    assert [row["rater"] for row in table] == ["ann", "ben", "cleo", "dan"]
    assert (table[3]["status"], table[3]["reasons"]) == ("act", "drift_alarm")
    assert (table[1]["status"], table[1]["drift_low"]) == ("watch", "0.1")


def test_nothing_yet(project: Any, client: Client) -> None:
    text = words(client.get(f"/projects/{project.pk}/alarms/"))
    assert "nothing moved enough to be sure" in text
    assert words(client.get(f"/projects/{project.pk}/raters/"))


def test_a_single_day_is_a_sentence_and_no_chart(
    answered: Question, make_alarm: Any, client: Client
) -> None:
    chart = {"days": [20683], "n": [18], "means": [-0.4], "evidence": [5500.0]}
    raters = Rater.objects.filter(project=answered.project, key__in=("ben", "dan"))
    of_a_day, of_days = (
        make_alarm(answered, rater, **more)
        for rater, more in zip(raters, ({"chart": chart}, {}), strict=True)
    )
    base = f"/projects/{answered.project_id}/alarms/"
    told = [client.get(f"{base}{case.pk}/").text for case in (of_a_day, of_days)]
    assert ["All of it is of one day" in page for page in told] == [True, False]
    assert ["data-chart=" in page for page in told] == [False, True]
