"""Reports: of any past moment the same hash and values for ever, whatever happened since."""

from __future__ import annotations

import datetime
import hashlib
import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from metrics import tasks
from metrics.jobs.question_updates import update_question
from metrics.models import Reading, Report
from metrics.reports import report_jobs
from metrics.reports.report_facts import compute_report_facts
from projects.models import KindVersion, Question, Rater
from projects.services.raters.updates import change_rater
from projects.services.scales import change_weights
from tests import cast
from tests.cast import Cast

pytestmark = pytest.mark.django_db
LABELS = ("none", "minor", "major", "critical")


def fill(made: Cast) -> None:
    for item in range(40):
        for place, rater in enumerate("abc"):
            cast.rate(made.question, f"i{item}", rater, LABELS[(item + (item % 5 == place)) % 4])
    cast.rate(made.question, "alone", "a", "minor")


@pytest.fixture(scope="module")
def made_once(stage: Any) -> Cast:
    return stage(fill)


@pytest.fixture
def rated(question: Any) -> Any:
    return question


def report(*arguments: Any) -> str:
    out = StringIO()
    call_command("report", *arguments, stdout=out)
    return out.getvalue()


def test_a_report_says_what_the_pages_say(rated: Any) -> None:
    update_question(rated.pk)
    facts = compute_report_facts(rated, timezone.now())
    first = Reading.objects.get(question=rated, span="all").headline
    assert facts["headline"]["name"] == first["name"] == "fleiss_kappa_quadratic"
    assert facts["headline"]["value"] == pytest.approx(first["value"])
    assert (facts["n_ratings"], facts["n_rated"], facts["n_people"]) == (121, 41, 3)
    assert facts["details"]["by_ratings"] == {"1": 1, "3": 40}


def test_the_hash_is_what_the_manual_says(rated: Any) -> None:
    codes = {label: code for code, label in enumerate(LABELS)}
    said = rated.ratings.values_list("item__key", "rater__key", "code")
    lines = sorted(said, key=lambda one: (one[0].encode(), one[1].encode()))
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    assert set(codes.values()) >= {code for _item, _rater, code in lines}
    assert (
        compute_report_facts(rated, timezone.now())["hash"]
        == hashlib.sha256(text.encode()).hexdigest()
    )


def test_what_happens_later_moves_nothing_of_a_past_moment(
    rated: Any, rate: Any, lead: Any
) -> None:
    then = timezone.now()
    before = compute_report_facts(rated, then)
    rate(rated, "i0", "a", "critical")
    rate(rated, "i1", "b", None)
    rate(rated, "new", "d", "none")
    change_weights(question=rated, weights="linear", matrix=None, by=lead)
    rated = Question.objects.get(pk=rated.pk)
    assert compute_report_facts(rated, then) == before
    after = compute_report_facts(rated, timezone.now())
    assert after["hash"] != before["hash"]
    assert after["headline"]["name"] == "fleiss_kappa_linear"
    assert (after["n_ratings"], after["n_rated"]) == (121, 42)


def test_before_the_first_rating_there_is_a_reason(rated: Any) -> None:
    began = rated.project.created_at
    facts = compute_report_facts(rated, began)
    assert facts["headline"]["value"]["reason"] == "no_pairable_items"
    assert facts["hash"] == hashlib.sha256(b"").hexdigest()
    text = report(str(rated.project_id), "--as-of", began.isoformat())
    assert "Any size of agreement" in text


def test_people_and_models_are_told_apart(rated: Any, rate: Any, lead: Any) -> None:
    Rater.objects.create(project=rated.project, key="judge", kind="model")
    for item in range(40):
        rate(rated, f"i{item}", "judge", LABELS[(item + item % 2) % 4])
    update_question(rated.pk)
    facts = compute_report_facts(rated, timezone.now())
    first = Reading.objects.get(question=rated, span="all").headline
    for of in ("value", "people", "models", "between", "all"):
        assert facts["headline"][of] == pytest.approx(first[of]), of
    assert facts["models"] == ["judge"]
    assert (facts["n_people"], facts["n_models"]) == (3, 1)


def test_who_was_a_person_then_is_one_in_a_report_of_then(
    rated: Any, lead: Any, api_for: Any, client_for: Any
) -> None:
    """Whoever changes the kind: the page, the API, the administration."""
    rater = rated.project.raters.get(key="b")
    moments, told = [timezone.now()], [compute_report_facts(rated, timezone.now())]

    def moved() -> None:
        moments.append(timezone.now())
        told.append(compute_report_facts(rated, moments[-1]))

    same = {"rater": rater, "by": lead, "name": "", "group": "", "user_id": None}
    change_rater(kind="model", **same)
    moved()
    address = f"/api/v1/projects/{rated.project_id}/raters/"
    assert api_for(lead).post(address, {"key": "b", "kind": "human"}, format="json").status_code
    moved()
    User.objects.filter(pk=lead.pk).update(is_staff=True, is_superuser=True)
    form = {"name": "", "kind": "model", "group": "", "model": "", "prompt_version": "", "user": ""}
    answer = client_for(lead).post(f"/admin/projects/rater/{rater.pk}/change/", form)
    assert answer.status_code == 302
    moved()
    assert [facts["models"] for facts in told] == [[], ["b"], [], ["b"]]
    assert [compute_report_facts(rated, moment)["headline"] for moment in moments] == [
        facts["headline"] for facts in told
    ]
    # And nothing is written down where the kind stays.
    change_rater(kind="model", **same | {"name": "Ben"})
    assert KindVersion.objects.count() == 3


def test_a_report_asked_for_is_made_once_and_kept(rated: Any, rate: Any, lead: Any) -> None:
    row = report_jobs.get_or_request_report(rated, as_of=None, by=lead)
    assert row.waiting
    tasks.compute_report(row.pk)
    row.refresh_from_db()
    facts = row.facts
    assert facts
    assert facts["n_ratings"] == 121
    rate(rated, "i0", "a", "critical")
    assert report_jobs.get_or_request_report(rated, as_of=row.as_of, by=lead).pk == row.pk
    tasks.sweep_all()
    assert Report.objects.get().facts == facts


def test_the_sweep_makes_what_no_task_reached(rated: Any, lead: Any) -> None:
    row = report_jobs.get_or_request_report(rated, as_of=rated.project.created_at, by=lead)
    tasks.sweep_all()
    row.refresh_from_db()
    assert not row.waiting
    with pytest.raises(report_jobs.ReportDateInFuture):
        report_jobs.get_or_request_report(
            rated, as_of=timezone.now() + datetime.timedelta(hours=1), by=lead
        )


def test_the_command_writes_markdown_or_json(rated: Any) -> None:
    project = str(rated.project_id)
    text = report(project)
    assert "## What must not be claimed from it" in text
    assert "3 human raters gave 121 ratings of 41 items" in text
    assert "3 名人工标注者对 41 个条目" in text
    moment = timezone.now().isoformat()
    one, two = (json.loads(report(project, "--as-of", moment, "--json")) for _time in range(2))
    assert one == two
    assert one["headline"]["value"]["value"] is not None
    assert set(one["methods"]) == {"en", "zh-hans"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["77"], "no project 77"),
        (["{}", "--question", "odd"], "one of severity"),
        (["{}", "--as-of", "soon"], "2026-03-02T18:00"),
        (["{}", "--as-of", "2999-01-01"], "yet to come"),
    ],
)
def test_the_command_names_what_is_wrong(rated: Any, arguments: list[str], problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        report(*(argument.format(rated.project_id) for argument in arguments))
