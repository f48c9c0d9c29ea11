"""The headline and the next actions of the overview, and the checklist of a new project."""

from __future__ import annotations

import html
import re
from collections import Counter
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from metrics.filtered import filtered_jobs
from metrics.integrity.audit import audit_question
from metrics.jobs.question_updates import update_question
from metrics.models import Diagnosis, RaterResult
from projects.models import Item, Project, Question, Rater
from projects.services.projects import change_project
from quality.consensus import recomputation as consensus
from quality.models import Consensus, ItemLabel
from quality.rater_status import recomputation as rater_recomputation
from tests import cast

pytestmark = pytest.mark.django_db


def get_actions(client: Any, project: Any) -> dict[str, tuple[str, str]]:
    """Return label -> (reason, address) of the actions that the overview shows, in their order."""
    page = client.get(f"/projects/{project.pk}/").content.decode()
    section = page.split('id="do-next"')[1].split("</section>")[0]
    rows = re.findall(r'href="([^"]*)">([^<]*)</a> <span class="[^"]*">([^<]*)<', section)
    return {html.unescape(label): (reason, html.unescape(url)) for url, label, reason in rows}


def get_caveat(client: Any, project: Any) -> str:
    recommendation = client.get(f"/projects/{project.pk}/").context["recommendation"]
    return str(recommendation.caveat)


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


def remove_popovers(page: str) -> str:
    """Return the HTML without the explanations, which are shown after a click."""
    while (start := page.find("<span popover")) >= 0:
        depth = 0
        for tag in re.finditer(r"<span\b|</span>", page[start:]):
            depth += 1 if tag.group() == "<span" else -1
            if not depth:
                page = page[:start] + page[start + tag.end() :]
                break
    return page


def test_overview_shows_the_number_and_what_to_do(
    confused_question: Any, project: Any, client_for: Any, lead: Any, viewer: Any
) -> None:
    client = client_for(lead)
    page = client.get(f"/projects/{project.pk}/")
    headline, text = page.context["headline"], page.content.decode()
    state = text.split('id="headline"')[1].split('id="trend"')[0]
    assert f">{headline['value']:.2f}<" in state
    assert f"[{headline['low']:.2f}, {headline['high']:.2f}]" in state
    assert 'class="band' in state
    assert "100 items · 95% CI" in state
    actions = get_actions(client, project)
    assert len(actions) <= 3
    reason, url = actions["Clarify none vs. minor"]
    assert reason == "100% of 33 disagreements"
    items = client.get(url).context["rows"]
    item_counts = [dict(row.counts) for row in items]
    assert item_counts
    assert all(set(counts) == {"none", "minor"} for counts in item_counts)
    assert list(get_actions(client_for(viewer), project)) == ["Clarify none vs. minor"]
    cards = text.split('id="headline"')[1].split("</main>")[0]
    assert cards.count("popovertarget=") <= 3
    page_text = re.sub(r"<details>.*?</details>", " ", remove_popovers(cards), flags=re.S)
    shown_text = html.unescape(re.sub(r"<[^>]+>", " ", page_text))
    assert len(re.findall(r"\d[\d.,]*", shown_text)) <= 30
    assert len(shown_text.split()) <= 150


def test_target_is_compared_with_the_interval(
    confused_question: Any, project: Any, client_for: Any, lead: Any
) -> None:
    client, address = client_for(lead), f"/projects/{project.pk}/"
    headline = client.get(address).context["headline"]
    middle = round((headline["low"] + headline["high"]) / 2, 2)
    texts = {0.1: "Above the target, 0.10", 0.99: "Below the target, 0.99"}
    texts[middle] = f"The interval contains the target, {middle:.2f}"
    for target, text in texts.items():
        Project.objects.filter(pk=project.pk).update(target_agreement=target)
        assert text in client.get(address).text, target
        chart = client.get(f"{address}charts/trend.json").json()
        assert str(target) in str(chart["spec"])


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
    page = client.get(f"/projects/{project.pk}/statistics/")
    assert [
        (f"{confusion.a} / {confusion.b}", confusion.share)
        for confusion in page.context["confusions"]
    ] == expected
    assert expected[0][0] == "none / minor"
    items = client.get(page.context["confusions"][1].url).context["rows"]
    assert {row.item.key for row in items} == {f"more {number}" for number in range(9)}
    table = client.get(f"/projects/{project.pk}/statistics/?csv=confused-title").content.decode()
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
    """Weighting and findings use the headline's coefficient, not Fleiss' kappa, and only once."""
    Rater.objects.create(project=project, key="gpt", kind="model")
    rate(confused_question, "i0", "gpt", "none")
    rate(confused_question, "i0", "gpt", None)
    update_question(confused_question.pk)
    client, address = client_for(lead), f"/projects/{project.pk}/statistics/{query}"
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
    insights = [insight.text for insight in page.context["insights"]]
    [insight] = [text for text in insights if text.startswith("Weights ")]
    assert f"Cohen’s kappa is {expected['none']:.2f}" in insight


def open_filtered(client: Any, project: Any, query: str) -> Any:
    """Return the overview with a filter, after a worker has computed it."""
    client.get(f"/projects/{project.pk}/{query}")
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    return client.get(f"/projects/{project.pk}/{query}")


def test_trend_of_a_filter_names_its_coefficient_where_it_is_another(
    confused_question: Any, project: Any, client_for: Any, lead: Any
) -> None:
    """The headline of two raters is Cohen's kappa; the trend of a filter is Fleiss' kappa."""
    client, note = client_for(lead), "The trend shows Fleiss’ kappa"
    page = open_filtered(client, project, "?from=2000-01-01")
    assert page.context["headline_name"] == "cohen_kappa_quadratic"
    (point,) = page.context["points"]
    assert point.estimate["value"] != pytest.approx(page.context["headline"]["value"], abs=1e-6)
    assert note in html.unescape(page.text)
    unfiltered = client.get(f"/projects/{project.pk}/")
    (point,) = unfiltered.context["points"]
    assert point.estimate["value"] == pytest.approx(unfiltered.context["headline"]["value"])
    assert note not in html.unescape(unfiltered.text)


@pytest.mark.parametrize("keys", [["gpt"], ["bert", "gpt"]])
def test_models_alone_are_listed_without_status(
    keys: list[str], confused_question: Any, project: Any, client_for: Any, lead: Any, rate: Any
) -> None:
    """A single model has ratings and nothing to agree with; two models have both."""
    client, alone = client_for(lead), "gpt: 40 ratings. Agreement needs two raters."
    for key in keys:
        Rater.objects.create(project=project, key=key, kind="model")
        for number in range(40):
            rate(confused_question, f"i{number}", key, "none" if number % 3 else "minor")
    update_question(confused_question.pk)
    page = open_filtered(client, project, "?kind=model")
    assert (alone in html.unescape(page.text)) == (keys == ["gpt"])
    overview_raters = page.context["overview_raters"]
    assert [line.key for line in overview_raters.lines] == keys
    assert overview_raters.n_to_check == 0 and "No ratings yet." not in page.text
    assert alone not in html.unescape(open_filtered(client, project, "?kind=human").text)
    redirect = client.get(f"/projects/{project.pk}/raters/?kind=model")
    assert redirect["Location"] == f"/projects/{project.pk}/statistics/?kind=model#raters"
    table = client.get(f"/projects/{project.pk}/statistics/?kind=model").context["rater_page"]
    assert [line.rater.key for line in table.lines] == keys


def test_raters_with_open_alerts_come_first(
    confused_question: Any, project: Any, client_for: Any, lead: Any, viewer: Any, make_alert: Any
) -> None:
    """Their alerts come before reviews, which would otherwise count their ratings."""
    ann, bea = project.raters.get(key="ann"), project.raters.get(key="bea")
    client = client_for(lead)
    make_alert(confused_question, ann)
    make_alert(confused_question, ann, kind="rater_apart", measure="agreement")
    for user in (lead, viewer):
        label, (reason, url) = next(iter(get_actions(client_for(user), project).items()))
        assert label == "Check Ann"
        assert reason
        assert url.startswith(f"/projects/{project.pk}/raters/ann/")
    make_alert(confused_question, bea)
    label, (reason, url) = next(iter(get_actions(client, project).items()))
    assert label == "Check Ann, bea"
    assert reason.startswith("Ann: ")
    assert url == f"/projects/{project.pk}/raters/?question=severity"
    rater_recomputation.recompute_question(confused_question.pk, at_once=True)
    page = client.get(f"/projects/{project.pk}/")
    raters = page.text.split('id="raters"')[1].split("</section>")[0]
    assert raters.count("badge--bad") == 2
    assert page.context["overview_raters"].n_to_check == 2
    Rater.objects.filter(project=project).update(paused=True)
    assert "Check" not in str(list(get_actions(client, project)))


def test_uncertain_items_and_alerts_are_actions_of_those_who_may(
    confused_question: Any, project: Any, client_for: Any, lead: Any, viewer: Any, make_alert: Any
) -> None:
    for item in project.items.all()[:7]:
        ItemLabel.objects.create(
            question=confused_question,
            item=item,
            code=0,
            source="consensus",
            doubt=0.4,
            n_ratings=2,
            computed_at=timezone.now(),
        )
    make_alert(confused_question, None, kind="ratings_missing")
    actions = get_actions(client_for(lead), project)
    assert list(actions) == [
        "Clarify none vs. minor",
        "Review 7 uncertain items",
        "Resolve alert",
    ]
    reason, url = actions["Review 7 uncertain items"]
    assert reason == "about 3 expected label errors"
    assert client_for(lead).get(url).status_code == 200
    assert list(get_actions(client_for(viewer), project)) == [
        "Clarify none vs. minor",
        "Resolve alert",
    ]


def test_review_is_suggested_for_one_sitting_with_its_time(
    confused_question: Any, project: Any, client_for: Any, lead: Any
) -> None:
    Item.objects.bulk_create(Item(project=project, key=f"u{number}") for number in range(60))
    doubts = [0.5] * 40 + [0.25] * 20
    ItemLabel.objects.bulk_create(
        ItemLabel(
            question=confused_question, item=item, code=0, source="consensus", doubt=doubt,
            n_ratings=2, computed_at=timezone.now(),
        )
        for item, doubt in zip(Item.objects.filter(key__startswith="u"), doubts, strict=True)
    )  # fmt: skip
    RaterResult.objects.filter(question=confused_question).update(seconds=6.0)
    rater_recomputation.recompute_question(confused_question.pk, at_once=True)
    reason, _url = get_actions(client_for(lead), project)["Review the 40 most uncertain items"]
    assert reason == "about 4 min · about 20 expected label errors", (
        "a majority has no errors of all labels"
    )
    Consensus.objects.update_or_create(
        question=confused_question, defaults={"expected_errors": 25.2}
    )
    reason, _url = get_actions(client_for(lead), project)["Review the 40 most uncertain items"]
    all_errors = "about 4 min · about 20 of the 25 expected label errors"
    assert reason == all_errors, "the number of the page Labels"
    for gold_items, caveat in ((0, ", assuming independent errors"), (40, "")):
        Consensus.objects.update(model={"gold_items": gold_items})
        reason, _url = get_actions(client_for(lead), project)["Review the 40 most uncertain items"]
        assert reason == f"{all_errors}{caveat}"


def test_wide_interval_gets_no_verbal_rating(
    question: Any, project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    for number, label in enumerate(("none", "minor", "none", "major")):
        rate(question, f"i{number}", "ann", label)
        rate(question, f"i{number}", "bea", "none" if number == 1 else label)
    update_question(question.pk)
    assert get_caveat(client_for(lead), project) == "With only 4 items, the interval is wide."
    card = client_for(lead).get(f"/projects/{project.pk}/").text.split('id="headline"')[1]
    assert card.split("</section>")[0].lower().count("not enough data") == 1
    page = client_for(lead).get(f"/projects/{project.pk}/statistics/")
    insights = [insight.text for insight in page.context["insights"]]
    assert insights
    assert not [insight for insight in insights if "weights" in insight]
    [(label, (reason, url))] = get_actions(client_for(lead), project).items()
    assert (label, reason) == ("Plan more items", "4 items are too few to judge")
    assert url.startswith(f"/projects/{project.pk}/plan/")


def test_trend_line_needs_ten_items(
    question: Question, project: Any, rate: Any, utc: Any, client_for: Any, lead: Any
) -> None:
    """The items lie in two weeks; with fewer than ten, a table replaces the line."""
    client, hint = client_for(lead), "Under 10 items: see the table."
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
    for tool in ("data-copy-address", 'name="from"', "reports/?question="):
        assert tool not in text  # nor tools that work on one
    assert (
        page.context["steps"][0].url == f"{address}data/import/"
    )  # the page where texts can be pasted
    for step in page.context["steps"]:
        assert client.get(step.url.split("#")[0]).status_code == 200
    assert "Setup: 1 of 5" in client.get("/").content.decode()
    assert client_for(viewer).get(address).context["steps"] == []
    Item.objects.create(project=project, key="i0")
    Project.objects.filter(pk=project.pk).increment_items_and_raters_version()
    change_project(project=project, by=lead, guidelines="Look twice.")
    rate(question, "i0", "ann", "none")
    rate(question, "i0", "bea", "minor")
    update_question(question.pk)
    assert list_done() == [True, True, True, True, False]
    text = client.get(address).content.decode()
    for tool in ("data-copy-address", 'name="from"', "reports/?question="):
        assert tool in text
    assert 'id="trend-title"' in client.get(address).content.decode()
    for number in range(1, 20):
        rate(question, f"i{number}", "ann", "none")
        rate(question, f"i{number}", "bea", "minor")
    update_question(question.pk)
    assert list_done() == []
    assert "Getting started" not in client.get("/").content.decode()


def test_rater_with_largest_impact_is_named_first(
    project: Any, question: Any, rate: Any, client_for: Any, lead: Any, make_alert: Any
) -> None:
    """Raters ann and zoe answer the same for every item; zoe rated more items."""
    labels = ["none", "minor", "major", "critical"] * 15
    ratings = []
    for number, label in enumerate(labels):
        ratings += [(f"i{number}", key, label) for key in ("bea", "cleo", "dora")]
        ratings += [(f"i{number}", key, "none") for key in ("zoe", "ann")[: 1 + (number < 30)]]
    cast.rate_many(question, ratings)
    update_question(question.pk)
    rater_recomputation.recompute_question(question.pk, at_once=True)
    consensus.recompute_question(question.pk, at_once=True)
    for key, n in (("ann", 30), ("zoe", 60)):
        rater = project.raters.get(key=key)
        make_alert(question, rater, kind="rater_apart", measure="agreement", n=n)
    client = client_for(lead)
    assert next(iter(get_actions(client, project))) == "Check zoe, Ann"
    page = client.get(f"/projects/{project.pk}/")
    assert [line.key for line in page.context["overview_raters"].lines][:2] == ["zoe", "ann"]
    assert len(page.context["overview_raters"].lines) == 5
    share_menu = page.text.split(">Share</summary>")[1].split("</details>")[0]
    for tool in ("data-copy-address", f"{project.pk}/views/", f"{project.pk}/reports/"):
        assert tool in share_menu


def test_filtered_overview_shows_statuses_of_all_ratings(
    confused_question: Any, project: Any, client_for: Any, lead: Any, make_alert: Any
) -> None:
    """The status and the action are those of the page without a filter; "Do next" agrees."""
    make_alert(confused_question, project.raters.get(key="ann"))
    Rater.objects.filter(project=project, key="bea").update(paused=True)
    client, base = client_for(lead), f"/projects/{project.pk}/"

    def read(query: str) -> tuple[list[Any], bool, str]:
        client.get(base + query)
        filtered_jobs.FILTERED_RESULT_JOB.sweep()
        page = client.get(base + query)
        card = page.text.split('id="raters"')[1].split("</section>")[0]
        return page.context["overview_raters"].lines, "Check Ann" in page.text, card

    lines, is_named, card = read("")
    assert is_named and "Status covers" not in card
    filtered_lines, is_named, card = read("?from=2020-01-01")
    assert is_named and "Status covers all ratings." in card
    assert [(row.key, row.status) for row in filtered_lines] == [
        (row.key, row.status) for row in lines
    ]
    assert [row.key for row in filtered_lines if row.is_paused] == ["bea"]
    assert card.count(">paused<") == 1
    lines, is_named, _card = read("?exclude=ann")
    assert not is_named and "ann" not in [row.key for row in lines]


def test_single_item_gets_no_verbal_rating(
    question: Any, project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    for index, rater in enumerate("abcdefghij"):
        rate(question, "painting", rater, "none" if index < 7 else "major")
    update_question(question.pk)
    assert get_caveat(client_for(lead), project) == "Only 1 item has two or more ratings."
    page = client_for(lead).get(f"/projects/{project.pk}/").content.decode()
    headline = page.split('id="headline"')[1].split("</section>")[0]
    assert "not enough data yet" in headline
    assert "band--" not in headline


def test_few_agreeing_items_claim_no_certainty(
    question: Any, project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    for number in range(7):
        for rater in "ab":
            rate(question, f"i{number}", rater, ("none", "major")[number % 2])
    update_question(question.pk)
    assert "With only 7 items, the interval is wide." in get_caveat(client_for(lead), project)
    headline = client_for(lead).get(f"/projects/{project.pk}/").context["headline"]
    assert headline["value"] == 1
    assert headline["low"] < 0.4


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


def test_three_of_many_raters_are_named(
    project: Any, question: Any, client_for: Any, lead: Any, make_alert: Any
) -> None:
    """The three with most ratings of five raters with an alert are named."""
    labels = ["none", "minor", "major", "critical"] * 10
    ratings = []
    for number, label in enumerate(labels):
        ratings += [(f"i{number}", f"good{index}", label) for index in range(8)]
        ratings += [(f"i{number}", f"same{index}", "none") for index in range(min(5, 40 - number))]
    cast.rate_many(question, ratings)
    update_question(question.pk)
    rater_recomputation.recompute_question(question.pk, at_once=True)
    for rater in project.raters.filter(key__startswith="same"):
        make_alert(question, rater, kind="rater_apart", measure="agreement")
    actions = get_actions(client_for(lead), project)
    assert actions["Check same0, same1, same2 and 2 more"][1] == (
        f"/projects/{project.pk}/raters/?question=severity"
    )
    for rater in project.raters.exclude(key__startswith="same"):
        make_alert(question, rater, kind="rater_apart", measure="agreement")
    n_raters = project.raters.count()
    assert f"Check all {n_raters} raters" in get_actions(client_for(lead), project)


def test_archived_project_says_so_and_asks_for_nothing(
    confused_question: Question, project: Project, lead: Any, client_for: Any
) -> None:
    Project.objects.update(archived_at=timezone.now())
    page = client_for(lead).get(f"/projects/{project.pk}/").text
    assert "Archived since" in page
    assert 'id="do-next"' not in page
    assert f"/projects/{project.pk}/rate/" not in page
