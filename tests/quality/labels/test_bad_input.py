"""Whatever was rated: labels, pages, API, files and commands give values with their reasons or a
clear word, and never NaN."""

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
from quality.consensus import recompute
from quality.models import Consensus, ItemLabel
from quality.planning import queue_order

pytestmark = pytest.mark.django_db

NO_NUMBER = re.compile(r"(?<![\w-])(nan|-?inf(inity)?)(?![\w-])", re.IGNORECASE)

# (item, rater, label), and what stands at the labels as the reason why nothing is sure.
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
PAGES = ("", "labels/", "labels/raters/", "labels/rules/", "adjudicate/", "plan/", "coefficients/")
FILES = ("csv", "jsonl", "parquet", "label_studio", "argilla", "card")


@pytest.fixture(params=RATINGS)
def labelled(request: Any, question: Question, rate: Callable[..., Any]) -> tuple[Question, str]:
    said, reason = RATINGS[request.param]
    for item, rater, label in said:
        if label is None:  # said once, and taken back
            rate(question, item, rater, "none")
        rate(question, item, rater, label)
    question_updates.update_question(question.pk)
    recompute.recompute_question(question.pk)
    return question, reason


def test_values_have_reasons_and_none_is_nan(
    labelled: tuple[Question, str], client_for: Callable[[User], Client], lead: User
) -> None:
    question, reason = labelled
    made = Consensus.objects.filter(question=question).first()
    assert (made.reason if made else "") == reason
    for row in ItemLabel.objects.filter(question=question):
        assert (row.code is None) <= (row.reason == "tied")
        assert (row.confidence is None) == bool(reason)
        assert np.isfinite(row.shares).all()
        assert sum(row.shares) == pytest.approx(1)
    client, home = client_for(lead), f"/projects/{question.project_id}/"
    told = [(page, client.get(f"{home}{page}")) for page in PAGES]
    api = f"/api/v1{home}"
    told += [(call, client.get(f"{api}{call}")) for call in ("labels/", "agreement/")]
    for name, answer in told:
        assert answer.status_code == 200, name
        assert not NO_NUMBER.search(visible(answer.content.decode())), name
    for kind in FILES:
        answer = client.get(f"{home}labels.{kind}")
        assert answer.status_code == 200, kind
        if kind != "parquet":
            assert not NO_NUMBER.search(answer.getvalue().decode()), kind
    assert queue_order.plan_queue(question.project) is not None


def visible(page: str) -> str:
    """Without scripts and tags."""
    return re.sub(r"<script.*?</script>|<[^>]*>", " ", page, flags=re.DOTALL)


def test_the_commands_say_so_too(
    labelled: tuple[Question, str], capfdbinary: pytest.CaptureFixture[Any]
) -> None:
    question, _reason = labelled
    for kind in FILES:
        call_command("labels", str(question.project_id), "--format", kind)
        said = capfdbinary.readouterr().out
        if kind != "parquet":
            assert not NO_NUMBER.search(said.decode()), kind
    out = io.StringIO()
    call_command("plan", str(question.project_id), "--json", stdout=out)
    (row,) = json.loads(out.getvalue(), parse_constant=pytest.fail)
    assert (row["items"] is None) == (row["more"] is None)
