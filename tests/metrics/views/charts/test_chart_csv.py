"""The charts' rows as a file: guarded like the export of ratings."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from metrics.jobs.question_updates import update_question
from metrics.views.charts.views import _escape_cell


@pytest.mark.parametrize(
    ("value", "cell"),
    [("=1+1", "'=1+1"), ("＝1", "'＝1"), ("-1", "-1"), ("", ""), (None, None), (0.5, 0.5)],
)
def test_a_cell_runs_nothing_and_is_otherwise_itself(value: Any, cell: Any) -> None:
    assert _escape_cell(value) == cell


def test_each_table_of_the_dashboard_is_a_file(
    project: Any, question: Any, rate: Any, lead: Any, stranger: Any, client_for: Any
) -> None:
    for number, (ours, theirs) in enumerate([("minor", "minor"), ("none", "major")] * 2):
        rate(question, f"i{number}", "ann", ours)
        rate(question, f"i{number}", "=ben", theirs)
    update_question(question.pk)
    client = client_for(lead)

    def rows(name: str) -> list[dict[str, str]]:
        address = f"/projects/{project.pk}/charts/{name}.csv"
        assert f'href="{address}?' in client.get(f"/projects/{project.pk}/").text
        return list(csv.DictReader(io.StringIO(client.get(address).text)))

    context = client.get(f"/projects/{project.pk}/").context
    kappa = context["headline"]["value"]
    assert float(rows("statistics")[0]["value"]) == pytest.approx(kappa)
    assert len(rows("statistics")) == len(context["beside"]) + 1
    assert [row["category"] for row in rows("categories")][:2] == ["none", "minor"]
    assert rows("missing") == [{"ratings": "0", "items": "0"}, {"ratings": "2", "items": "4"}]
    disputes = rows("disputes")
    assert {row["item"] for row in disputes} == {"i1", "i3"}
    assert disputes[0]["ratings major"] == "1"
    assert [row["rater"] for row in rows("raters")] == ["'=ben", "ann"]
    address = f"/projects/{project.pk}/charts/categories.csv?without=ann"
    assert client.get(address).status_code == 202, "a worker is at it"
    assert client.get(f"/projects/{project.pk}/charts/categories.json").status_code == 404
    assert client_for(stranger).get(address).status_code == 404
