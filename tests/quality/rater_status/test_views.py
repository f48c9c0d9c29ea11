"""Test the page of a project's raters: raters to check first, and actions on many raters at once."""

from __future__ import annotations

import csv
import io
import random
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agreement_site.models import AuditLogEntry
from metrics import saved_views
from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question
from projects.models import Item, Member, Project, Question, Rater
from quality import tasks
from quality.consensus import recomputation as consensus
from quality.models import Alert, DriftState, RaterConfusion
from quality.rater_status import export_views, funnel_plot
from quality.rater_status import recomputation as rater_recomputation
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import Cast, make_project, rate_many

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_cast(rated_cast: Cast) -> Cast:
    return rated_cast


@pytest.fixture
def question_with_outliers(rated_question: Question, make_alert: Any) -> Question:
    """Question with two more raters: gus, who always answers "none", and few, who rated three items.

    gus has an alert for it.
    """
    project = rated_question.project
    items = list(Item.objects.filter(project=project).order_by("key"))
    gus, few = (Rater.objects.create(project=project, key=key) for key in ("gus", "few"))
    judgements = [Judgement(item.pk, gus.pk, 0) for item in items]
    judgements += [Judgement(item.pk, few.pk, 3) for item in items[:3]]
    record_ratings({rated_question: judgements}, by=None, source="api")
    update_question(rated_question.pk)
    assert tasks.sweep_raters() == 1
    consensus.recompute_question(rated_question.pk, at_once=True)
    # Sixty items give too little evidence; tests/quality/alerts/test_kinds.py detects such an alert.
    make_alert(
        rated_question,
        gus,
        kind="rater_same_answer",
        measure="other_answers",
        code=0,
        size=0.0,
        n=50,
        facts={"category": "none", "share": 1.0, "others": 0.9},
    )
    return rated_question


@pytest.fixture
def base_url(project: Project) -> str:
    return f"/projects/{project.pk}/"


@pytest.fixture
def client(lead: User, client_for: Any) -> Client:
    lead_client: Client = client_for(lead)
    return lead_client


def list_rater_keys(response: Any) -> list[str]:
    return [row.card.rater.key for row in response.context["rows"]]


def test_raters_are_sorted_by_impact(
    question_with_outliers: Question, base_url: str, client: Client, lead: User
) -> None:
    page = client.get(f"{base_url}raters/")
    assert list_rater_keys(page)[:2] == ["gus", "dan"]
    gus = page.context["rows"][0]
    assert gus.status == "Needs action"
    assert "Repeated answer" in gus.reasons
    [(alert, sentence)] = gus.alerts
    assert alert.kind == "rater_same_answer"
    assert sentence == "almost always answers “none”" and sentence in page.text
    # The shared page shows no alerts, so it gives all reasons as texts.
    saved_view = saved_views.create_saved_view(
        project=question_with_outliers.project, page="raters", name="All", query="", by=lead
    )
    share_key = saved_views.create_share_link(view=saved_view, until=timezone.localdate(), by=lead)
    chinese = Client().get(f"/shared/{share_key}/", headers={"Accept-Language": "zh-hans"})
    assert "有未解决的警报；重复同一答案" in chinese.text
    chips = {name: n for name, _words, n in page.context["filter_chips"]}
    assert (chips["same_answer"], chips["not_enough"], chips["paused"]) == (1, 1, 0)
    errors = dict(RaterConfusion.objects.values_list("rater__key", "impact"))
    impacts = {row.listed.key: row.listed.impact for row in page.context["rows"]}
    assert impacts == {key: pytest.approx(errors[key]) for key in impacts}
    assert 15 < impacts["gus"] < 60, "of 60 ratings, near misses in part"
    assert list_rater_keys(client.get(f"{base_url}raters/?show=not_enough")) == ["few"]
    assert "few" not in list_rater_keys(client.get(f"{base_url}raters/?min_ratings=4"))
    assert list_rater_keys(client.get(f"{base_url}raters/?search=GU")) == ["gus"]
    assert "No matches." in client.get(f"{base_url}raters/?search=nobody").text
    for invalid_query, status in (("show=x", 404), ("sort=x", 404), ("min_ratings=x", 400)):
        assert client.get(f"{base_url}raters/?{invalid_query}").status_code == status, invalid_query


def test_alerts_and_raters_have_the_same_impact_and_order(
    question_with_outliers: Question, make_alert: Any, client_for: Any, lead: User
) -> None:
    """An alert counts as much as its rater, whatever its own size: inbox and raters agree."""
    question = question_with_outliers
    # Of few items, from a time when little was known of the rater.
    make_alert(question, question.project.raters.get(key="dan"), n=3)
    rater_recomputation.recompute_question(question.pk, at_once=True)
    client = client_for(lead)
    in_inbox = [
        (row.alert.rater.key, row.stored.row_impact)
        for row in client.get("/inbox/").context["rows"]
        if row.alert and row.alert.rater
    ]
    rows = client.get(f"/projects/{question.project_id}/raters/").context["rows"]
    on_page = [(row.listed.key, pytest.approx(row.listed.impact)) for row in rows if row.alerts]
    assert in_inbox == on_page
    assert [key for key, _impact in in_inbox] == ["gus", "dan"]


def test_rater_whose_peers_explain_the_bias_is_told_apart(client: Client, lead: User) -> None:
    """Regression: the largest bias of a study was "OK", and no page said why.

    r5 shares items with the harsh r0 alone, so that r5 looks lenient.
    """
    labels = tuple(str(number) for number in range(1, 8))
    project = make_project("Levels", labels=labels, scale="ordinal")
    Member.objects.create(project=project, user=lead, role=Member.Role.LEAD)
    generator, answers = random.Random(12), []
    for index in range(600):
        pair = ((0, 5), (0, 1), (1, 2), (2, 3), (0, 3), (3, 4))[index % 6]
        truth = generator.randrange(2, 5)
        for rater in pair:
            grade = truth + generator.randint(-1, 1) + (rater == 0)
            answers.append((f"i{index}", f"r{rater}", labels[grade]))
    rate_many(project.questions.get(), answers)
    update_question(project.questions.get().pk)
    while tasks.sweep_raters():
        pass
    base = f"/projects/{project.pk}/"
    page = client.get(f"{base}raters/")
    rows = {row.listed.key: row for row in page.context["rows"]}
    assert (rows["r0"].status, rows["r5"].status) == ("Check", "OK")
    assert rows["r5"].card.bias["value"] < -0.7
    assert rows["r5"].note.startswith("Explained by who rated the same items; adjusted bias:")
    assert rows["r5"].note in page.text and rows["r5"].note in client.get(f"{base}raters/r5/").text
    assert {key for key, row in rows.items() if row.note} <= {"r5"}
    # The level is of all days: beside a drift, the page does not state it.
    DriftState.objects.update_or_create(
        question=project.questions.get(),
        rater=Rater.objects.get(project=project, key="r5"),
        defaults={"evidence": 240.0, "max_evidence": 260.0, "watched": True, "n": 90},
    )
    text = client.get(f"{base}raters/r5/").text
    assert "adjusted bias" not in text and "may be drifting" in text
    # Regression: a rater to watch was counted as one with an alert.
    pages = {flag: client.get(f"{base}raters/?show={flag}").text for flag in ("drift", "alert")}
    assert ">r5</a>" in pages["drift"] and ">r5</a>" not in pages["alert"]


def test_raters_of_few_items_come_last_in_either_order(
    question_with_outliers: Question, base_url: str, client: Client
) -> None:
    for column in ("peers", "bias"):
        rising, falling = (
            client.get(f"{base_url}raters/?sort={sort}") for sort in (column, f"-{column}")
        )
        standing_by_rater = {row.listed.key: row.listed.result for row in rising.context["rows"]}
        assert standing_by_rater["few"].value is not None
        assert list_rater_keys(rising)[-1] == list_rater_keys(falling)[-1] == "few"
        assert list_rater_keys(rising)[:-1] != list_rater_keys(falling)[:-1]
        assert "Last: raters with fewer than 30 shared items" in rising.text
    assert "come last" not in client.get(f"{base_url}raters/").text


def test_rater_below_the_others_is_not_shown_as_ok(
    question_with_outliers: Question, base_url: str, client: Client
) -> None:
    """Regression: w0003 of a real study had the most impact and was shown as "OK"."""
    Alert.objects.all().delete()
    # Without an order of the answers nobody rates higher or lower, so nothing else is found.
    Question.objects.update(scale="nominal", weights="none")
    rater_recomputation.recompute_question(question_with_outliers.pk, at_once=True)
    page = client.get(f"{base_url}raters/")
    rows = {row.listed.key: row for row in page.context["rows"]}
    text = "almost always answers “none”"
    assert (rows["gus"].status, rows["gus"].card.status) == ("Check", "check")
    assert rows["gus"].reasons == [text]
    assert {rows[key].status for key in rows.keys() - {"gus"}} == {"OK", "Not enough data"}
    overview = client.get(base_url).text
    assert "Check gus" in overview and text in overview


def test_constant_rater_is_listed_while_the_alert_is_current(
    question_with_outliers: Question, base_url: str, client: Client
) -> None:
    """Without an alert the rater, who left no answer, asks for a check by the weaker rule."""

    def list_constant_raters() -> list[str]:
        return list_rater_keys(client.get(f"{base_url}raters/?show=same_answer"))

    alert = Alert.objects.get(kind="rater_same_answer")
    assert list_constant_raters() == ["gus"]
    page = client.get(f"{base_url}raters/?show=same_answer").text
    assert (
        "answers “none”</a>" in page and "has an open alert" not in page
    )  # only the alert is shown
    assert list_rater_keys(client.get(f"{base_url}raters/?show=drift")) == []
    Alert.objects.filter(pk=alert.pk).update(kind="rater_drift")
    assert list_rater_keys(client.get(f"{base_url}raters/?show=drift")) == ["gus"]
    Alert.objects.filter(pk=alert.pk).update(kind="rater_same_answer")
    for fields, expected in (
        ({"state": "muted"}, ["gus"]),
        ({"supported": False}, ["gus"]),
        ({"supported": True, "state": "resolved"}, ["gus"]),
        ({"state": "open", "kind": "rater_fast"}, ["gus"]),
    ):
        Alert.objects.filter(pk=alert.pk).update(**fields)
        assert list_constant_raters() == expected, fields
        [row] = client.get(f"{base_url}raters/?show=same_answer").context["rows"]
        assert row.status == ("Needs action" if fields.get("state") == "open" else "Check")
    assert list_rater_keys(client.get(f"{base_url}raters/?show=too_fast")) == ["gus"]
    low_agreement_url = f"{base_url}raters/?show=low_agreement"
    assert list_rater_keys(client.get(low_agreement_url)) == ["gus"]
    assert "Agrees far less" not in client.get(f"{base_url}raters/gus/").text
    Alert.objects.update(kind="rater_apart", measure="agreement", facts={"middle": 0.6, "bound": 0})
    assert list_rater_keys(client.get(low_agreement_url)) == ["gus"]
    sentence = "Agrees far less than the others:"
    assert sentence in client.get(f"{base_url}raters/gus/").text


COUNTING = "<p>Counting …</p>"


def test_page_says_when_numbers_are_being_computed(
    rated_question: Question, base_url: str, client: Client
) -> None:
    page = client.get(f"{base_url}raters/").text
    assert COUNTING in page and "Not enough data" not in page
    assert tasks.sweep_raters() == 1
    assert tasks.sweep_raters() == 0, "nothing moved"
    assert COUNTING not in client.get(f"{base_url}raters/").text


def test_comparison_without_raters_equals_the_filtered_headline(
    question_with_outliers: Question, base_url: str, client: Client
) -> None:
    address = f"{base_url}raters/?exclude=gus"
    assert client.get(address).context["comparison"].is_pending
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    result = client.get(address).context["comparison"]
    headline_of_all = client.get(base_url).context["headline"]["value"]
    headline_without = client.get(f"{base_url}?exclude=gus").context["headline"]["value"]
    assert result.unfiltered["value"] == pytest.approx(headline_of_all)
    assert result.without["value"] == pytest.approx(headline_without)
    assert headline_without > headline_of_all + 0.1
    assert client.get(f"{base_url}raters/?exclude=nobody").status_code == 400


def test_many_raters_are_paused_and_resumed_at_once(
    question_with_outliers: Question,
    base_url: str,
    client: Client,
    viewer: User,
    client_for: Any,
    make_project: Any,
) -> None:
    gus, dan = (Rater.objects.get(key=key) for key in ("gus", "dan"))
    form_data = {
        "do": "pause",
        "rater": [gus.pk, dan.pk],
        "list_query": "sort=rater&page=1&x=1&exclude=ann",
    }
    assert client_for(viewer).post(f"{base_url}rater-actions/", form_data).status_code == 403
    response = client.post(f"{base_url}rater-actions/", form_data)
    assert response.status_code == 302
    query = parse_qs(urlsplit(response["Location"]).query)
    assert query["sort"] == ["rater"] and "x" not in query
    assert query["exclude"] == ["ann"]  # excluded raters stay excluded
    page = client.get(response["Location"])
    assert {rater.key for rater in page.context["just_paused"]} == {"gus", "dan"}
    lines = AuditLogEntry.objects.filter(action="rater_paused").order_by("pk")
    assert list(lines.values_list("after__rater", flat=True)) == ["dan", "gus"]
    assert set(list_rater_keys(client.get(f"{base_url}raters/?show=paused"))) == {"gus", "dan"}
    client.post(f"{base_url}rater-actions/", form_data | {"do": "resume"})
    assert not Rater.objects.filter(paused=True).exists()
    assert client.get(response["Location"]).context["just_paused"] == []
    foreign_rater = Rater.objects.create(project=make_project(), key="gus")
    for invalid in ({"rater": [gus.pk, foreign_rater.pk]}, {"rater": ["x"]}, {"do": "delete"}):
        assert client.post(f"{base_url}rater-actions/", form_data | invalid).status_code == 400, (
            invalid
        )
    assert not Rater.objects.filter(paused=True).exists()
    empty_response = client.post(f"{base_url}rater-actions/", {"do": "pause"}, follow=True)
    assert "Select at least one row." in empty_response.text


def test_selected_raters_are_exported_or_excluded(
    question_with_outliers: Question, base_url: str, viewer: User, client_for: Any
) -> None:
    client = client_for(viewer)
    gus = Rater.objects.get(key="gus")
    response = client.post(f"{base_url}rater-actions/", {"do": "csv", "rater": gus.pk}, follow=True)
    (row,) = csv.DictReader(io.StringIO(response.text))
    assert (row["rater"], row["main_category"], row["main_share"]) == ("gus", "none", "1.0")
    all_rows = list(csv.DictReader(io.StringIO(client.get(f"{base_url}raters.csv").text)))
    assert len(all_rows) == Rater.objects.count()
    response = client.post(f"{base_url}rater-actions/", {"do": "without", "rater": gus.pk})
    assert response["Location"] == f"{base_url}raters/?exclude=gus"
    assert client.get(f"{base_url}raters.csv?rater=x").status_code == 400


def test_rater_file_has_no_rounding_errors(
    question_with_outliers: Question, base_url: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_row = export_views._build_row
    tiny = {"peers": 6.9e-18, "peers_low": -6.9e-18}
    monkeypatch.setattr(export_views, "_build_row", lambda summary: build_row(summary) | tiny)
    rows = list(csv.DictReader(io.StringIO(client.get(f"{base_url}raters.csv").text)))
    assert {(row["peers"], row["peers_low"]) for row in rows} == {("0.0", "0.0")}


def test_funnel_chart_groups_many_raters(
    question_with_outliers: Question, base_url: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    chart = client.get(f"{base_url}funnel.json").json()
    rater_rows = [row for row in chart["rows"] if row["kind"] == "rater"]
    points = {row["url"].split("/")[-2]: row for row in rater_rows}
    assert points["gus"]["check"] and points["gus"]["same"]
    assert not points["ann"]["check"]
    assert points["gus"]["url"] == f"{base_url}raters/gus/?question=severity"
    monkeypatch.setattr(funnel_plot, "MAX_POINTS", 2)
    rows = client.get(f"{base_url}funnel.json").json()["rows"]
    names = [row["rater"] for row in rows if row["kind"] == "rater"]
    assert names[0] == "gus" and len(names) == 2
    n_grouped = sum(row["raters"] for row in rows if row["kind"] == "many")
    assert n_grouped == len(points) - 2, "nobody is left out"
    assert client.get(f"{base_url}funnel.svg").status_code == 404


def test_number_of_queries_does_not_grow_with_raters(
    question_with_outliers: Question,
    base_url: str,
    client: Client,
    django_assert_max_num_queries: Any,
) -> None:
    client.get(f"{base_url}raters/")
    Rater.objects.bulk_create(
        Rater(project=question_with_outliers.project, key=f"r{n}") for n in range(300)
    )
    with django_assert_max_num_queries(33):
        page = client.get(f"{base_url}raters/")
    assert len(page.content) < 250_000
    assert page.context["page"].paginator.num_pages > 1


def test_rater_page_begins_with_a_verdict(
    question_with_outliers: Question, base_url: str, client: Client, viewer: User, client_for: Any
) -> None:
    page = client.get(f"{base_url}raters/gus/")
    assert "gus almost always answers “none”." in page.text
    assert 'judgement">Agrees less than the others: 0.00.' in page.text
    assert '<span class="badge badge--bad">Needs action</span> almost always answers' in page.text
    assert f"{base_url}raters/?question=severity&amp;exclude=gus#without" in page.text
    compared = client.get(f"{base_url}raters/?question=severity&exclude=gus")
    assert compared.context["comparison"].keys == ("gus",)
    gus = Rater.objects.get(key="gus")
    form_data = {"do": "pause", "rater": gus.pk, "list_query": "question=severity", "back": "rater"}
    response = client.post(f"{base_url}rater-actions/", form_data)
    assert response["Location"] == f"{base_url}raters/gus/?question=severity"
    assert 'value="resume"' in client.get(response["Location"]).text
    assert 'value="resume"' not in client_for(viewer).get(response["Location"]).text
    assert re.search(r">text \d+</a>", page.text), "disagreements are listed by the text"


@pytest.mark.fresh
def test_page_reloads_when_the_numbers_are_ready(
    project: Project, question: Question, rate: Any, lead: User, client_for: Any
) -> None:
    """An open page polls and reloads once there are numbers; without ratings it does not poll."""
    client, page = client_for(lead), f"/projects/{project.pk}/raters/"
    poll_headers = {"X-Shown-Version": "pending"}
    Rater.objects.create(project=project, key="new")
    assert "Being computed" not in client.get(page).text
    assert "data-poll" not in client.get(page).text
    for item in ("i1", "i2"):
        for rater in ("ann", "ben"):
            rate(question, item, rater, "minor")
    update_question(question.pk)
    notice = COUNTING
    assert notice in client.get(page).text
    assert client.get(page, headers=poll_headers).status_code == 204
    tasks.sweep_raters()
    assert client.get(page, headers=poll_headers)["HX-Refresh"] == "true"
    assert "Being computed" not in client.get(page).text
