"""Wherever an item's text is shown, it is the text that a rater reads, in its own direction."""

from __future__ import annotations

import re
from typing import Any

import pytest

from metrics.jobs.question_updates import update_question
from projects.models import Item

pytestmark = pytest.mark.django_db

ARABIC = "هذا نص قصير."
PAGES = {
    "the statistics, disputed": "statistics/",
    "items": "items/",
    "an item beside the list": "items/?item={item}",
    "an item": "items/i0/",
    "a rater": "raters/ann/",
    "a pair": "pairs/?a=ann&b=bea",
    "the desk": "rate/{item}/",
    "own ratings": "my-ratings/",
}


@pytest.fixture
def disputed_item(project: Any, question: Any, rate: Any) -> Item:
    """Create items; two raters differ on one with HTML, which is returned, and agree on the others."""
    for number in range(6):
        rate(question, f"i{number}", "ann", "none")
        rate(question, f"i{number}", "bea", "none" if number else "critical")
    Item.objects.filter(key="i0").update(
        body={"html": f"<p><b>{ARABIC}</b></p><script>alert(1)</script>"}
    )
    update_question(question.pk)
    return Item.objects.get(key="i0")


@pytest.mark.parametrize("name", PAGES)
def test_text_is_shown_in_its_own_direction(
    name: str, disputed_item: Item, project: Any, client_for: Any, lead: Any, annotator: Any
) -> None:
    client = client_for(annotator if PAGES[name].startswith(("rate/", "my-")) else lead)
    page = client.get(f"/projects/{project.pk}/{PAGES[name].format(item=disputed_item.pk)}")
    assert page.status_code == 200
    text = page.text
    assert "alert(1)" not in text
    assert "&lt;b&gt;" not in text
    assert ARABIC in text
    # At each occurrence the nearest tag with a direction says dir="auto".
    for match in re.finditer(re.escape(ARABIC), text):
        before = text[: match.start()]
        assert re.search(r'dir="auto"[^>]*>(?:\s|<[^/][^>]*>)*$', before), before[-200:]


@pytest.mark.parametrize("name", [name for name in PAGES if name != "the desk"])
def test_image_is_shown_instead_of_its_address(
    name: str, disputed_item: Item, project: Any, client_for: Any, lead: Any, annotator: Any
) -> None:
    address = f"/projects/{project.pk}/media/1ff4.png"
    Item.objects.filter(pk=disputed_item.pk).update(body={"image": address})
    client = client_for(annotator if PAGES[name].startswith("my-") else lead)
    page = client.get(f"/projects/{project.pk}/{PAGES[name].format(item=disputed_item.pk)}").text
    assert f'src="{address}"' in page
    assert address not in re.sub(r"<[^>]+>", "", page)
