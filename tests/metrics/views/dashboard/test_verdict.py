"""The verdict above the dashboard, and the checklist of a new project."""

from __future__ import annotations

import html
import re
from collections import Counter
from typing import Any

import pytest
import time_machine

from metrics.filtered import filtered_jobs
from metrics.integrity.audit import audit_question
from metrics.jobs.question_updates import update_question
from metrics.models import Diagnosis, FilteredResult
from projects.models import Item, Project, Question, Rater
from projects.services.projects import change_project
from tests import cast

pytestmark = pytest.mark.django_db


def get_verdict(client: Any, project: Any) -> tuple[str, list[str]]:
    """Return the verdict's text and the addresses of its links and button."""
    page = client.get(f"/projects/{project.pk}/").content.decode()
    section = page.split('<section id="verdict"')[1].split("</section>")[0]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", section.split(">", 1)[1])).strip()
    return text, re.findall(r'href="([^"]*)"', section)


@pytest.fixture
def confused_question(question: Any) -> Any:
    """Return a question of 100 items on which two raters mostly agree but confuse none and minor."""
    labels = ["none", "minor", "major", "critical"]
    others = {"none": "minor", "minor": "none"}
    ratings = []
    for number in range(100):
        label = labels[number % 4]
        other_label = others.get(label, label) if number % 3 else label
        ratings += [(f"i{number}", "ann", label), (f"i{number}", "bea", other_label)]
    cast.rate_many(question, ratings)
    update_question(question.pk)
    return question


def test_verdict_has_one_number_and_one_action(
    confused_question: Any, project: Any, client_for: Any, lead: Any, viewer: Any
) -> None:
    text, links = get_verdict(client_for(lead), project)
    headline = client_for(lead).get(f"/projects/{project.pk}/").context["headline"]
    assert f"{headline['value']:.2f} [{headline['low']:.2f}, {headline['high']:.2f}]" in text
    assert text.startswith("Agreement is ")
    assert "Most confused: none / minor" in text
    assert links[:2] == ["/glossary/#bands", "#headline"]
    items = client_for(lead).get(html.unescape(links[2])).context["rows"]
    item_counts = [dict(row.counts) for row in items]
    assert item_counts
    assert all(set(counts) == {"none", "minor"} for counts in item_counts)
    assert links[-1] == f"/projects/{project.pk}/review/?question=severity"
    for link in links:
        if not link.startswith("#"):
            assert client_for(lead).get(link).status_code == 200
    assert get_verdict(client_for(viewer), project)[1][-1] == "#disputes"


def test_confused_categories_are_ranked_by_share(
    confused_question: Any, project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    """The pairs of categories are ranked by their share of the rating pairs that differ."""
    for number in range(12):
        rate(confused_question, f"more {number}", "ann", "critical")
        rate(confused_question, f"more {number}", "bea", "major" if number < 9 else "none")
    update_question(confused_question.pk)
    assert not audit_question(confused_question.pk).differences
    codes_by_item: dict[Any, dict[Any, str]] = {}
    for item, rater, code in confused_question.ratings.values_list("item_id", "rater_id", "code"):
        codes_by_item.setdefault(item, {})[rater] = code
    differing_pairs = Counter(
        tuple(sorted(codes.values()))
        for codes in codes_by_item.values()
        if len({*codes.values()}) == 2
    )
    labels = dict(confused_question.categories.values_list("code", "label"))
    expected = [
        (f"{labels[a]} / {labels[b]}", pytest.approx(n / differing_pairs.total()))
        for (a, b), n in differing_pairs.most_common()
    ]
    client = client_for(lead)
    page = client.get(f"/projects/{project.pk}/")
    assert [
        (f"{confusion.a} / {confusion.b}", confusion.share)
        for confusion in page.context["confusions"]
    ] == expected
    assert expected[0][0] == "none / minor"
    items = client.get(page.context["confusions"][1].url).context["rows"]
    assert {row.item.key for row in items} == {f"more {number}" for number in range(9)}
    table = client.get(f"/projects/{project.pk}/?csv=confused-title").content.decode()
    assert "none / minor" in table
    Diagnosis.objects.update(confusions=[])
    assert audit_question(confused_question.pk).differences


def compute_kappa(codes_a: list[int], codes_b: list[int], power: int) -> float:
    """Return kappa as 1 - observed / expected disagreement, with distances to this power.

    Power 0 counts any difference as 1.
    """
    distances = [
        [float(a != b) if power == 0 else abs(a - b) ** power for b in codes_b] for a in codes_a
    ]
    observed = sum(distances[index][index] for index in range(len(codes_a))) / len(codes_a)
    return 1 - observed / (sum(map(sum, distances)) / len(codes_a) ** 2)


@pytest.mark.parametrize("query", ["", "?from=2000-01-01"])
def test_two_raters_page_uses_cohens_kappa_everywhere(
    confused_question: Any, project: Any, rate: Any, client_for: Any, lead: Any, query: str
) -> None:
    """The weighting and the findings use the headline's coefficient, not Fleiss' kappa, and only
    once."""
    Rater.objects.create(project=project, key="gpt", kind="model")
    rate(confused_question, "i0", "gpt", "none")
    rate(confused_question, "i0", "gpt", None)
    update_question(confused_question.pk)
    client, address = client_for(lead), f"/projects/{project.pk}/{query}"
    client.get(address)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    page = client.get(address)
    current_ratings = confused_question.ratings.exclude(code=-1).order_by("item_id", "rater__key")
    codes = list(current_ratings.values_list("code", flat=True))
    names = "none", "linear", "quadratic"
    expected = {
        name: compute_kappa(codes[::2], codes[1::2], power) for power, name in enumerate(names)
    }
    assert page.context["headline_name"] == "cohen_kappa_quadratic"
    assert page.context["sensitivity_name"] == "cohen_kappa"
    value_by_weights = {
        weights: estimate["value"] for weights, estimate in page.context["sensitivity"]
    }
    assert value_by_weights == pytest.approx(expected)
    headline = page.context["headline"]
    assert dict(page.context["sensitivity"])["quadratic"]["low"] == pytest.approx(headline["low"])
    assert not [name for name, _value in page.context["beside"] if name.startswith("mean_")]
    [finding] = [text for text in page.context["findings"] if text.startswith("The conclusion")]
    assert f"Cohen’s kappa is {expected['none']:.2f}" in finding


def test_raters_with_open_alerts_come_first(
    confused_question: Any, project: Any, client_for: Any, lead: Any, viewer: Any, make_alert: Any
) -> None:
    """Their alerts come before decisions, which would otherwise count their ratings."""
    ann, bea = project.raters.get(key="ann"), project.raters.get(key="bea")
    alert = make_alert(confused_question, ann)
    make_alert(confused_question, ann, kind="rater_apart", measure="agreement")
    text, links = get_verdict(client_for(lead), project)
    assert text.endswith("Check one rater")
    page = client_for(lead).get(html.unescape(links[-1])).content.decode()
    assert "/raters/ann/" in page
    assert "/raters/bea/" not in page
    assert get_verdict(client_for(viewer), project)[1][-1] == "#disputes"
    make_alert(confused_question, bea)
    assert get_verdict(client_for(lead), project)[0].endswith("Check 2 raters")
    Rater.objects.filter(pk=bea.pk).update(paused=True)
    type(alert).objects.filter(rater=ann).update(state="acknowledged")
    assert get_verdict(client_for(lead), project)[0].endswith("Decide items in doubt")


def test_wide_interval_gets_no_verbal_rating(
    question: Any, project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    for number, label in enumerate(("none", "minor", "none", "major")):
        rate(question, f"i{number}", "ann", label)
        rate(question, f"i{number}", "bea", "none" if number == 1 else label)
    update_question(question.pk)
    text, links = get_verdict(client_for(lead), project)
    assert text.startswith("Too early to say: ")
    assert "of 4 items is a wide interval" in text
    findings = client_for(lead).get(f"/projects/{project.pk}/").context["findings"]
    assert findings
    assert not [finding for finding in findings if "weights" in finding]
    assert links[-1].startswith(f"/projects/{project.pk}/plan/")


def test_trend_line_needs_ten_items(
    question: Question, project: Any, rate: Any, utc: Any, client_for: Any, lead: Any
) -> None:
    """The items lie in two weeks; with fewer than ten, a table replaces the line."""
    client, hint = client_for(lead), "Fewer than 10 items in all"
    pages = [f"/projects/{project.pk}/{tail}" for tail in ("", "raters/ann/")]
    for number in range(10):
        with time_machine.travel(f"2026-03-{10 + 7 * (number % 2)}T09:00:00Z", tick=False):
            rate(question, f"i{number}", "ann", "none")
            rate(question, f"i{number}", "bea", "minor" if number < 3 else "none")
        if number == 8:
            update_question(question.pk)
            responses = [client.get(page) for page in pages]
            assert [page.context["is_drawn"] for page in responses] == [False, False]
            for page in responses:
                assert hint in page.text
                assert "trend-table" in page.text
                assert not re.search("trend.json", page.text)
            page_places = responses[0].context["fragment_key"]
    update_question(question.pk)
    for page in pages:
        assert hint not in client.get(page).text
        assert "trend.json" in client.get(page).text
    # An open page has no element for the line: it is reloaded.
    response = client.get(pages[0], headers={"X-Shown-Version": "", "X-Fragments": page_places})
    assert response["HX-Refresh"] == "true"


def test_new_project_shows_lead_a_checklist(
    question: Any, project: Any, rate: Any, client_for: Any, lead: Any, viewer: Any
) -> None:
    project.raters.all().delete()
    client, address = client_for(lead), f"/projects/{project.pk}/"

    def list_done() -> list[bool]:
        return [step.done for step in client.get(address).context["steps"]]

    page = client.get(address)
    assert [step.done for step in page.context["steps"]] == [False, False, False, True, False]
    text = page.content.decode()
    assert 'id="trend-title"' not in text  # no section without a number
    for tool in ("data-copy-address", 'name="from"', "/reports/"):
        assert tool not in text  # nor tools that work on one
    assert (
        page.context["steps"][0].url == f"{address}data/import/"
    )  # the page where texts can be pasted
    for step in page.context["steps"]:
        assert client.get(step.url.split("#")[0]).status_code == 200
    assert "Getting started: 1 of 5" in client.get("/").content.decode()
    assert client_for(viewer).get(address).context["steps"] == []
    Item.objects.create(project=project, key="i0")
    Project.objects.filter(pk=project.pk).increment_items_and_raters_version()
    change_project(project=project, by=lead, guidelines="Look twice.")
    rate(question, "i0", "ann", "none")
    rate(question, "i0", "bea", "minor")
    update_question(question.pk)
    assert list_done() == [True, True, True, True, False]
    text = client.get(address).content.decode()
    for tool in ("data-copy-address", 'name="from"', "/reports/"):
        assert tool in text
    assert 'id="trend-title"' in client.get(address).content.decode()
    for number in range(1, 20):
        rate(question, f"i{number}", "ann", "none")
        rate(question, f"i{number}", "bea", "minor")
    update_question(question.pk)
    assert list_done() == []
    assert "Getting started" not in client.get("/").content.decode()


def test_rater_with_largest_impact_is_named_first(
    project: Any, question: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    """Raters ann and zoe answer the same for every item; zoe rated more items."""
    labels = ["none", "minor", "major", "critical"] * 15
    ratings = []
    for number, label in enumerate(labels):
        ratings += [(f"i{number}", key, label) for key in ("bea", "cleo", "dora")]
        ratings += [(f"i{number}", key, "none") for key in ("zoe", "ann")[: 1 + (number < 30)]]
    cast.rate_many(question, ratings)
    update_question(question.pk)
    client = client_for(lead)
    verdict = client.get(f"/projects/{project.pk}/").context["verdict"]
    assert [name for name in ("ann", "zoe") if name in str(verdict.sentences)] == ["ann", "zoe"]
    text = str(verdict.sentences)
    assert text.index("/raters/zoe/") < text.index("/raters/ann/")
    assert "data-copy-address" in client.get(f"/projects/{project.pk}/").content.decode()


def test_outlier_is_reported_from_thirty_items(
    project: Any, question: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    """Rater ann is not reported with 29 items and is with 30, in stored and in filtered results."""
    labels = ("none", "minor", "major", "critical")
    ratings = [
        (f"i{number}", key, labels[number % 4])
        for number in range(60)
        for key in ("bea", "cleo", "dora")
    ]
    cast.rate_many(question, ratings + [(f"i{number}", "ann", "none") for number in range(29)])
    update_question(question.pk)
    client = client_for(lead)

    def list_is_named() -> list[bool]:
        FilteredResult.objects.all().delete()  # otherwise its cooldown would delay the computation
        flags = []
        for query in ("", "?exclude=dora"):
            client.get(f"/projects/{project.pk}/{query}")
            filtered_jobs.FILTERED_RESULT_JOB.sweep()
            page = client.get(f"/projects/{project.pk}/{query}").content.decode()
            verdict = page.split('id="verdict"')[1].split("</section>")[0]
            flags.append("To look at first" in verdict)
        return flags

    assert list_is_named() == [False, False]
    rate(question, "i29", "ann", "none")
    update_question(question.pk)
    assert list_is_named() == [True, True]


def test_single_item_gets_no_verbal_rating(
    question: Any, project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    for index, rater in enumerate("abcdefghij"):
        rate(question, "painting", rater, "none" if index < 7 else "major")
    update_question(question.pk)
    text, _links = get_verdict(client_for(lead), project)
    assert text.startswith("Too early to say: ")
    assert "of one item tells nothing of others." in text
    page = client_for(lead).get(f"/projects/{project.pk}/").content.decode()
    headline = page.split('id="headline"')[1].split("</section>")[0]
    assert "too early to say" in headline
    assert "band--" not in headline


def test_few_agreeing_items_claim_no_certainty(
    question: Any, project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    for number in range(7):
        for rater in "ab":
            rate(question, f"i{number}", rater, ("none", "major")[number % 2])
    update_question(question.pk)
    text, _links = get_verdict(client_for(lead), project)
    assert re.search(r"^Too early to say: 1.00 \[0.[0-3]\d, 1.00\] of 7 items is a wide", text)


def test_headline_stands_above_checklist(
    question: Any, project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    page = client_for(lead).get(f"/projects/{project.pk}/").content.decode()
    assert page.count('id="getting-started"') == 1
    for number, label in enumerate(("none", "minor", "none", "major")):
        rate(question, f"i{number}", "ann", label)
        rate(question, f"i{number}", "bea", label)
    update_question(question.pk)
    page = client_for(lead).get(f"/projects/{project.pk}/").content.decode()
    assert page.count('id="getting-started"') == 1
    assert page.index('id="headline"') < page.index('id="getting-started"')


def test_verdict_names_three_of_many_outliers(
    project: Any, question: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    """Eight raters agree and five always give the same answer: the three with most ratings are
    named."""
    labels = ["none", "minor", "major", "critical"] * 10
    ratings = []
    for number, label in enumerate(labels):
        ratings += [(f"i{number}", f"good{index}", label) for index in range(8)]
        ratings += [(f"i{number}", f"same{index}", "none") for index in range(min(5, 40 - number))]
    cast.rate_many(question, ratings)
    update_question(question.pk)
    text, links = get_verdict(client_for(lead), project)
    assert "To look at first: same0, same1, same2 (all raters)." in text
    assert f"/projects/{project.pk}/raters/?question=severity" in links
