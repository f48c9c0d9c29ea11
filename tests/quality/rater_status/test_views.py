"""The page of a project's raters: whom to look at first, and what is done about many at once."""

from __future__ import annotations

import csv
import io
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agreement_site.models import TrailLine
from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question
from metrics.saved_views import services
from projects.models import Item, Project, Question, Rater
from projects.services.members import usernames
from quality import tasks
from quality.models import Alarm
from quality.rater_status import funnel_chart
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made_once(answered_once: Cast) -> Cast:
    return answered_once


@pytest.fixture
def rated(answered: Question, make_alarm: Any) -> Question:
    """Beside four who look at the items, gus, who says "none" whatever the item is, with a case of
    that, and few, who rated three."""
    project = answered.project
    items = list(Item.objects.filter(project=project).order_by("key"))
    gus, few = (Rater.objects.create(project=project, key=key) for key in ("gus", "few"))
    said = [Judgement(item.pk, gus.pk, 0) for item in items]
    said += [Judgement(item.pk, few.pk, 3) for item in items[:3]]
    record_ratings({answered: said}, by=None, source="api")
    update_question(answered.pk)
    assert tasks.sweep_raters() == 1
    # Sixty items are too few to be that sure: tests/quality/alerts/test_kinds.py raises one.
    make_alarm(
        answered,
        gus,
        kind="rater_same",
        measure="answers",
        code=0,
        size=0.0,
        n=50,
        facts={"category": "none", "share": 1.0, "others": 0.9},
    )
    return answered


@pytest.fixture
def base(project: Project) -> str:
    return f"/projects/{project.pk}/"


@pytest.fixture
def client(lead: User, client_for: Any) -> Client:
    found: Client = client_for(lead)
    return found


def keys(answer: Any) -> list[str]:
    return [row.card.rater.key for row in answer.context["rows"]]


def test_who_does_most_harm_comes_first(
    rated: Question, base: str, client: Client, lead: User
) -> None:
    page = client.get(f"{base}raters/")
    assert keys(page)[:2] == ["gus", "dan"]
    gus = page.context["rows"][0]
    assert gus.status == "ask them"
    assert "nearly always the same answer" in gus.reasons
    [(case, sentence)] = gus.cases
    assert case.kind == "rater_same"
    assert sentence == "answers “none” nearly always" and sentence in page.text
    # Whoever has a link sees no cases: they read all reasons in words.
    named = services.create_saved_view(
        project=rated.project, page="raters", name="All", query="", by=lead
    )
    secret = services.create_share_link(view=named, until=timezone.localdate(), by=lead)
    chinese = Client().get(f"/shared/{secret}/", headers={"Accept-Language": "zh-hans"})
    assert "有未解决的警报；几乎总是" in chinese.text
    chips = {name: n for name, _words, n in page.context["chips"]}
    assert (chips["same"], chips["few"], chips["paused"]) == (1, 1, 0)
    middle = page.context["every"].standings.middle
    kappa = gus.card.peers["value"]
    assert gus.line.harm == pytest.approx(60 * (middle - kappa))
    assert keys(client.get(f"{base}raters/?show=few")) == ["few"]
    assert "few" not in keys(client.get(f"{base}raters/?least=4"))
    assert keys(client.get(f"{base}raters/?search=GU")) == ["gus"]
    assert "No rater is like that." in client.get(f"{base}raters/?search=nobody").text
    for wrong, status in (("show=x", 404), ("sort=x", 404), ("least=x", 400)):
        assert client.get(f"{base}raters/?{wrong}").status_code == status, wrong
    old = client.get(f"{base}scorecard/?sort=rater")
    assert (old.status_code, old["Location"]) == (301, f"{base}raters/?sort=rater")


def test_raters_of_few_items_come_last_in_either_order(
    rated: Question, base: str, client: Client
) -> None:
    for column in ("peers", "bias"):
        rising, falling = (
            client.get(f"{base}raters/?sort={sort}") for sort in (column, f"-{column}")
        )
        standing = {row.line.key: row.line.standing for row in rising.context["rows"]}
        assert standing["few"].value is not None
        assert keys(rising)[-1] == keys(falling)[-1] == "few"
        assert keys(rising)[:-1] != keys(falling)[:-1]
        assert "fewer than 30 items to compare come last" in rising.text
    assert "come last" not in client.get(f"{base}raters/").text


def test_who_lies_below_the_funnel_is_not_said_to_have_nothing(
    rated: Question, base: str, client: Client
) -> None:
    """No alarm is no praise: w0003 of a real study, of most harm, had "nothing found" beside it."""
    Alarm.objects.all().delete()
    page = client.get(f"{base}raters/")
    standings = page.context["every"].standings
    rows = {row.line.key: row for row in page.context["rows"]}
    assert (rows["gus"].status, rows["gus"].card.status) == ("agrees less", "fine")
    assert rows["gus"].reasons == ["not by chance alone"]
    for key, row in rows.items():
        if not row.line.standing.enough:
            assert row.status == "too little known"
            continue
        low, _high = standings.funnel.limits(np.array([row.line.standing.n_items]))
        below = row.line.standing.high < low[0]
        assert (row.status == "agrees less") == bool(row.reasons) == below, key
    assert {row.status for row in rows.values()} >= {"agrees less", "nothing found"}


def test_who_answers_alike_is_told_as_long_as_the_case_lives(
    rated: Question, base: str, client: Client
) -> None:
    """The page has no rule of its own beside that of the alarms."""

    def alike() -> list[str]:
        return keys(client.get(f"{base}raters/?show=same"))

    case = Alarm.objects.get(kind="rater_same")
    assert alike() == ["gus"]
    page = client.get(f"{base}raters/?show=same").text
    assert "nearly always</a>" in page and "an alarm is open" not in page  # once, by the case
    assert keys(client.get(f"{base}raters/?show=drifted")) == []
    Alarm.objects.filter(pk=case.pk).update(kind="rater_drift")
    assert keys(client.get(f"{base}raters/?show=drifted")) == ["gus"]
    Alarm.objects.filter(pk=case.pk).update(kind="rater_same")
    for changed, told in (
        ({"state": "muted"}, ["gus"]),
        ({"stands": False}, []),
        ({"stands": True, "state": "resolved"}, []),
        ({"state": "open", "kind": "rater_fast"}, []),
    ):
        Alarm.objects.filter(pk=case.pk).update(**changed)
        assert alike() == told, changed
    assert keys(client.get(f"{base}raters/?show=fast")) == ["gus"]
    assert keys(client.get(f"{base}raters/?show=apart")) == []
    assert "Agrees clearly less" not in client.get(f"{base}raters/gus/").text
    Alarm.objects.update(kind="rater_apart", measure="agreement", facts={"middle": 0.6, "bound": 0})
    assert keys(client.get(f"{base}raters/?show=apart")) == ["gus"]
    judged = "Agrees clearly less with everybody than the others do:"
    assert judged in client.get(f"{base}raters/gus/").text


def test_before_the_sweep_the_page_waits(answered: Question, base: str, client: Client) -> None:
    assert "are being computed" in client.get(f"{base}raters/").text
    assert tasks.sweep_raters() == 1
    assert tasks.sweep_raters() == 0, "nothing moved"
    assert "are being computed" not in client.get(f"{base}raters/").text


def test_without_some_raters_the_number_is_that_of_the_filter(
    rated: Question, base: str, client: Client
) -> None:
    address = f"{base}raters/?without=gus"
    assert client.get(address).context["comparison"].waiting
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    found = client.get(address).context["comparison"]
    whole = client.get(base).context["headline"]["value"]
    without = client.get(f"{base}?without=gus").context["headline"]["value"]
    assert found.whole["value"] == pytest.approx(whole)
    assert found.without["value"] == pytest.approx(without)
    assert without > whole + 0.1
    assert client.get(f"{base}raters/?without=nobody").status_code == 400


def test_many_are_paused_at_once_and_taken_back(
    rated: Question, base: str, client: Client, viewer: User, client_for: Any, make_project: Any
) -> None:
    gus, dan = (Rater.objects.get(key=key) for key in ("gus", "dan"))
    chosen = {
        "do": "pause",
        "rater": [gus.pk, dan.pk],
        "passed": "sort=rater&page=1&x=1&without=ann",
    }
    assert client_for(viewer).post(f"{base}triage/", chosen).status_code == 403
    answer = client.post(f"{base}triage/", chosen)
    assert answer.status_code == 302
    asked = parse_qs(urlsplit(answer["Location"]).query)
    assert asked["sort"] == ["rater"] and "x" not in asked
    assert asked["without"] == ["ann"]  # who was left out of the numbers stays so
    page = client.get(answer["Location"])
    assert {rater.key for rater in page.context["paused_now"]} == {"gus", "dan"}
    lines = TrailLine.objects.filter(what="rater_paused").order_by("pk")
    assert list(lines.values_list("after__rater", flat=True)) == ["dan", "gus"]
    assert set(keys(client.get(f"{base}raters/?show=paused"))) == {"gus", "dan"}
    client.post(f"{base}triage/", chosen | {"do": "resume"})
    assert not Rater.objects.filter(paused=True).exists()
    assert client.get(answer["Location"]).context["paused_now"] == []
    foreign = Rater.objects.create(project=make_project(), key="gus")
    for wrong in ({"rater": [gus.pk, foreign.pk]}, {"rater": ["x"]}, {"do": "delete"}):
        assert client.post(f"{base}triage/", chosen | wrong).status_code == 400, wrong
    assert not Rater.objects.filter(paused=True).exists()
    nobody = client.post(f"{base}triage/", {"do": "pause"}, follow=True)
    assert "Choose a rater first." in nobody.text


def test_the_chosen_as_a_file_and_left_out(
    rated: Question, base: str, viewer: User, client_for: Any
) -> None:
    client = client_for(viewer)
    gus = Rater.objects.get(key="gus")
    answer = client.post(f"{base}triage/", {"do": "csv", "rater": gus.pk}, follow=True)
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert (row["rater"], row["main_category"], row["main_share"]) == ("gus", "none", "1.0")
    whole = list(csv.DictReader(io.StringIO(client.get(f"{base}raters.csv").text)))
    assert len(whole) == Rater.objects.count()
    answer = client.post(f"{base}triage/", {"do": "without", "rater": gus.pk})
    assert answer["Location"] == f"{base}raters/?without=gus"
    assert client.get(f"{base}raters.csv?rater=x").status_code == 400


def test_the_funnel_tells_many_by_squares(
    rated: Question, base: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    chart = client.get(f"{base}funnel.json").json()
    drawn = [row for row in chart["rows"] if row["kind"] == "rater"]
    points = {row["url"].split("/")[-2]: row for row in drawn}
    assert points["gus"]["outside"] and points["gus"]["same"]
    assert not points["ann"]["outside"]
    assert points["gus"]["url"] == f"{base}raters/gus/?question=severity"
    monkeypatch.setattr(funnel_chart, "MAX_POINTS", 2)
    rows = client.get(f"{base}funnel.json").json()["rows"]
    names = [row["rater"] for row in rows if row["kind"] == "rater"]
    assert names[0] == "gus" and len(names) == 2
    within = sum(row["raters"] for row in rows if row["kind"] == "many")
    assert within == len(points) - 2, "nobody is left out"
    assert client.get(f"{base}funnel.svg").status_code == 404


def test_a_thousand_raters_cost_no_more_queries(
    rated: Question, base: str, client: Client, django_assert_max_num_queries: Any
) -> None:
    client.get(f"{base}raters/")
    Rater.objects.bulk_create(Rater(project=rated.project, key=f"r{n}") for n in range(300))
    with django_assert_max_num_queries(30):
        page = client.get(f"{base}raters/")
    assert len(page.content) < 250_000
    assert page.context["page"].paginator.num_pages > 1


def test_the_page_of_a_rater_begins_with_a_judgement(
    rated: Question, base: str, client: Client, viewer: User, client_for: Any
) -> None:
    page = client.get(f"{base}raters/gus/")
    assert "gus answers “none” nearly always:" in page.text
    assert 'judgement">Agrees' in page.text
    assert "without=gus#without" in page.text
    gus = Rater.objects.get(key="gus")
    pause = {"do": "pause", "rater": gus.pk, "passed": "question=severity", "back": "rater"}
    answer = client.post(f"{base}triage/", pause)
    assert answer["Location"] == f"{base}raters/gus/?question=severity"
    assert 'value="resume"' in client.get(answer["Location"]).text
    assert 'value="resume"' not in client_for(viewer).get(answer["Location"]).text
    assert "text 0" in page.text, "disagreements are told by the text of the item"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("w0559", "59"),
        ("w0039", "39"),
        ("rater-07", "07"),
        ("w2", "W2"),
        ("7", "7"),
        ("Ada Lovelace", "AL"),
        ("ann", "A"),
        ("", "?"),
    ],
)
def test_initials_tell_numbered_raters_apart(name: str, told: str) -> None:
    assert usernames.get_initials(name) == told


@pytest.mark.fresh
def test_what_is_not_there_yet_comes_by_itself(
    project: Project, question: Question, rate: Any, lead: User, client_for: Any
) -> None:
    """An open page is told once there is something, and loaded anew. Where nobody has rated it
    waits for nothing."""
    client, page = client_for(lead), f"/projects/{project.pk}/raters/"
    open_page = {"X-Shown": "waiting"}
    Rater.objects.create(project=project, key="new")
    assert "being computed" not in client.get(page).text
    assert "data-poll" not in client.get(page).text
    for item in ("i1", "i2"):
        for rater in ("ann", "ben"):
            rate(question, item, rater, "minor")
    update_question(question.pk)
    waiting = "These numbers are being computed. They appear here by themselves."
    assert waiting in client.get(page).text
    assert client.get(page, headers=open_page).status_code == 204
    tasks.sweep_raters()
    assert client.get(page, headers=open_page)["HX-Refresh"] == "true"
    assert "being computed" not in client.get(page).text
