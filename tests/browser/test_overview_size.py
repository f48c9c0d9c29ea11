"""The overview stays small: few words and numbers, counted as a reader sees them.

A number is a figure in the text (1,160 or 2026-11-23), wherever it is; not one in a name. The tick
labels of a chart's axes are one scale to look up values, so they have a limit of their own.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page

from metrics import tasks
from metrics.example import example_projects
from projects.models import Project
from quality import tasks as quality_tasks
from tests.browser.conftest import wait_for_charts

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MAX_WORDS = 150
MAX_NUMBERS = 30
MAX_TICKS = 16  # tick labels of the chart
MAX_EXPLANATIONS = 3  # "?" buttons
WORD = re.compile(r"[^\W\d_][\w’'-]+")
NUMBER = re.compile(r"(?<![\w-])\d[\d,.:/-]*")
# [text, whether it is the label of a tick] of each visible piece of text of the page.
TEXTS_SCRIPT = """() => {
    const texts = [];
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode;
        const element = node.parentElement;
        const range = document.createRange();
        range.selectNodeContents(node);
        const box = range.getBoundingClientRect();
        if (
            !node.textContent.trim() || element.closest(".visually-hidden") ||
            !element.checkVisibility({ visibilityProperty: true }) || box.width <= 1 || box.height <= 1
        ) continue;
        texts.push([node.textContent.trim(), element.closest(".role-axis-label") !== null]);
    }
    return texts;
}"""


@pytest.fixture
def sample(lead: User) -> Project:
    """The sample project with everything that a worker computes for it."""
    example_projects.create_missing_examples(owner=lead)
    project = example_projects.find_example(lead)
    assert project is not None
    tasks.sweep_all()
    quality_tasks.sweep_gold_and_repeats()
    quality_tasks.sweep_labels_and_queues()
    quality_tasks.sweep_alerts()
    quality_tasks.sweep_raters()
    return project


def list_texts(page: Page, *, ticks: bool) -> list[str]:
    texts = page.evaluate(TEXTS_SCRIPT)
    return [text for text, is_tick in texts if is_tick == ticks]


def test_overview_of_the_sample_project_is_short(sample: Project, open_page: Any) -> None:
    """Also with its tour, which can be closed."""
    page = open_page(f"/projects/{sample.pk}/", viewport={"width": 1440, "height": 960})
    wait_for_charts(page)
    page.evaluate(
        "document.querySelectorAll('details[open]').forEach((fold) => (fold.open = false))"
    )
    texts = list_texts(page, ticks=False)
    words = [word for text in texts for word in WORD.findall(text)]
    numbers = [number for text in texts for number in NUMBER.findall(text)]
    assert 60 < len(words) <= MAX_WORDS, texts
    assert 10 < len(numbers) <= MAX_NUMBERS, numbers
    assert texts.count("?") <= MAX_EXPLANATIONS
    ticks = list_texts(page, ticks=True)
    assert 0 < len(ticks) <= MAX_TICKS, ticks
    # Dates have the format of all pages.
    assert [text for text in ticks if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text)]


def test_numbers_are_counted_as_read() -> None:
    assert NUMBER.findall("0.43 [0.38, 0.48] since 2026-11-23; 1,160 of rater5, 95%") == [
        "0.43", "0.38,", "0.48", "2026-11-23", "1,160", "95"
    ]  # fmt: skip
    assert WORD.findall("Fleiss’ kappa: a-b of 5") == ["Fleiss’", "kappa", "a-b", "of"]
