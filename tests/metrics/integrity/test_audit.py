"""`manage.py audit` and `recount` detect every wrong stored value."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from metrics.integrity import audit as auditing
from metrics.integrity import recount
from metrics.jobs.question_updates import update_question
from metrics.models import CountState, PairTally, PatternTally, PeerTally, RaterResult, Result
from projects.models import Category, Project, Question
from ratings.models import Rating
from tests.cast import Cast, rate


def run_command(command: str, *arguments: str) -> str:
    out = StringIO()
    call_command(command, *arguments, stdout=out, stderr=out)
    return out.getvalue()


def run_failing_audit(*arguments: str) -> str:
    out = StringIO()
    with pytest.raises(CommandError, match="1 of 1 questions differ from a recount"):
        call_command("audit", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def create_ratings(setup: Cast) -> None:
    """Create ratings of six weeks by four raters.

    Some are changed, withdrawn or added after a first count.
    """
    rng = random.Random(5)
    labels = ["none", "minor", "major", None]

    def rate_randomly(number: int) -> None:
        for _ in range(number):
            rater = rng.choice(["ann", "ben", "cleo", "dan"])
            month, day = rng.choice([1, 2, 3]), rng.randint(1, 14)
            moment = datetime.datetime(2026, month, day, 9, tzinfo=datetime.UTC)
            item, label = f"i{rng.randint(1, 12)}", rng.choice(labels)
            rate(setup.question, item, rater, label, rated_at=moment)

    rate_randomly(40)
    update_question(setup.question.pk)
    rate_randomly(15)
    update_question(setup.question.pk)


@pytest.fixture(scope="module")
def module_cast(cast_factory: Callable[..., Cast]) -> Cast:
    return cast_factory(create_ratings)


@pytest.fixture
def counted_question(question: Question) -> Question:
    return question


def test_exact_counts_pass(counted_question: Question) -> None:
    output = run_command("audit")
    assert f"{counted_question.project_id}/severity: " in output
    assert "0 uncounted, exact" in output
    assert auditing.audit_question(counted_question.pk).results_compared


def test_question_without_ratings_passes(make_project: Callable[..., Project]) -> None:
    assert f"{make_project().pk}/severity: 0 ratings counted" in run_command("audit")


def test_withdrawing_everything_passes(
    counted_question: Question, rate: Callable[..., Any]
) -> None:
    for item, rater in Rating.objects.values_list("item__key", "rater__key"):
        rate(counted_question, item, rater, None)
    update_question(counted_question.pk)
    assert "0 ratings counted, 0 uncounted, exact" in run_command("audit")


def test_uncounted_ratings_are_no_difference(
    counted_question: Question, rate: Callable[..., Any]
) -> None:
    rate(counted_question, "new", "ann", "minor")
    assert "1 uncounted, exact" in run_command("audit")


def test_extended_and_reordered_scale_passes(counted_question: Question) -> None:
    Category.objects.create(question=counted_question, code=4, position=0, label="lethal", value=9)
    Question.objects.filter(pk=counted_question.pk).update(scale_version=2)
    assert "results are stale and were not compared, exact" in run_command("audit")
    update_question(counted_question.pk)
    assert auditing.audit_question(counted_question.pk).results_compared
    assert "exact" in run_command("audit")


@pytest.mark.parametrize("size", [1, 3, 7])
def test_any_chunk_size_gives_the_same_result(
    counted_question: Question, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(recount, "RATINGS_AT_ONCE", size)
    assert "exact" in run_command("audit")


def corrupt_blob(row: Any, name: str) -> None:
    data = bytearray(bytes(getattr(row, name)))
    data[-8] += 1
    setattr(row, name, bytes(data))
    row.save()


def get_day_tally() -> PatternTally:
    """Return the newest day on which items have their latest rating."""
    return next(row for row in PatternTally.objects.order_by("-day") if len(row.patterns))


def corrupt_estimate(row: Any, name: str, coefficient: str) -> None:
    getattr(row, name)[coefficient]["value"] = 0.123
    row.save()


CORRUPTIONS: dict[str, Callable[[], Any]] = {
    "counted": lambda: Rating.objects.filter(
        pk=Rating.objects.filter(code=1).earliest("pk").pk
    ).update(counted=2),
    "number of ratings": lambda: CountState.objects.update(ratings=1),
    "pattern": lambda: corrupt_blob(get_day_tally(), "patterns"),
    "pattern of all days": lambda: corrupt_blob(
        PatternTally.objects.order_by("day")[0], "patterns"
    ),
    "lost day": lambda: get_day_tally().delete(),
    "pair table": lambda: corrupt_blob(PairTally.objects.first(), "table"),
    "items of a pair": lambda: PairTally.objects.update(n_items=1),
    "kappa": lambda: PairTally.objects.update(kappa_quadratic=0.5),
    "lost pair": lambda: PairTally.objects.earliest("pk").delete(),
    "sum of kappas": lambda: CountState.objects.update(pair_sums={"none": [1, 1]}),
    "peer table": lambda: corrupt_blob(PeerTally.objects.first(), "table"),
    "peer moments": lambda: corrupt_blob(PeerTally.objects.first(), "moments"),
    "ratings of a rater": lambda: PeerTally.objects.update(n_ratings=99),
    "lost rater": lambda: PeerTally.objects.filter(n_items__gt=0).earliest("pk").delete(),
    "reading": lambda: corrupt_estimate(
        Result.objects.filter(period_unit="all").get(), "coefficients", "fleiss_kappa"
    ),
    "reading of a week": lambda: corrupt_estimate(
        Result.objects.filter(period_unit="week").first(), "coefficients", "gwet_ac1"
    ),
    "cumulative reading": lambda: corrupt_estimate(
        Result.objects.filter(period_unit="day").first(), "cumulative", "percent_agreement"
    ),
    "lost reading": lambda: Result.objects.filter(period_unit="month").earliest("pk").delete(),
    "reading of a rater": lambda: corrupt_estimate(
        RaterResult.objects.first(), "coefficients", "vs_peers"
    ),
    "lost reading of a rater": lambda: RaterResult.objects.earliest("pk").delete(),
}


@pytest.mark.parametrize("error", CORRUPTIONS)
def test_every_error_is_found_and_repaired(counted_question: Question, error: str) -> None:
    CORRUPTIONS[error]()
    output = run_failing_audit()
    assert "stored" in output
    assert "recounted" in output
    assert run_failing_audit() == output  # an audit repairs nothing
    assert "all counts are exact" in run_command("audit", "--repair")
    assert "exact" in run_command("audit")


def test_audit_of_one_question(
    counted_question: Question, make_project: Callable[..., Any]
) -> None:
    other = make_project("Other")
    CountState.objects.create(question=other.questions.get(), ratings=5)
    assert "exact" in run_command("audit", "--question", f"{counted_question.project_id}/severity")
    run_failing_audit("--question", f"{other.pk}/severity")
    for name in ("severity", "7", "x/severity", f"{other.pk}/colour"):
        with pytest.raises(CommandError, match="write PROJECT/KEY"):
            run_command("audit", "--question", name)


def test_recount_gives_the_same_values(counted_question: Question) -> None:
    def get_state() -> list[Any]:
        return [
            list(
                PairTally.objects.order_by("rater_a", "rater_b").values_list(
                    "rater_a", "rater_b", "table", "kappa_none"
                )
            ),
            [
                row
                for row in PatternTally.objects.order_by("day").values_list("day", "patterns")
                if len(row[1])
            ],
            list(
                Result.objects.order_by("period_unit", "start").values_list(
                    "period_unit", "start", "coefficients", "cumulative"
                )
            ),
        ]

    before = get_state()
    assert "items counted" in run_command(
        "recount", "--question", f"{counted_question.project_id}/severity"
    )
    assert get_state() == before
    assert "exact" in run_command("audit")


def test_rounding_error_of_zero_variance_is_no_difference() -> None:
    """Kappa 0 with a variance of 0 was reported as a difference in one of 2,000 small questions."""
    stored_estimates = {"vs_peers": {"value": 0.0, "se": 2.0e-16, "low": -5.6e-16, "high": 5.6e-16}}
    recomputed = {"vs_peers": {"value": 7.4e-16, "se": 5.4e-10, "low": -1.5e-9, "high": 1.5e-9}}

    def is_different(first: Any, second: Any) -> bool:
        findings = auditing.AuditFindings()
        findings.add_differences("reading", {1: [5, first]}, {1: [5, second]})
        return bool(findings.differences)

    assert not is_different(stored_estimates, recomputed)
    for name, change in (("se", 1e-5), ("low", 1e-5), ("value", 1e-8)):
        changed = {
            "vs_peers": recomputed["vs_peers"] | {name: recomputed["vs_peers"][name] + change}
        }
        assert is_different(stored_estimates, changed), name
