"""A dashboard of more raters than a picture or a page can hold."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.jobs.question_updates import update_question
from metrics.results.pairs.pair_results import MAX_HEATMAP_RATERS
from projects.models import Item, Rater
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

pytestmark = pytest.mark.django_db

N_RATERS = 150
N_ITEMS = 100
HEAVIEST = 250_000  # bytes of HTML


@pytest.fixture
def crowd(question: Any) -> Any:
    """Each item has seven of 150 raters, of whom every fifth always says the same."""
    project = question.project
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{n:03}", body={"text": "Many words. " * 30})
        for n in range(N_ITEMS)
    )
    raters = Rater.objects.bulk_create(
        Rater(project=project, key=f"worker-{n:03}-of-a-large-crowd") for n in range(N_RATERS)
    )
    judged = [
        Judgement(item.pk, rater.pk, 0 if place % 5 == 0 else n % 4)
        for n, item in enumerate(items)
        for place, rater in enumerate(raters)
        if (n + place) % 21 == 0
    ]
    record_ratings({question: judged}, by=None, source="import")
    update_question(question.pk)
    return question


def test_the_page_stays_light(crowd: Any, project: Any, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    for address in ("", "?who=lowest", "?weights=none&sort=-ratings"):
        page = client.get(f"/projects/{project.pk}/{address}")
        assert page.context["rater_page"].page.paginator.count == N_RATERS
        assert len(page.content) <= HEAVIEST


def test_the_heat_map_can_be_read(crowd: Any, project: Any, lead: Any, client_for: Any) -> None:
    """Names stand upright and no figure is squeezed in; what is not sure is an outline, and what
    was not compared is struck through."""
    client, address = client_for(lead), f"/projects/{project.pk}/charts/pairs.json"
    made = client.get(address).json()
    spec, rows = made["spec"], made["rows"]
    assert len(spec["encoding"]["x"]["scale"]["domain"]) == MAX_HEATMAP_RATERS < N_RATERS
    assert spec["encoding"]["x"]["axis"]["labelAngle"] == -90
    assert not [layer for layer in spec["layer"] if layer["mark"]["type"] == "text"]
    wide = [layer for layer in spec["layer"] if layer.get("transform")]
    assert [layer["transform"][0]["filter"] for layer in wide] == ["!datum.wide", "datum.wide"]
    assert wide[1]["mark"]["fill"] == "transparent"
    assert {row["wide"] for row in rows} == {True}, "seven items are few"
    (struck,) = [layer["data"]["values"] for layer in spec["layer"] if "data" in layer]
    met = {(row["a"], row["b"]) for row in rows}
    assert len(struck) + len(met) == MAX_HEATMAP_RATERS * (MAX_HEATMAP_RATERS - 1)
    page = client.get(f"/projects/{project.pk}/").text
    assert "As a table: all pairs, or the CSV of the chart." in page
    assert ">agree least</a>" in page
