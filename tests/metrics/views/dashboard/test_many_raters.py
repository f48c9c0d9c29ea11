"""The dashboard of a project with more raters than a chart or a page can show."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.jobs.question_updates import update_question
from metrics.results.pair_results import MAX_HEATMAP_RATERS
from projects.models import Item, Rater
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

pytestmark = pytest.mark.django_db

N_RATERS = 150
N_ITEMS = 100
MAX_PAGE_BYTES = 250_000


@pytest.fixture
def crowd_question(question: Any) -> Any:
    """Return a question with 150 raters, seven per item; every fifth always gives the same answer."""
    project = question.project
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{n:03}", body={"text": "Many words. " * 30})
        for n in range(N_ITEMS)
    )
    raters = Rater.objects.bulk_create(
        Rater(project=project, key=f"worker-{n:03}-of-a-large-crowd") for n in range(N_RATERS)
    )
    judgements = [
        Judgement(item.pk, rater.pk, 0 if index % 5 == 0 else n % 4)
        for n, item in enumerate(items)
        for index, rater in enumerate(raters)
        if (n + index) % 21 == 0
    ]
    record_ratings({question: judgements}, by=None, source="import")
    update_question(question.pk)
    return question


def test_page_size_is_limited(
    crowd_question: Any, project: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    for address in ("", "?heat_map=lowest", "?weights=none&sort=-ratings"):
        page = client.get(f"/projects/{project.pk}/statistics/{address}")
        assert page.context["rater_page"].page.paginator.count == N_RATERS
        assert len(page.content) <= MAX_PAGE_BYTES
        overview = client.get(f"/projects/{project.pk}/{address}")
        assert overview.context["overview_raters"].n_raters == N_RATERS + 1  # the cast has another
        assert len(overview.content) <= MAX_PAGE_BYTES


def test_heat_map_is_readable(
    crowd_question: Any, project: Any, lead: Any, client_for: Any
) -> None:
    """Labels are vertical and cells have no numbers.

    Uncertain values are outlined, and pairs without common items are struck through.
    """
    client, address = client_for(lead), f"/projects/{project.pk}/charts/pairs.json"
    chart = client.get(address).json()
    spec, rows = chart["spec"], chart["rows"]
    assert len(spec["encoding"]["x"]["scale"]["domain"]) == MAX_HEATMAP_RATERS < N_RATERS
    assert spec["encoding"]["x"]["axis"]["labelAngle"] == -90
    assert not [layer for layer in spec["layer"] if layer["mark"]["type"] == "text"]
    layers = [layer for layer in spec["layer"] if layer.get("transform")]
    assert [layer["transform"][0]["filter"] for layer in layers] == ["!datum.wide", "datum.wide"]
    assert layers[1]["mark"]["fill"] == "transparent"
    assert {row["wide"] for row in rows} == {True}, "seven items are few"
    (empty_cells,) = [layer["data"]["values"] for layer in spec["layer"] if "data" in layer]
    compared_pairs = {(row["a"], row["b"]) for row in rows}
    assert len(empty_cells) + len(compared_pairs) == MAX_HEATMAP_RATERS * (MAX_HEATMAP_RATERS - 1)
    page = client.get(f"/projects/{project.pk}/statistics/").text
    assert ">All pairs</a>" in page
    assert ">agree least</a>" in page
