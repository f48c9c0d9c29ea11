"""A report on a past moment always has the same hash and values, whatever happened since."""

from __future__ import annotations

import datetime
import hashlib
import json
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from metrics import reports, tasks
from metrics.jobs.question_updates import update_question
from metrics.models import Report, Result
from metrics.reports import compute_report_facts
from projects.models import Question, Rater, RaterKindVersion
from projects.services.questions import change_weights
from projects.services.rater_changes import change_rater
from quality.rater_status.recomputation import sweep as recompute_comparisons
from ratings.models import ImportRun, Rating
from tests import cast
from tests.cast import Cast

pytestmark = pytest.mark.django_db
LABELS = ("none", "minor", "major", "critical")


def create_ratings(setup: Cast) -> None:
    for item in range(40):
        for index, rater in enumerate("abc"):
            cast.rate(setup.question, f"i{item}", rater, LABELS[(item + (item % 5 == index)) % 4])
    cast.rate(setup.question, "alone", "a", "minor")


@pytest.fixture(scope="module")
def module_cast(cast_factory: Any) -> Cast:
    return cast_factory(create_ratings)


@pytest.fixture
def rated_question(question: Any) -> Any:
    return question


def run_report_command(*arguments: Any) -> str:
    out = StringIO()
    call_command("report", *arguments, stdout=out)
    return out.getvalue()


def test_report_matches_pages(rated_question: Any) -> None:
    update_question(rated_question.pk)
    facts = compute_report_facts(rated_question, timezone.now())
    headline = Result.objects.get(question=rated_question, period_unit="all").headline
    assert facts["headline"]["name"] == headline["name"] == "fleiss_kappa_quadratic"
    assert facts["headline"]["value"] == pytest.approx(headline["value"])
    assert (facts["n_ratings"], facts["n_rated"], facts["n_people"]) == (121, 41, 3)
    assert facts["details"]["by_ratings"] == {"1": 1, "3": 40}


def test_hash_is_computed_as_documented(rated_question: Any) -> None:
    codes = {label: code for code, label in enumerate(LABELS)}
    rows = rated_question.ratings.values_list("item__key", "rater__key", "code")
    lines = sorted(rows, key=lambda row: (row[0].encode(), row[1].encode()))
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    assert set(codes.values()) >= {code for _item, _rater, code in lines}
    assert (
        compute_report_facts(rated_question, timezone.now())["hash"]
        == hashlib.sha256(text.encode()).hexdigest()
    )


def test_later_changes_do_not_affect_past_report(rated_question: Any, rate: Any, lead: Any) -> None:
    moment = timezone.now()
    before = compute_report_facts(rated_question, moment)
    rate(rated_question, "i0", "a", "critical")
    rate(rated_question, "i1", "b", None)
    rate(rated_question, "new", "d", "none")
    change_weights(question=rated_question, weights="linear", matrix=None, by=lead)
    rated_question = Question.objects.get(pk=rated_question.pk)
    assert compute_report_facts(rated_question, moment) == before
    after = compute_report_facts(rated_question, timezone.now())
    assert after["hash"] != before["hash"]
    assert after["headline"]["name"] == "fleiss_kappa_linear"
    assert (after["n_ratings"], after["n_rated"]) == (121, 42)


def test_report_before_first_rating_gives_reason(rated_question: Any) -> None:
    created_at = rated_question.project.created_at
    facts = compute_report_facts(rated_question, created_at)
    assert facts["headline"]["value"]["reason"] == "no_pairable_items"
    assert facts["hash"] == hashlib.sha256(b"").hexdigest()
    text = run_report_command(str(rated_question.project_id), "--as-of", created_at.isoformat())
    assert "Any degree of agreement" in text


def test_report_separates_people_and_models(rated_question: Any, rate: Any, lead: Any) -> None:
    Rater.objects.create(project=rated_question.project, key="judge", kind="model")
    for item in range(40):
        rate(rated_question, f"i{item}", "judge", LABELS[(item + item % 2) % 4])
    update_question(rated_question.pk)
    facts = compute_report_facts(rated_question, timezone.now())
    headline = Result.objects.get(question=rated_question, period_unit="all").headline
    for group in ("value", "people", "models", "between", "all"):
        assert facts["headline"][group] == pytest.approx(headline[group]), group
    assert facts["models"] == ["judge"]
    assert (facts["n_people"], facts["n_models"]) == (3, 1)


def test_report_uses_kind_of_rater_at_its_moment(
    rated_question: Any, lead: Any, api_for: Any, client_for: Any
) -> None:
    """Changes of the kind by page, API and administration are all recorded."""
    rater = rated_question.project.raters.get(key="b")
    moments, reports_facts = (
        [timezone.now()],
        [compute_report_facts(rated_question, timezone.now())],
    )

    def add_moment() -> None:
        moments.append(timezone.now())
        reports_facts.append(compute_report_facts(rated_question, moments[-1]))

    fields = {"rater": rater, "by": lead, "name": "", "group": "", "user_id": None}
    change_rater(kind="model", **fields)
    add_moment()
    address = f"/api/v1/projects/{rated_question.project_id}/raters/"
    assert api_for(lead).post(address, {"key": "b", "kind": "human"}, format="json").status_code
    add_moment()
    User.objects.filter(pk=lead.pk).update(is_staff=True, is_superuser=True)
    form = {"name": "", "kind": "model", "group": "", "model": "", "prompt_version": "", "user": ""}
    response = client_for(lead).post(f"/admin/projects/rater/{rater.pk}/change/", form)
    assert response.status_code == 302
    add_moment()
    assert [facts["models"] for facts in reports_facts] == [[], ["b"], [], ["b"]]
    assert [compute_report_facts(rated_question, moment)["headline"] for moment in moments] == [
        facts["headline"] for facts in reports_facts
    ]
    # No version is stored when the kind stays the same.
    change_rater(kind="model", **fields | {"name": "Ben"})
    assert RaterKindVersion.objects.count() == 3


def test_requested_report_is_computed_once_and_stored(
    rated_question: Any, rate: Any, lead: Any
) -> None:
    row = reports.get_or_request_report(rated_question, as_of=None, by=lead)
    assert row.pending
    tasks.compute_report(row.pk)
    row.refresh_from_db()
    facts = row.facts
    assert facts
    assert facts["n_ratings"] == 121
    rate(rated_question, "i0", "a", "critical")
    assert reports.get_or_request_report(rated_question, as_of=row.as_of, by=lead).pk == row.pk
    tasks.sweep_all()
    assert Report.objects.get().facts == facts


def test_sweep_computes_report_without_task(rated_question: Any, lead: Any) -> None:
    row = reports.get_or_request_report(
        rated_question, as_of=rated_question.project.created_at, by=lead
    )
    tasks.sweep_all()
    row.refresh_from_db()
    assert not row.pending
    with pytest.raises(reports.ReportDateInFuture):
        reports.get_or_request_report(
            rated_question, as_of=timezone.now() + datetime.timedelta(hours=1), by=lead
        )


def test_command_writes_markdown_or_json(rated_question: Any) -> None:
    project = str(rated_question.project_id)
    text = run_report_command(project)
    assert "## What this does not show" in text
    assert "3 human raters gave 121 ratings of 41 items" in text
    assert "3 名人工标注者对 41 个条目" in text
    assert "| Weights | quadratic (default) |" in text
    assert "weights: quadratic (default)." in text
    assert "Ratings without a time" not in text
    ImportRun.objects.create(
        project=rated_question.project,
        state=ImportRun.State.DONE,
        summary={"n_without_time": 3},
    )
    assert "Ratings without a time are dated to their import. |" in run_report_command(project)
    moment = timezone.now().isoformat()
    first, second = (
        json.loads(run_report_command(project, "--as-of", moment, "--json"))
        for _attempt in range(2)
    )
    assert first == second
    assert first["headline"]["value"]["value"] is not None
    assert set(first["methods"]) == {"en", "zh-hans"}


def rate_with_a_last_rater(question: Question, *, reverses: bool) -> None:
    """Record 60 items by four raters who agree well; the last one may answer in reverse."""
    rng = np.random.default_rng(3)
    ratings = []
    for item in range(60):
        codes = (int(rng.integers(4)) + rng.choice((-1, 0, 1), p=(0.1, 0.8, 0.1), size=4)) % 4
        if reverses:
            codes[3] = 3 - codes[3]
        ratings += [
            (f"i{item}", rater, LABELS[code])
            for rater, code in zip("abcz", codes.tolist(), strict=True)
        ]
    cast.rate_many(question, ratings)
    update_question(question.pk)
    while recompute_comparisons():
        pass


@pytest.mark.fresh
def test_report_counts_raters_who_lower_the_value(question: Question) -> None:
    """The value without them is that of the other ratings, and no rater is named."""
    rate_with_a_last_rater(question, reverses=True)
    facts = compute_report_facts(question, timezone.now())
    assert facts["outlying"]["n_raters"] == 1
    without = facts["outlying"]["without"]
    headline = facts["headline"]["value"]
    assert without is not None and without["value"] is not None and headline["value"] is not None
    assert without["value"] > headline["value"] + 0.2
    text = run_report_command(str(question.project_id))
    assert "* 1 rater agrees less than the others. Without this rater: 0." in text
    assert "* Now: 1 rater to check." in text
    others = Rating.objects.filter(question=question).exclude(rater__key="z")
    codes = others.order_by("item", "rater").values_list("code", flat=True)
    assert without["value"] == pytest.approx(
        compute_quadratic_fleiss(np.reshape(list(codes), (-1, 3)))
    )


def compute_quadratic_fleiss(answers: np.ndarray) -> float:
    """Return Fleiss' kappa with quadratic weights of answers (N, 3) on four categories."""
    distance = np.subtract.outer(np.arange(4), np.arange(4)) ** 2
    observed = np.mean(
        [distance[answers[:, i], answers[:, j]] for i, j in ((0, 1), (0, 2), (1, 2))]
    )
    shares = np.bincount(answers.ravel(), minlength=4) / answers.size
    return float(1 - observed / (shares @ distance @ shares))


@pytest.mark.fresh
def test_report_on_raters_alike_has_no_section_on_raters(question: Question) -> None:
    rate_with_a_last_rater(question, reverses=False)
    facts = compute_report_facts(question, timezone.now())
    assert facts["outlying"] == {"n_raters": 0, "without": None}
    assert "## Raters" not in run_report_command(str(question.project_id))


@pytest.mark.fresh
def test_report_counts_open_alerts(question: Question, make_alert: Any) -> None:
    rate_with_a_last_rater(question, reverses=False)
    rater = Rater.objects.get(project=question.project, key="a")
    alert = make_alert(question, rater)
    assert "* Now: 1 rater to check, 1 open alert." in run_report_command(str(question.project_id))
    Rater.objects.filter(pk=rater.pk).update(paused=True)
    assert "* Now: 1 open alert." in run_report_command(str(question.project_id))
    alert.state = "resolved"
    alert.save()
    assert "Now:" not in run_report_command(str(question.project_id))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["77"], "no project 77"),
        (["{}", "--question", "odd"], "one of severity"),
        (["{}", "--as-of", "soon"], "2026-03-02T18:00"),
        (["{}", "--as-of", "2999-01-01"], "is in the future"),
    ],
)
def test_command_reports_invalid_arguments(
    rated_question: Any, arguments: list[str], problem: str
) -> None:
    with pytest.raises(CommandError, match=problem):
        run_report_command(*(argument.format(rated_question.project_id) for argument in arguments))
