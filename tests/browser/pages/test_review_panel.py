"""The decision panel of the review page on a phone."""

from __future__ import annotations

from typing import Any

import pytest

from quality.consensus import recomputation
from tests.cast import rate_many

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_panel_leaves_room_for_the_ratings(question: Any, project: Any, open_page: Any) -> None:
    """Regression: the row of buttons was as high as it should be wide."""
    rate_many(question, [("i1", "ann", "none"), ("i1", "bea", "minor")])
    recomputation.recompute_question(question.pk)
    page = open_page(f"/projects/{project.pk}/review/", viewport={"width": 390, "height": 844})
    buttons, panel = page.locator("#decision .answers__send"), page.locator("#decision")
    votes = page.locator("section[aria-labelledby=votes-title] li").first
    boxes = [locator.bounding_box() for locator in (buttons, panel, votes)]
    assert boxes[0]["height"] < 70
    assert boxes[2]["y"] + boxes[2]["height"] < boxes[1]["y"]
