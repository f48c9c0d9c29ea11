"""Wherever an item is told by its text, that is what a rater reads of it, in its own direction."""

from __future__ import annotations

import re
from typing import Any

import pytest

from metrics.jobs.question_updates import update_question
from projects.models import Item

pytestmark = pytest.mark.django_db

ARABIC = "هذا نص قصير."
PAGES = {
    "the overview, disputed": "",
    "items": "items/",
    "an item beside the list": "items/?item={item}",
    "an item": "items/i0/",
    "a rater": "raters/ann/",
    "a pair": "pairs/?a=ann&b=bea",
    "the desk": "rate/{item}/",
    "own ratings": "my-ratings/",
}


@pytest.fixture
def told(project: Any, question: Any, rate: Any) -> Item:
    """Two raters differ on an item of HTML; on others they agree."""
    for number in range(6):
        rate(question, f"i{number}", "ann", "none")
        rate(question, f"i{number}", "bea", "none" if number else "critical")
    Item.objects.filter(key="i0").update(
        body={"html": f"<p><b>{ARABIC}</b></p><script>alert(1)</script>"}
    )
    update_question(question.pk)
    return Item.objects.get(key="i0")


@pytest.mark.parametrize("name", PAGES)
def test_a_text_is_read_in_its_own_direction(
    name: str, told: Item, project: Any, client_for: Any, lead: Any, annotator: Any
) -> None:
    client = client_for(annotator if PAGES[name].startswith(("rate/", "my-")) else lead)
    page = client.get(f"/projects/{project.pk}/{PAGES[name].format(item=told.pk)}")
    assert page.status_code == 200
    text = page.text
    assert "alert(1)" not in text
    assert "&lt;b&gt;" not in text
    assert ARABIC in text
    # Each time the nearest tag with a direction leaves it to the text.
    for place in re.finditer(re.escape(ARABIC), text):
        before = text[: place.start()]
        assert re.search(r'dir="auto"[^>]*>(?:\s|<[^/][^>]*>)*$', before), before[-200:]


@pytest.mark.parametrize("name", [name for name in PAGES if name != "the desk"])
def test_a_picture_is_told_by_itself_and_not_by_its_address(
    name: str, told: Item, project: Any, client_for: Any, lead: Any, annotator: Any
) -> None:
    address = f"/projects/{project.pk}/media/1ff4.png"
    Item.objects.filter(pk=told.pk).update(body={"image": address})
    client = client_for(annotator if PAGES[name].startswith("my-") else lead)
    page = client.get(f"/projects/{project.pk}/{PAGES[name].format(item=told.pk)}").text
    assert f'src="{address}"' in page
    assert address not in re.sub(r"<[^>]+>", "", page)
