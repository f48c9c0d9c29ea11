"""`manage.py audit` and `recount`: nothing that is stored can be wrong unseen."""

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
from metrics.models import CountState, PairTally, PatternTally, PeerTally, RaterReading, Reading
from projects.models import Category, Project, Question
from ratings.models import Rating
from tests.cast import Cast, rate


def run(command: str, *arguments: str) -> str:
    out = StringIO()
    call_command(command, *arguments, stdout=out, stderr=out)
    return out.getvalue()


def differences(*arguments: str) -> str:
    out = StringIO()
    with pytest.raises(CommandError, match="1 of 1 questions differ from a recount"):
        call_command("audit", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def fill(made: Cast) -> None:
    """Ratings of six weeks by four raters, some changed, withdrawn or added after a first
    counting."""
    chance = random.Random(5)
    labels = ["none", "minor", "major", None]

    def some(number: int) -> None:
        for _ in range(number):
            rater = chance.choice(["ann", "ben", "cleo", "dan"])
            month, day = chance.choice([1, 2, 3]), chance.randint(1, 14)
            moment = datetime.datetime(2026, month, day, 9, tzinfo=datetime.UTC)
            item, label = f"i{chance.randint(1, 12)}", chance.choice(labels)
            rate(made.question, item, rater, label, rated_at=moment)

    some(40)
    update_question(made.question.pk)
    some(15)
    update_question(made.question.pk)


@pytest.fixture(scope="module")
def made_once(stage: Callable[..., Cast]) -> Cast:
    return stage(fill)


@pytest.fixture
def counted(question: Question) -> Question:
    return question


def test_exact_counts_pass(counted: Question) -> None:
    said = run("audit")
    assert f"{counted.project_id}/severity: " in said
    assert "0 waiting, exact" in said
    assert auditing.audit_question(counted.pk).results_compared


def test_a_question_without_ratings_passes(make_project: Callable[..., Project]) -> None:
    assert f"{make_project().pk}/severity: 0 ratings counted" in run("audit")


def test_withdrawing_everything_passes(counted: Question, rate: Callable[..., Any]) -> None:
    for item, rater in Rating.objects.values_list("item__key", "rater__key"):
        rate(counted, item, rater, None)
    update_question(counted.pk)
    assert "0 ratings counted, 0 waiting, exact" in run("audit")


def test_what_is_not_counted_yet_is_no_difference(
    counted: Question, rate: Callable[..., Any]
) -> None:
    rate(counted, "new", "ann", "minor")
    assert "1 waiting, exact" in run("audit")


def test_a_grown_and_turned_scale_passes(counted: Question) -> None:
    Category.objects.create(question=counted, code=4, position=0, label="lethal", value=9)
    Question.objects.filter(pk=counted.pk).update(scale_version=2)
    assert "readings wait for a worker, exact" in run("audit")
    update_question(counted.pk)
    assert auditing.audit_question(counted.pk).results_compared
    assert "exact" in run("audit")


@pytest.mark.parametrize("size", [1, 3, 7])
def test_parts_of_any_size_give_the_same(
    counted: Question, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(recount, "RATINGS_AT_ONCE", size)
    assert "exact" in run("audit")


def spoil_blob(row: Any, name: str) -> None:
    data = bytearray(bytes(getattr(row, name)))
    data[-8] += 1
    setattr(row, name, bytes(data))
    row.save()


def a_day() -> PatternTally:
    """A day on which items have their latest rating."""
    return next(row for row in PatternTally.objects.order_by("-day") if len(row.patterns))


def spoil_reading(row: Any, name: str, coefficient: str) -> None:
    getattr(row, name)[coefficient]["value"] = 0.123
    row.save()


SPOILERS: dict[str, Callable[[], Any]] = {
    "counted": lambda: Rating.objects.filter(
        pk=Rating.objects.filter(code=1).earliest("pk").pk
    ).update(counted=2),
    "number of ratings": lambda: CountState.objects.update(ratings=1),
    "pattern": lambda: spoil_blob(a_day(), "patterns"),
    "pattern of all days": lambda: spoil_blob(PatternTally.objects.order_by("day")[0], "patterns"),
    "lost day": lambda: a_day().delete(),
    "pair table": lambda: spoil_blob(PairTally.objects.first(), "table"),
    "items of a pair": lambda: PairTally.objects.update(n_items=1),
    "kappa": lambda: PairTally.objects.update(kappa_quadratic=0.5),
    "lost pair": lambda: PairTally.objects.earliest("pk").delete(),
    "sum of kappas": lambda: CountState.objects.update(pair_sums={"none": [1, 1]}),
    "peer table": lambda: spoil_blob(PeerTally.objects.first(), "table"),
    "peer moments": lambda: spoil_blob(PeerTally.objects.first(), "moments"),
    "ratings of a rater": lambda: PeerTally.objects.update(n_ratings=99),
    "lost rater": lambda: PeerTally.objects.filter(n_items__gt=0).earliest("pk").delete(),
    "reading": lambda: spoil_reading(
        Reading.objects.filter(span="all").get(), "coefficients", "fleiss_kappa"
    ),
    "reading of a week": lambda: spoil_reading(
        Reading.objects.filter(span="week").first(), "coefficients", "gwet_ac1"
    ),
    "cumulative reading": lambda: spoil_reading(
        Reading.objects.filter(span="day").first(), "cumulative", "percent_agreement"
    ),
    "lost reading": lambda: Reading.objects.filter(span="month").earliest("pk").delete(),
    "reading of a rater": lambda: spoil_reading(
        RaterReading.objects.first(), "coefficients", "vs_peers"
    ),
    "lost reading of a rater": lambda: RaterReading.objects.earliest("pk").delete(),
}


@pytest.mark.parametrize("what", SPOILERS)
def test_whatever_is_wrong_is_found_and_repaired(counted: Question, what: str) -> None:
    SPOILERS[what]()
    said = differences()
    assert "stored" in said
    assert "recounted" in said
    assert differences() == said  # looking repairs nothing
    assert "all counts are exact" in run("audit", "--repair")
    assert "exact" in run("audit")


def test_one_question_can_be_chosen(counted: Question, make_project: Callable[..., Any]) -> None:
    other = make_project("Other")
    CountState.objects.create(question=other.questions.get(), ratings=5)
    assert "exact" in run("audit", "--question", f"{counted.project_id}/severity")
    differences("--question", f"{other.pk}/severity")
    for name in ("severity", "7", "x/severity", f"{other.pk}/colour"):
        with pytest.raises(CommandError, match="write PROJECT/KEY"):
            run("audit", "--question", name)


def test_recount_gives_the_same_again(counted: Question) -> None:
    def state() -> list[Any]:
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
                Reading.objects.order_by("span", "start").values_list(
                    "span", "start", "coefficients", "cumulative"
                )
            ),
        ]

    before = state()
    assert "items counted" in run("recount", "--question", f"{counted.project_id}/severity")
    assert state() == before
    assert "exact" in run("audit")


def test_the_root_of_a_rounded_zero_is_no_difference() -> None:
    """One of 2,000 small questions was told to differ: kappa 0 with a variance of 0."""
    stored = {"vs_peers": {"value": 0.0, "se": 2.0e-16, "low": -5.6e-16, "high": 5.6e-16}}
    again = {"vs_peers": {"value": 7.4e-16, "se": 5.4e-10, "low": -1.5e-9, "high": 1.5e-9}}

    def differs(one: Any, other: Any) -> bool:
        found = auditing.AuditFindings()
        found.compare("reading", {1: [5, one]}, {1: [5, other]})
        return bool(found.differences)

    assert not differs(stored, again)
    for name, move in (("se", 1e-5), ("low", 1e-5), ("value", 1e-8)):
        moved = {"vs_peers": again["vs_peers"] | {name: again["vs_peers"][name] + move}}
        assert differs(stored, moved), name
