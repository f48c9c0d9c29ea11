"""Compare every headline number, and every rater with a status, on all surfaces of random projects.

Small projects, thirty in a full run, with missing ratings, models and raters who guess. Each
surface must show what the stored results say: the overview, the statistics, the lists of raters,
the page of a rater, the list of projects, the inbox, the raters of all projects, the API, the
files, the report and a link.
"""

from __future__ import annotations

import csv
import html
import io
import random
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from metrics import reports, saved_views
from metrics import tasks as counting
from metrics.models import PeriodUnit, Result
from metrics.views.common.number_formats import format_number
from metrics.views.dashboard import overview_context
from metrics.views.dashboard.recommendation import ActionKind
from projects.models import Member, Project, Question, Rater
from quality import tasks
from quality.rater_status.rater_list import RaterFilter, RaterList, RaterListEntry
from quality.rater_status.status_texts import describe_note, get_status_label
from tests.cast import LABELS, make_project, rate_many
from tests.tools.full_run import choose_number

pytestmark = pytest.mark.django_db

N_PROJECTS = choose_number(12, full=30)
N_ALERTS = N_PROJECTS // 4
SEED = 20_261_126
SCALES = ("nominal", "ordinal", "interval")


def create_random_project(number: int, lead: User, generator: random.Random) -> Question:
    """Three to six raters, of which one may guess and one may be a model, on 10 to 30 items."""
    labels = LABELS[: generator.randint(2, 4)]
    project = make_project(f"Project {number:02}", labels=labels, scale=generator.choice(SCALES))
    Member.objects.create(project=project, user=lead, role=Member.Role.LEAD)
    raters = [f"r{index}" for index in range(generator.randint(3, 6))]
    if number % 3 == 0:
        Rater.objects.create(project=project, key=raters[-1], kind=Rater.Kind.MODEL)
    Rater.objects.create(project=project, key=raters[0], name=f"Rater {number}")
    guesser = raters[1] if number % 4 == 0 else ""
    # Some projects have enough items for statuses.
    n_items = 36 if number % 5 == 0 else generator.randint(10, 30)
    missing = generator.choice((0.0, 0.1, 0.4))
    rows: list[tuple[str, str, str | None]] = []
    for index in range(n_items):
        truth = generator.choice(labels)
        for rater in raters:
            is_right = rater != guesser and generator.random() < 0.8
            if generator.random() >= missing:
                answer = truth if is_right else generator.choice(labels)
                rows.append((f"i{index}", rater, answer))
    question = project.questions.get()
    rate_many(question, rows)
    return question


@pytest.fixture
def random_questions(lead: User, make_alert: Any) -> list[Question]:
    generator = random.Random(SEED)
    questions = [create_random_project(number, lead, generator) for number in range(N_PROJECTS)]
    for question in generator.sample(questions, N_ALERTS):
        make_alert(question, question.project.raters.get(key="r1"))
    counting.sweep_all()
    for sweep in (tasks.sweep_labels_and_queues, tasks.sweep_gold_and_repeats, tasks.sweep_raters):
        while sweep():
            pass
    return questions


def iter_headlines(question: Question, client: Client, shared: str) -> Iterator[tuple[str, Any]]:
    """Yield (surface, headline estimate)."""
    base, api = f"/projects/{question.project_id}/", f"/api/v1/projects/{question.project_id}/"
    for name, address in (
        ("overview", base),
        ("statistics", f"{base}statistics/"),
        ("shared link", shared),
    ):
        page = client.get(address)
        headline = page.context["headline"]
        if headline["value"] is not None:
            assert format_number(headline["value"]) in page.text, (name, question)
        yield name, headline
    yield "API", client.get(f"{api}agreement/").json()["headline"]


def iter_project_rows(client: Client) -> Iterator[Any]:
    """Yield the rows of all pages of the list of projects."""
    number = n_pages = 1
    while number <= n_pages:
        context = client.get(f"/?page={number}").context
        yield from context["rows"]
        n_pages, number = context["page"].paginator.num_pages, number + 1


def get_all(client: Client, address: str) -> list[Any]:
    body = client.get(f"{address}?page_size=200").json()
    assert body["next"] is None
    results: list[Any] = body["results"]
    return results


def check_raters(question: Question, client: Client, entries: list[RaterListEntry]) -> None:
    """Assert that each surface has the raters of the list, with their statuses and kappas."""
    base, api = f"/projects/{question.project_id}/", f"/api/v1/projects/{question.project_id}/"
    expected = {entry.key: entry.status.value for entry in entries}
    page = client.get(f"{base}raters/")
    assert {row.card.rater.key: row.card.status.value for row in page.context["rows"]} == expected
    statuses = {row["rater"]: row["status"] for row in get_all(client, f"{api}raters/status/")}
    assert statuses == expected
    table = list(csv.DictReader(io.StringIO(client.get(f"{base}raters.csv").text)))
    assert {row["rater"]: row["status"] for row in table} == expected
    overview_raters = client.get(base).context["overview_raters"]
    kappas = {entry.key: entry.result.value if entry.result else None for entry in entries}
    assert overview_raters.n_raters == len(entries)
    # The overview has the first raters of the list.
    first_entries = entries[: len(overview_raters.lines)]
    assert len(first_entries) == min(len(entries), overview_context.MAX_RATERS)
    assert [
        (line.key, str(line.status), (line.agreement or {}).get("value"), line.note)
        for line in overview_raters.lines
    ] == [
        (
            entry.key,
            get_status_label(entry.status, entry.note),
            kappas[entry.key],
            describe_note(entry.note, entry.pk),
        )
        for entry in first_entries
    ]
    assert {
        row["rater"]: float(row["peers"]) if row["peers"] else None for row in table
    } == pytest.approx(kappas)
    worst = entries[0]
    rater_page = client.get(f"{base}raters/{worst.key}/")
    assert rater_page.context["peers"]["value"] == pytest.approx(kappas[worst.key])


def check_numbers_of_raters(question: Question, client: Client) -> None:
    """Assert that page, API and file have the same numbers and reasons of each rater."""
    base, api = f"/projects/{question.project_id}/", f"/api/v1/projects/{question.project_id}/"
    statuses = get_all(client, f"{api}raters/status/")
    table = csv.DictReader(io.StringIO(client.get(f"{base}raters.csv").text))
    lines = {row["rater"]: row for row in table}
    page = client.get(f"{base}raters/")
    rows = {row.card.rater.key: row for row in page.context["rows"]}
    # Raters of the same rank are in order of their creation there, of their IDs here.
    ranks = [(row["status"], pytest.approx(row["impact"], abs=1e-3)) for row in statuses]
    assert [(row.card.status.value, row.listed.impact) for row in rows.values()] == ranks
    for status in statuses:
        key, line, row = status["rater"], lines[status["rater"]], rows[status["rater"]]
        assert status["ratings"] == int(line["ratings"]) == row.card.n_ratings
        for number in (float(line["impact"]), row.card.impact, row.listed.impact):
            assert number == pytest.approx(status["impact"]), (key, question)
        for column, estimate in (("peers", row.card.peers), ("bias", row.card.bias)):
            expected = status[column]["value"]
            assert (float(line[column]) if line[column] else None) == pytest.approx(expected)
            assert (estimate or {}).get("value") == pytest.approx(expected)
        assert status["note"] == line["note"] == row.note
        assert html.escape(row.note) in page.text
        texts = [reason["text"] for reason in status["reasons"]]
        assert {*texts} == {text for _alert, text in row.alerts} | {*row.other_reasons}
        for text in texts:
            assert html.escape(text) in page.text
    check_do_next(client.get(base), statuses)


def check_do_next(overview: Any, statuses: list[Any]) -> None:
    """Assert that the overview names the first raters to check, and the reason of the first."""
    to_check = [row for row in statuses if row["status"] in ("act", "check")]
    recommendation = overview.context["recommendation"]
    actions = recommendation.actions if recommendation else []
    raters_actions = [action for action in actions if action.kind == ActionKind.RATERS]
    assert bool(raters_actions) == bool(to_check and recommendation)
    if raters_actions:
        worst = to_check[0]
        assert worst["reasons"][0]["text"] in raters_actions[0].reason
        if not raters_actions[0].label.startswith("Check all"):
            assert (worst["name"] or worst["rater"]) in raters_actions[0].label


def check_counts(question: Question, client: Client, row: Any, facts: dict[str, Any]) -> None:
    """Assert that all surfaces have the same numbers of ratings, items and categories."""
    base, api = f"/projects/{question.project_id}/", f"/api/v1/projects/{question.project_id}/"
    agreement = client.get(f"{api}agreement/").json()
    overview = client.get(base).context["agreement"]
    statistics = client.get(f"{base}statistics/").context["agreement"]
    assert agreement["items"]["rated"] == overview.details["rated"] == facts["n_rated"]
    names = agreement["coefficients"].keys() & facts["coefficients"].keys()
    assert len(names) > 5
    for name in names:
        value = agreement["coefficients"][name]["value"]
        assert facts["coefficients"][name]["value"] == pytest.approx(value), (name, question)
    assert sum(rater["ratings"] for rater in get_all(client, f"{api}raters/status/")) == sum(
        category["ratings"] for category in statistics.details["categories"]
    )
    assert row.n_items == question.project.items.count() == agreement["items"]["total"]


@pytest.mark.timeout(600)  # thirty projects take minutes on a busy machine
def test_random_projects_show_the_same_numbers_on_all_surfaces(
    random_questions: list[Question], lead: User, client_for: Any
) -> None:
    client = client_for(lead)
    links = {}
    for question in random_questions:
        view = saved_views.create_saved_view(
            project=question.project, page="dashboard", name="All", query="", by=lead
        )
        secret = saved_views.create_share_link(view=view, until=timezone.localdate(), by=lead)
        links[question.pk] = f"/shared/{secret}/"
        reports.get_or_request_report(question, as_of=None, by=lead)
    reports.REPORT_JOB.sweep()
    facts_by_question = {
        report.question_id: report.facts
        for report in reports.Report.objects.filter(question__in=random_questions)
    }
    listed = {row.project.pk: row for row in iter_project_rows(client)}
    people = client.get("/raters/?search=").context["page"].paginator.object_list
    statuses: set[str] = set()
    for question in random_questions:
        stored = Result.objects.get(question=question, period_unit=PeriodUnit.ALL)
        headline = stored.headline["value"]
        facts = facts_by_question[question.pk]
        assert facts is not None
        for surface, estimate in [
            *iter_headlines(question, client, links[question.pk]),
            ("list of projects", listed[question.project_id].headline),
            ("report", facts["headline"]["value"]),
        ]:
            for name in ("value", "n_items"):
                assert estimate[name] == pytest.approx(headline[name]), (surface, question.project)
        entries = RaterList(question).select(RaterFilter())
        statuses |= {entry.status.value for entry in entries}
        check_raters(question, client, entries)
        check_numbers_of_raters(question, client)
        check_counts(question, client, listed[question.project_id], facts)
        site = {
            person.username: person.status.value
            for person in people
            if person.single_project == question.project.name
        }
        assert site == {entry.key: entry.status.value for entry in entries if entry.result}
    assert statuses >= {"ok", "act", "unknown"}
    check_inbox(client, listed)


def check_inbox(client: Client, listed: dict[int, Any]) -> None:
    """Assert that the projects that need attention are those of the inbox."""
    inbox = client.get("/inbox/")
    assert inbox.context["page"].paginator.num_pages == 1
    in_inbox = {row.project.pk for row in inbox.context["rows"]}
    assert {pk for pk, row in listed.items() if row.group == "attention"} == in_inbox
    assert len(in_inbox) == inbox.context["size"].n_projects
    assert Project.objects.filter(pk__in=in_inbox).count() >= N_ALERTS
