"""Test the switch of populations, and the badges of pages that show people and models.

A model's ratings are replaced by others. With people selected, no number of a page changes; without
a selection, numbers change only in parts that say that models count in them.
"""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from metrics.filtered.filtered_jobs import FILTERED_RESULT_JOB
from metrics.jobs.question_updates import update_question
from metrics.models import FilteredResult
from projects.models import Question, Rater
from quality.rater_status import recomputation as rater_recomputation
from tests.cast import LABELS, rate_many

pytestmark = pytest.mark.django_db

# Page -> its parts about both populations, which say so in a heading of their own.
PAGES = (
    "",
    "statistics/",
    "coefficients/",
    "pairs/",
    "raters/",
    "raters/a/",
    "raters/a/?period=day",
)
N_ITEMS = 40


def record(question: Question, raters: str, seed: int, n_items: int = N_ITEMS) -> None:
    generator = random.Random(seed)
    rows: list[tuple[str, str, str | None]] = []
    for index in range(n_items):
        truth = index % len(LABELS)
        for rater in raters:
            other = generator.randrange(len(LABELS))
            rows.append((f"i{index}", rater, LABELS[truth if generator.random() < 0.6 else other]))
    rate_many(question, rows)


@pytest.fixture
def mixed_question(question: Question) -> Question:
    """Three people rated all items, and two models half of them."""
    project = question.project
    for key in ("m", "n"):
        Rater.objects.create(project=project, key=key, kind=Rater.Kind.MODEL)
    record(question, "abc", 1)
    record(question, "mn", 2, N_ITEMS // 2)
    return question


def compute(question: Question, client: Any, kinds: tuple[str, ...]) -> None:
    update_question(question.pk)
    rater_recomputation.recompute_question(question.pk, at_once=True)
    FilteredResult.objects.update(paused_until=None)  # the next request is not a repeated one
    for kind in kinds:
        for page in PAGES:
            get_page(client, question, page, kind)
    FILTERED_RESULT_JOB.sweep()


def get_page(client: Any, question: Question, page: str, kind: str) -> str:
    separator = "&" if "?" in page else "?"
    address = f"/projects/{question.project_id}/{page}{separator}kind={kind}"
    response = client.get(address, follow=True)  # of models, the raters are in the statistics
    assert response.status_code == 200, page
    text: str = response.content.decode()
    return text


def parse_parts(text: str) -> dict[str, tuple[list[float], str]]:
    """Return {id of a part: (its numbers, its population)}; "" without a badge."""
    main = text.split("<main", 1)[1].split("</main>", maxsplit=1)[0]
    main = re.sub(r"<(script|svg|time)\b.*?</\1>|<input[^>]*>", "", main, flags=re.DOTALL)
    # The rows of this table name their populations.
    main = re.sub(r'<div class="groups">.*?</table>', "", main, flags=re.DOTALL)
    badges = dict(
        re.findall(r'<h\d[^>]*id="([^"]+)"(?:(?!</h\d>).)*data-population="(\w+)"', main, re.DOTALL)
    )
    parts = {}
    for index, part in enumerate(
        re.split(r'(?=<(?:section|details class="card)|<div class="stat">)', main)
    ):
        label = re.search(r'aria-labelledby="([^"]+)"', part)
        own_badge = re.search(r'data-population="(\w+)"', part)
        words = re.sub(r"<[^>]*>", " ", part)
        numbers = [
            float(number.replace("−", "-").replace(",", ""))
            for number in re.findall(r"[-−]?\d[\d,]*\.?\d*", words)
        ]
        name = label[1] if label else ""
        population = own_badge[1] if own_badge else badges.get(name, "")
        parts[f"{index} {name}"] = numbers, population
    return parts


def list_changed_parts(before: str, after: str) -> dict[str, str]:
    """Return {id: population} of the parts whose numbers changed by more than the bootstrap's noise."""
    old, new = parse_parts(before), parse_parts(after)
    return {
        name: population
        for name, (numbers, population) in new.items()
        if numbers != pytest.approx(old.get(name, ([], ""))[0], abs=0.025)
    }


def test_pages_of_people_do_not_depend_on_models(
    mixed_question: Question, client_for: Any, lead: Any
) -> None:
    client, kinds = client_for(lead), ("human", "model", "")
    compute(mixed_question, client, kinds)
    before = {(p, k): get_page(client, mixed_question, p, k) for p in PAGES for k in kinds}
    record(mixed_question, "mn", 77)
    compute(mixed_question, client, kinds)
    for page in PAGES:
        after = get_page(client, mixed_question, page, "human")
        assert list_changed_parts(before[page, "human"], after) == {}, page
        # A page without the switch says that it is of people.
        assert set(re.findall(r'data-population="(\w+)"', after)) <= {"people"}, page
        mixed = get_page(client, mixed_question, page, "")
        changed = list_changed_parts(before[page, ""], mixed)
        whole_page = re.search(r'<h1[^>]*>(?:(?!</h1>).)*data-population="all"', mixed, re.DOTALL)
        assert whole_page or set(changed.values()) <= {"all"}, (page, changed)
        assert 'data-population="' in mixed, page
    assert list_changed_parts(
        before["coefficients/", "model"], get_page(client, mixed_question, "coefficients/", "model")
    )


def test_pages_of_models_do_not_depend_on_people(
    mixed_question: Question, client_for: Any, lead: Any
) -> None:
    client = client_for(lead)
    compute(mixed_question, client, ("model",))
    pages = ("statistics/", "coefficients/", "pairs/")
    before = {page: get_page(client, mixed_question, page, "model") for page in pages}
    record(mixed_question, "abc", 78)
    compute(mixed_question, client, ("model",))
    for page in pages:
        after = get_page(client, mixed_question, page, "model")
        assert list_changed_parts(before[page], after) == {}, page


def test_switch_leads_to_each_population_where_models_rate(
    mixed_question: Question, question: Question, client_for: Any, lead: Any
) -> None:
    client = client_for(lead)
    compute(mixed_question, client, ("",))
    base = f"/projects/{question.project_id}/statistics/"
    text = client.get(f"{base}?kind=human&weights=linear&page=2").text
    nav = text.split("filters__population")[1].split("</nav>")[0]
    links = re.findall(r'<a href="([^"]*)" (aria-current)?', nav)
    assert [(link.replace("&amp;", "&"), bool(current)) for link, current in links] == [
        (f"{base}?weights=linear&kind=human", True),
        (f"{base}?weights=linear", False),
        (f"{base}?weights=linear&kind=model", False),
    ]
    assert '<input type="hidden" name="kind" value="human">' in text


def test_no_switch_without_models(question: Question, client_for: Any, lead: Any) -> None:
    record(question, "abc", 1)
    compute(question, client_for(lead), ("",))
    for page in PAGES:
        text = get_page(client_for(lead), question, page, "")
        assert "filters__population" not in text
        assert "data-population" not in text
