"""Chart rows as CSV: cells are escaped as in the export of ratings."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from metrics.jobs.question_updates import update_question
from metrics.views.charts import _prepare_cell


@pytest.mark.parametrize(
    ("value", "cell"),
    [("=1+1", "'=1+1"), ("＝1", "'＝1"), ("-1", "-1"), ("", ""), (None, None), (0.5, 0.5)],
)
def test_formula_cells_are_escaped(value: Any, cell: Any) -> None:
    assert _prepare_cell(value) == cell


def test_each_table_of_the_dashboard_is_available_as_csv(
    project: Any, question: Any, rate: Any, lead: Any, stranger: Any, client_for: Any
) -> None:
    for number, (first_label, second_label) in enumerate(
        [("minor", "minor"), ("none", "major")] * 2
    ):
        rate(question, f"i{number}", "ann", first_label)
        rate(question, f"i{number}", "=ben", second_label)
    update_question(question.pk)
    client = client_for(lead)

    def get_csv_rows(name: str) -> list[dict[str, str]]:
        address = f"/projects/{project.pk}/charts/{name}.csv"
        assert f'href="{address}?' in client.get(f"/projects/{project.pk}/statistics/").text
        return list(csv.DictReader(io.StringIO(client.get(address).text)))

    context = client.get(f"/projects/{project.pk}/statistics/").context
    kappa = context["headline"]["value"]
    assert float(get_csv_rows("statistics")[0]["value"]) == pytest.approx(kappa)
    assert len(get_csv_rows("statistics")) == len(context["beside"]) + 1
    assert [row["category"] for row in get_csv_rows("categories")][:2] == ["none", "minor"]
    assert get_csv_rows("missing") == [
        {"ratings": "0", "items": "0"},
        {"ratings": "2", "items": "4"},
    ]
    disputes = get_csv_rows("disputes")
    assert {row["item"] for row in disputes} == {"i1", "i3"}
    assert disputes[0]["ratings major"] == "1"
    assert [row["rater"] for row in get_csv_rows("raters")] == ["'=ben", "ann"]
    address = f"/projects/{project.pk}/charts/categories.csv?exclude=ann"
    assert client.get(address).status_code == 202, "a worker is at it"
    assert client.get(f"/projects/{project.pk}/charts/categories.json").status_code == 404
    assert client_for(stranger).get(address).status_code == 404
