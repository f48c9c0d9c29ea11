"""Tests of labels, pages, API, files and commands on arbitrary ratings.

There is no NaN, and values that are missing have reasons.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from metrics.jobs import question_updates
from projects.models import Question
from quality.consensus import recomputation
from quality.models import Consensus, ItemLabel
from quality.planning import planned_queues

pytestmark = pytest.mark.django_db

NO_NUMBER = re.compile(r"(?<![\w-])(nan|-?inf(inity)?)(?![\w-])", re.IGNORECASE)

# (item, rater, label), and the reason stored with the labels when there is no confidence.
RATINGS: dict[str, tuple[Sequence[tuple[str, str, str | None]], str]] = {
    "no ratings": ([], ""),
    "one rater": ([("i1", "a", "none"), ("i2", "a", "major")], "no_pairable_items"),
    "all abstain": ([("i1", "a", None), ("i1", "b", None), ("i2", "a", None)], ""),
    "no item of two": ([("i1", "a", "none"), ("i2", "b", "major")], "no_pairable_items"),
    "one item of two": ([("i1", "a", "none"), ("i1", "b", "major")], ""),
    "a rater with one rating": (
        [(f"i{n}", rater, "none" if n % 2 else "major") for n in range(6) for rater in "ab"]
        + [("i3", "once", "critical")],
        "",
    ),
    "one category alone": ([(f"i{n}", rater, "minor") for n in range(4) for rater in "abc"], ""),
    "a category never used": (
        [(f"i{n}", r, "none" if (n + ord(r)) % 3 else "minor") for n in range(9) for r in "abc"],
        "",
    ),
}
PAGES = ("", "labels/", "labels/confusions/", "labels/rules/", "review/", "plan/", "coefficients/")
FILES = ("csv", "jsonl", "parquet", "label_studio", "argilla", "card")


@pytest.fixture(params=RATINGS)
def labelled_case(
    request: Any, question: Question, rate: Callable[..., Any]
) -> tuple[Question, str]:
    ratings, reason = RATINGS[request.param]
    for item, rater, label in ratings:
        if label is None:  # rated once, then withdrawn
            rate(question, item, rater, "none")
        rate(question, item, rater, label)
    question_updates.update_question(question.pk)
    recomputation.recompute_question(question.pk)
    return question, reason


def test_values_have_reasons_and_none_is_nan(
    labelled_case: tuple[Question, str], client_for: Callable[[User], Client], lead: User
) -> None:
    question, reason = labelled_case
    state = Consensus.objects.filter(question=question).first()
    assert (state.reason if state else "") == reason
    for row in ItemLabel.objects.filter(question=question):
        assert (row.code is None) <= (row.reason == "tied")
        assert (row.confidence is None) == bool(reason)
        assert np.isfinite(row.distribution).all()
        assert sum(row.distribution) == pytest.approx(1)
    client, home = client_for(lead), f"/projects/{question.project_id}/"
    responses = [(page, client.get(f"{home}{page}")) for page in PAGES]
    api = f"/api/v1{home}"
    responses += [(path, client.get(f"{api}{path}")) for path in ("labels/", "agreement/")]
    for name, response in responses:
        assert response.status_code == 200, name
        assert not NO_NUMBER.search(strip_tags(response.content.decode())), name
    for kind in FILES:
        response = client.get(f"{home}labels.{kind}")
        assert response.status_code == 200, kind
        if kind != "parquet":
            assert not NO_NUMBER.search(response.getvalue().decode()), kind
    assert planned_queues.plan_queue(question.project) is not None


def strip_tags(page: str) -> str:
    """Return the page without scripts and tags."""
    return re.sub(r"<script.*?</script>|<[^>]*>", " ", page, flags=re.DOTALL)


def test_commands_print_no_nan(
    labelled_case: tuple[Question, str], capfdbinary: pytest.CaptureFixture[Any]
) -> None:
    question, _reason = labelled_case
    for kind in FILES:
        call_command("labels", str(question.project_id), "--format", kind)
        output = capfdbinary.readouterr().out
        if kind != "parquet":
            assert not NO_NUMBER.search(output.decode()), kind
    out = io.StringIO()
    call_command("plan", str(question.project_id), "--json", stdout=out)
    (row,) = json.loads(out.getvalue(), parse_constant=pytest.fail)
    assert (row["items"] is None) == (row["more"] is None)
