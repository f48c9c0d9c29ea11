"""Test the inbox over all projects: rows, order, counts, actions, and the list of projects."""

from __future__ import annotations

import datetime
import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from events.models import Webhook
from projects.models import Item, Member, Project, Question, Rater
from projects.services.rater_changes import set_rater_paused
from quality.inbox import inbox_entries
from quality.models import (
    Alert,
    AlertKind,
    AlertState,
    Appeal,
    GoldIntervention,
    GoldScore,
    GoldState,
    ItemLabel,
    LabelSource,
    RaterCheck,
    RaterConfusion,
)
from quality.rater_status.status import build_undefined_value
from ratings.models import Assignment
from tests.cast import make_project as create_project
from tests.query_counts import measure_round_trips

pytestmark = pytest.mark.django_db


def add_project(name: str, lead: User, role: str = "lead") -> tuple[Question, Rater]:
    project = create_project(name)
    Member.objects.create(project=project, user=lead, role=role)
    rater = Rater.objects.create(project=project, key="ann")
    return project.questions.get(), rater


def add_uncertain_items(question: Question, number: int, doubt: float = 0.5) -> None:
    for index in range(number):
        item = Item.objects.create(project=question.project, key=f"u{index}")
        ItemLabel.objects.create(
            question=question, item=item, n_ratings=2, doubt=doubt, code=0,
            source=LabelSource.CONSENSUS, computed_at=timezone.now(),
        )  # fmt: skip


def add_appeal(question: Question, rater: Rater) -> None:
    item = Item.objects.create(project=question.project, key="appealed")
    Appeal.objects.create(
        question=question, item=item, rater=rater, text="no", created_at=timezone.now()
    )


def add_pause(question: Question, rater: Rater) -> None:
    GoldIntervention.objects.create(
        question=question, rater=rater, step="pause", state="proposed", evidence=120, n_answers=6,
        created_at=timezone.now(),
    )  # fmt: skip


def add_flag(question: Question, rater: Rater) -> None:
    item = Item.objects.create(project=question.project, key="flagged")
    Assignment.objects.create(
        item=item,
        rater=rater,
        state="skipped",
        flagged=True,
        leased_until=timezone.now(),
        closed_at=timezone.now(),
    )


def add_webhook(question: Question) -> None:
    Webhook.objects.create(
        project=question.project, url="https://example.org/", nonce="n", created_at=timezone.now(),
        paused_at=timezone.now(), pause_reason=Webhook.PauseReason.FAILING,
    )  # fmt: skip


@pytest.fixture
def site(lead: User, make_alert: Any) -> dict[str, Project]:
    """Six projects with different entries, one without any, and one of somebody else."""
    drifting, drifter = add_project("Drifting", lead)
    make_alert(drifting, drifter, size=-0.5, n=60)
    make_alert(drifting, drifter, state=AlertState.ACKNOWLEDGED, detected_on="2026-01-02")
    uncertain, _rater = add_project("Uncertain", lead)
    add_uncertain_items(uncertain, 4)
    several, rater = add_project("Several", lead)
    add_uncertain_items(several, 3)
    add_appeal(several, rater)
    add_pause(several, rater)
    add_flag(several, rater)
    add_webhook(several)
    reviewed, reviewed_rater = add_project("Reviewed", lead, role="adjudicator")
    add_uncertain_items(reviewed, 2, doubt=0.7)
    add_pause(reviewed, reviewed_rater)  # the lead decides
    archived, _rater = add_project("Archived", lead)
    add_uncertain_items(archived, 5)
    Project.objects.filter(pk=archived.project_id).update(archived_at=timezone.now())
    add_project("Calm", lead)
    foreign = create_project("Foreign").questions.get()
    add_uncertain_items(foreign, 50)
    return {project.name: project for project in Project.objects.all()}


def test_inbox_lists_entries_of_all_projects_by_impact(site: Any, client_for: Any, lead: User):
    client = client_for(lead)
    entries = [(row.text, row.project.name) for row in client.get("/inbox/").context["rows"]]
    for text, project in entries[:2]:  # one of the two is under investigation
        assert (text.startswith("ann "), project) == (True, "Drifting")
    assert entries[2:] == [
        ("1 proposed warning or pause", "Several"),  # after six answers
        ("4 uncertain items", "Uncertain"),  # two of them wrong
        ("3 uncertain items", "Several"),
        ("2 uncertain items", "Reviewed"),
        ("1 open appeal", "Several"),
        ("1 skipped or flagged item", "Several"),
        ("1 webhook paused after failures", "Several"),
    ]
    page = client.get("/inbox/")
    for row in page.context["rows"]:
        assert row.text in html.unescape(page.text)
        assert client.get(row.url).status_code == 200, row.url
    only = client.get(f"/inbox/?project={site['Several'].pk}").context["size"]
    assert only == inbox_entries.InboxSize(5, 1)
    assert client.get(f"/inbox/?project={site['Foreign'].pk}").status_code == 404
    assert client.get("/inbox/?page=2").status_code == 404


def test_projects_need_attention_exactly_when_they_are_in_the_inbox(
    site: Any, client_for: Any, lead: User, admin_user: User
):
    for user in (lead, admin_user):
        client = client_for(user)
        inbox = client.get("/inbox/")
        in_inbox = {row.project.name for row in inbox.context["rows"]}
        listed = client.get("/?group=attention")
        assert {row.project.name for row in listed.context["rows"]} == in_inbox
        numbers = dict(listed.context["listed"].groups)
        assert numbers["attention"] == len(in_inbox) == inbox.context["size"].n_projects
        text = " ".join(client.get("/").text.split())
        assert f"Needs attention {len(in_inbox)}<" in text
        # One reason a row, and the others one click away.
        top_entries = [row.top_entry for row in listed.context["rows"]]
        assert sum(1 + entry.n_more for entry in top_entries) == inbox.context["size"].n_entries


def test_projects_are_sorted_by_need(site: Any, client_for: Any, lead: User):
    page = client_for(lead).get("/")
    names = [row.project.name for row in page.context["rows"]]
    assert names == ["Drifting", "Several", "Uncertain", "Reviewed", "Calm"]
    text = html.unescape(page.text)
    assert ">1 proposed warning or pause</a>" in text
    assert f'href="/inbox/?project={site["Several"].pk}">and 4 more</a>' in text
    # Regression: a full stop before "and 1 more".
    assert re.search(r'">ann [^<.]*(\.\d+[^<.]*)*</a>\s*<a [^>]*>and 1 more</a>', text)
    chinese = html.unescape(client_for(lead).get("/", headers={"accept-language": "zh-hans"}).text)
    assert re.search(r'">ann：[^<]*[^<。]</a>\s*<a [^>]*>另有 1 项</a>', chinese)


@pytest.mark.parametrize("number", [3, 40])
def test_inbox_takes_the_same_queries_for_any_number_of_projects(
    number: int, client_for: Any, lead: User, make_alert: Any
):
    for index in range(number):
        question, rater = add_project(f"Project {index}", lead)
        make_alert(question, rater)
        add_uncertain_items(question, 2)
    client = client_for(lead)
    client.get("/inbox/")
    with measure_round_trips() as count:
        assert client.get("/inbox/").context["size"].n_entries == 2 * number
        assert count() <= 10
    with measure_round_trips() as count:
        assert dict(client.get("/").context["listed"].groups)["attention"] == number
        assert count() <= 22


@pytest.mark.parametrize("outcome", ["pause", "resolve", "at_once"])
def test_monday_round_over_four_of_44_projects_takes_eight_clicks(
    outcome: str, client_for: Any, lead: User, make_alert: Any
):
    """Open the first row and press one button, twice a row; or select all rows and press one."""
    for index in range(44):
        question, rater = add_project(f"Project {index}", lead)
        if index % 11 == 0:
            make_alert(question, rater)
    client = client_for(lead)
    page, clicks = client.get("/inbox/"), 0
    if outcome == "at_once":
        selected = re.findall(r'name="alert" value="(\d+)"', page.text)
        assert 'value="resolve">Confirm and resolve<' in page.text
        form = {"do": "resolve", "reason": "trained", "alert": selected}
        page = client.post("/inbox/alerts/", form, follow=True)
        assert "4 alerts confirmed." in page.text
        clicks += len(selected) + 1
    while page.context["rows"]:
        link = re.search(r'href="([^"]*)" data-open', page.text)
        assert link is not None
        alert_page = client.get(link[1])
        action = re.search(r'action="([^"]*/step/)"', alert_page.text)
        assert action is not None
        button = re.search(rf'name="do" value="({outcome}d?:\w+)"', alert_page.text)
        assert button is not None
        step = {"do": button[1], "from": "inbox", "reason": "trained"}
        assert '<input type="hidden" name="from" value="inbox">' in alert_page.text
        page = client.post(action[1], step, follow=True)
        clicks += 2
    assert clicks <= 8
    assert "Your inbox is empty" in page.text


def test_several_alerts_are_dismissed_in_the_inbox_with_a_reason(
    client_for: Any, lead: User, make_alert: Any
) -> None:
    question, rater = add_project("Two", lead)
    alerts = [
        make_alert(question, rater),
        make_alert(question, None, kind=AlertKind.RATINGS_MISSING, detected_on="2026-01-02"),
    ]
    form = {"do": "dismiss", "alert": [alert.pk for alert in alerts]}
    page = client_for(lead).post("/inbox/alerts/", form, follow=True)
    assert "Enter a reason." in page.text and page.context["size"].n_entries == 2
    form["reason"] = "new guidelines"
    page = client_for(lead).post("/inbox/alerts/", form, follow=True)
    assert "2 alerts dismissed." in page.text and page.context["size"].n_entries == 0
    stored = Alert.objects.order_by("pk").values_list("state", "cause")
    assert list(stored) == [("resolved", "not_rater"), ("resolved", "explained")]


def test_alerts_are_muted_and_investigated_from_the_inbox(
    site: Any, client_for: Any, lead: User, viewer: User
):
    alert = Alert.objects.get(state=AlertState.OPEN)
    post = client_for(lead).post
    Member.objects.create(project=site["Drifting"], user=viewer, role="viewer")
    client_for(viewer).post("/inbox/alerts/", {"do": "mute", "alert": [alert.pk]})
    alert.refresh_from_db()
    assert alert.state == AlertState.OPEN  # a viewer sees the alert, but decides nothing
    assert "1 alert muted for a week." in post(
        "/inbox/alerts/", {"do": "mute", "alert": [alert.pk]}, follow=True
    ).text  # fmt: skip
    alert.refresh_from_db()
    assert alert.state == AlertState.MUTED
    assert alert.muted_until == timezone.now().date() + datetime.timedelta(days=7)
    Alert.objects.filter(pk=alert.pk).update(state=AlertState.OPEN, muted_until=None)
    post("/inbox/alerts/", {"do": "investigate", "alert": [alert.pk]})
    alert.refresh_from_db()
    assert alert.state == AlertState.ACKNOWLEDGED
    step = alert.steps.last()
    assert step is not None
    assert step.by == lead
    assert post("/inbox/alerts/", {"do": "odd"}).status_code == 400


def test_confirmed_alert_stays_until_the_rater_is_paused_or_it_is_resolved(
    client_for: Any, lead: User, make_alert: Any
) -> None:
    """Regression: a confirmed alert left the inbox and the status, and nothing else was offered."""
    question, rater = add_project("Confirmed", lead)
    alert, client = make_alert(question, rater), client_for(lead)
    base = f"/projects/{question.project_id}/"
    address, step = f"{base}alerts/{alert.pk}/", f"{base}alerts/{alert.pk}/step/"

    def get_state() -> tuple[str, str, int, str]:
        [status] = client.get(f"/api/v1{base}raters/status/").json()["results"]
        n_entries = client.get("/inbox/").context["size"].n_entries
        alert.refresh_from_db()
        return alert.state, alert.cause, n_entries, status["status"]

    page = client.get(address).text
    assert 'value="resolved:real">Confirm and resolve<' in page
    assert f'value="pause:{rater.pk}"' in page
    client.post(step, {"do": "acknowledged:real"})
    assert get_state() == ("acknowledged", "real", 1, "act")
    assert "Confirmed" in client.get(address).text and "Confirmed" in client.get("/inbox/").text
    client.post("/inbox/alerts/", {"do": "investigate", "alert": [alert.pk]})
    assert get_state() == ("acknowledged", "real", 1, "act"), "it stays confirmed"
    client.post(step, {"do": "resolved:real", "reason": "trained"})
    assert get_state() == ("resolved", "real", 0, "unknown")
    client.post(step, {"do": "open"})
    client.post(step, {"do": "acknowledged:real"})
    set_rater_paused(rater=rater, paused=True, by=lead)  # on any page
    assert get_state() == ("resolved", "real", 0, "unknown")
    set_rater_paused(rater=rater, paused=False, by=lead)
    client.post(step, {"do": "open"})
    client.post(step, {"do": f"pause:{rater.pk}"})
    rater.refresh_from_db()
    assert rater.paused and get_state() == ("resolved", "real", 0, "unknown")


@pytest.mark.parametrize("has_pause", [False, True])
def test_rater_far_below_the_pass_mark_is_in_the_inbox_once(
    client_for: Any, api_for: Any, lead: User, has_pause: bool
) -> None:
    """Regression: a rater who needed action on Raters was in no inbox and no list of projects."""
    question, rater = add_project("Gold", lead)
    GoldScore.objects.create(
        question=question, rater=rater, n=35, right=9, accuracy=9 / 35, low=0.14, high=0.42,
        table=[], kappa=build_undefined_value("no_gold_ratings"), evidence=900, max_evidence=900,
    )  # fmt: skip
    RaterConfusion.objects.create(
        question=question, rater=rater, confusion=[], expected_counts=[], accuracy=0.5,
        impact=73.4,
    )  # fmt: skip
    if has_pause:
        add_pause(question, rater)
    client, base = client_for(lead), f"/projects/{question.project_id}/"
    [row] = client.get("/inbox/").context["rows"]
    [status] = client.get(f"/api/v1{base}raters/status/").json()["results"]
    assert (status["status"], status["reasons"][0]["code"]) == ("act", "gold")
    assert client.get("/?group=attention").context["rows"][0].top_entry.text == row.text
    if has_pause:
        assert row.text == "1 proposed warning or pause"
        return
    assert row.text == "ann: below the pass mark on gold answers"
    assert (row.url, row.action) == (
        f"{base}raters/ann/?question={question.key}", "View rater"
    )  # fmt: skip
    assert row.stored.row_impact == status["impact"] == 73.4
    [listed] = api_for(lead).get("/api/v1/inbox/").json()["results"]
    assert (listed["kind"], listed["impact"]) == ("raters", 73.4)
    assert "1 rater to check" in client.get(f"{base}alerts/").text
    set_rater_paused(rater=rater, paused=True, by=lead)
    assert client.get("/inbox/").context["size"].n_entries == 0


def test_raters_to_check_are_one_row_placed_by_the_impact_of_the_first(
    client_for: Any, api_for: Any, lead: User, make_alert: Any
) -> None:
    """Regression: the rater with the most expected errors was below all decisions, unnamed."""
    question, alerted = add_project("Gold", lead)
    make_alert(question, alerted)
    client, base = client_for(lead), f"/projects/{question.project_id}/"
    GoldState.objects.update_or_create(question=question, defaults={"pass_mark": 0.7})
    impacts = {"bob": 818.0, "cleo": 40.0, "dan": 900.0}
    raters = [Rater.objects.create(project=question.project, key=key) for key in impacts]
    for rater in [alerted, *raters]:
        GoldScore.objects.create(
            question=question, rater=rater, n=20, right=9, accuracy=0.45, low=0.25, high=0.66,
            table=[], kappa=build_undefined_value("no_gold_ratings"), evidence=0, max_evidence=0,
        )  # fmt: skip
        RaterConfusion.objects.create(
            question=question, rater=rater, confusion=[], expected_counts=[], accuracy=0.5,
            impact=impacts.get(rater.key, 752.0),
        )  # fmt: skip
    set_rater_paused(rater=raters[2], paused=True, by=lead)
    check, alert = client.get("/inbox/").context["rows"]
    assert alert.alert and alert.stored.row_impact == 752.0
    assert check.text == "2 raters to check · bob: below the pass mark on gold answers"
    assert (check.stored.row_impact, check.action) == (818.0, "View raters")
    assert check.url == f"{base}raters/?sort=-impact&question={question.key}"
    assert client.get(check.url).context["page"].object_list[1].key == "bob"  # dan is paused
    [listed, _alert] = api_for(lead).get("/api/v1/inbox/").json()["results"]
    assert (listed["kind"], listed["text"], listed["impact"]) == ("raters", check.text, 818.0)
    assert client.get("/").context["rows"][0].top_entry.text == check.text
    set_rater_paused(rater=raters[1], paused=True, by=lead)
    [check, _alert] = client.get("/inbox/").context["rows"]
    assert check.text == "bob: below the pass mark on gold answers"
    assert check.url == f"{base}raters/bob/?question={question.key}"
    # A muted alert sets its rater aside, although the status is check.
    client.post("/inbox/alerts/", {"do": "mute", "alert": [alert.alert.pk]})
    set_rater_paused(rater=raters[0], paused=True, by=lead)
    assert client.get("/inbox/").context["size"].n_entries == 0


def add_raters_to_check(question: Question, number: int) -> list[Rater]:
    GoldState.objects.update_or_create(question=question, defaults={"pass_mark": 0.7})
    raters = [
        Rater.objects.create(project=question.project, key=f"low{index}") for index in range(number)
    ]
    for rater in raters:
        GoldScore.objects.create(
            question=question, rater=rater, n=20, right=9, accuracy=0.45, low=0.25, high=0.66,
            table=[], kappa=build_undefined_value("no_gold_ratings"), evidence=0, max_evidence=0,
        )  # fmt: skip
    return raters


def test_monday_round_with_raters_to_check_takes_two_clicks(
    client_for: Any, lead: User, make_alert: Any
) -> None:
    """Regression: rows of raters to check had no checkbox, so the inbox was never empty."""
    for name in ("Gold", "Silver", "Bronze", "Copper"):
        question, alerted = add_project(name, lead)
        add_raters_to_check(question, 3)
        make_alert(question, alerted)
    client = client_for(lead)
    page = client.get("/inbox/")
    assert len(page.context["rows"]) == 8
    form = {
        name: re.findall(rf'<input type="checkbox" name="{name}" value="(\d+)"', page.text)
        for name in ("alert", "raters")
    }
    assert [len(values) for values in form.values()] == [4, 4]
    page = client.post(
        "/inbox/alerts/", form | {"do": "resolve", "reason": "trained"}, follow=True
    )  # fmt: skip
    assert "4 alerts confirmed. 12 raters are hidden from the inbox for 30 days." in page.text
    assert "Your inbox is empty" in page.text


def test_raters_are_marked_as_checked_in_the_inbox_by_leads_only(
    client_for: Any, lead: User, viewer: User, make_alert: Any
) -> None:
    question, alerted = add_project("Gold", lead)
    raters = add_raters_to_check(question, 2)
    Member.objects.create(project=question.project, user=viewer, role="viewer")
    make_alert(question, alerted)
    alert = Alert.objects.get()
    form = {"raters": [question.pk], "alert": [alert.pk]}
    assert 'name="raters"' not in client_for(viewer).get("/inbox/").text
    client_for(viewer).post("/inbox/alerts/", form | {"do": "check"})
    post = client_for(lead).post
    post("/inbox/alerts/", form | {"do": "investigate"})
    assert not RaterCheck.objects.exists()
    page = post("/inbox/alerts/", form | {"do": "check"}, follow=True)
    assert "2 raters are hidden from the inbox for 30 days." in page.text
    checks = RaterCheck.objects.order_by("rater__key").values_list("rater", "by")
    assert list(checks) == [(rater.pk, lead.pk) for rater in raters]
    alert.refresh_from_db()
    assert alert.state == AlertState.ACKNOWLEDGED  # only raters are checked
    page = post("/inbox/alerts/", {"do": "check"}, follow=True)
    assert "Select at least one row." in page.text


def test_list_of_projects_computes_statuses_once(
    site: dict[str, Project], client_for: Any, lead: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranking all projects and describing those of the page need the same statuses."""
    compute = inbox_entries.get_raters_to_check
    scopes: list[Any] = []

    def record(projects: Any) -> Any:
        scopes.append(projects)
        return compute(projects)

    monkeypatch.setattr(inbox_entries, "get_raters_to_check", record)
    rows = client_for(lead).get("/").context["rows"]
    assert any(row.top_entry for row in rows)
    assert len(scopes) == 1


def test_annotators_have_no_inbox(project: Any, client_for: Any, annotator: User, lead: User):
    assert 'href="/inbox/"' not in client_for(annotator).get("/").text
    assert 'href="/inbox/"' in client_for(lead).get("/").text
    assert client_for(annotator).get("/inbox/").context["size"].n_entries == 0


def test_inbox_by_api_equals_the_page(site: dict[str, Project], lead: User, api_for: Any) -> None:
    """The same decisions in the same order, with addresses that open."""
    scope = inbox_entries.InboxScope(lead)
    shown_rows = inbox_entries.load_entries(inbox_entries.read_entries(scope, 100), scope)
    api = api_for(lead)
    listed, address = [], "/api/v1/inbox/?page_size=2"
    while address:
        page = api.get(address).json()
        listed += page["results"]
        address = page["next"]
    assert [(row["project"], row["kind"], row["text"], row["impact"]) for row in listed] == [
        (row.project.pk, row.stored.entry_kind, row.text, row.stored.row_impact)
        for row in shown_rows
    ]
    assert set(listed[0]) == {
        "project", "question", "kind", "text", "impact", "url", "created_at",
    }  # fmt: skip
    alert = next(row for row in listed if row["kind"] == "alerts")
    assert alert["question"] == "severity"
    assert alert["created_at"] is not None
    assert all(row["url"].startswith("http://testserver/projects/") for row in listed)
