"""The strip over the dashboard, and the card of a new project."""

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
from metrics.models import Diagnosis, Slice
from projects.models import Item, Project, Question, Rater
from projects.services.projects import change_project

pytestmark = pytest.mark.django_db


def strip(client: Any, project: Any) -> tuple[str, list[str]]:
    """What the verdict says in words, and where its links and button lead."""
    page = client.get(f"/projects/{project.pk}/").content.decode()
    part = page.split('<section id="verdict"')[1].split("</section>")[0]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", part.split(">", 1)[1])).strip()
    return text, re.findall(r'href="([^"]*)"', part)


@pytest.fixture
def confusing(question: Any, rate: Any) -> Any:
    """100 items that two raters mostly agree about; what they confuse is none and minor."""
    labels = ["none", "minor", "major", "critical"]
    for number in range(100):
        said = labels[number % 4]
        rate(question, f"i{number}", "ann", said)
        other = {"none": "minor", "minor": "none"}.get(said, said) if number % 3 else said
        rate(question, f"i{number}", "bea", other)
    update_question(question.pk)
    return question


def test_one_sentence_one_number_one_action(
    confusing: Any, project: Any, client_for: Any, lead: Any, viewer: Any
) -> None:
    text, links = strip(client_for(lead), project)
    headline = client_for(lead).get(f"/projects/{project.pk}/").context["headline"]
    assert f"{headline['value']:.2f} [{headline['low']:.2f}, {headline['high']:.2f}]" in text
    assert text.startswith("Agreement is ")
    assert "Most confused: none / minor" in text
    assert links[:2] == ["/words/#bands", "#headline"]
    items = client_for(lead).get(html.unescape(links[2])).context["rows"]
    said = [dict(row.counts) for row in items]
    assert said
    assert all(set(counts) == {"none", "minor"} for counts in said)
    assert links[-1] == f"/projects/{project.pk}/adjudicate/?question=severity"
    for link in links:
        if not link.startswith("#"):
            assert client_for(lead).get(link).status_code == 200
    assert strip(client_for(viewer), project)[1][-1] == "#disputes"


def test_what_is_confused_with_what(
    confusing: Any, project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    """The pairs of categories by their share of the pairs of ratings that differ."""
    for number in range(12):
        rate(confusing, f"more {number}", "ann", "critical")
        rate(confusing, f"more {number}", "bea", "major" if number < 9 else "none")
    update_question(confusing.pk)
    assert not audit_question(confusing.pk).differences
    said: dict[Any, dict[Any, str]] = {}
    for item, rater, code in confusing.ratings.values_list("item_id", "rater_id", "code"):
        said.setdefault(item, {})[rater] = code
    apart = Counter(
        tuple(sorted(codes.values())) for codes in said.values() if len({*codes.values()}) == 2
    )
    labels = dict(confusing.categories.values_list("code", "label"))
    expected = [
        (f"{labels[a]} / {labels[b]}", pytest.approx(n / apart.total()))
        for (a, b), n in apart.most_common()
    ]
    client = client_for(lead)
    page = client.get(f"/projects/{project.pk}/")
    assert [(f"{one.a} / {one.b}", one.share) for one in page.context["confusions"]] == expected
    assert expected[0][0] == "none / minor"
    items = client.get(page.context["confusions"][1].url).context["rows"]
    assert {row.item.key for row in items} == {f"more {number}" for number in range(9)}
    table = client.get(f"/projects/{project.pk}/?csv=confused-title").content.decode()
    assert "none / minor" in table
    Diagnosis.objects.update(confusions=[])
    assert audit_question(confusing.pk).differences


def kappa(one: list[int], other: list[int], power: int) -> float:
    """1 - observed / expected disagreement, of distances to this power; 0 counts any difference."""
    far = [[float(a != b) if power == 0 else abs(a - b) ** power for b in other] for a in one]
    seen = sum(far[place][place] for place in range(len(one))) / len(one)
    return 1 - seen / (sum(map(sum, far)) / len(one) ** 2)


@pytest.mark.parametrize("narrowed", ["", "?from=2000-01-01"])
def test_of_two_raters_all_is_said_of_their_kappa(
    confusing: Any, project: Any, rate: Any, client_for: Any, lead: Any, narrowed: str
) -> None:
    """Of the coefficient that stands above it, not of Fleiss' beside it; and once."""
    Rater.objects.create(project=project, key="gpt", kind="model")
    rate(confusing, "i0", "gpt", "none")
    rate(confusing, "i0", "gpt", None)
    update_question(confusing.pk)
    client, address = client_for(lead), f"/projects/{project.pk}/{narrowed}"
    client.get(address)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    page = client.get(address)
    standing = confusing.ratings.exclude(code=-1).order_by("item_id", "rater__key")
    codes = list(standing.values_list("code", flat=True))
    names = "none", "linear", "quadratic"
    expected = {name: kappa(codes[::2], codes[1::2], power) for power, name in enumerate(names)}
    assert page.context["headline_name"] == "cohen_kappa_quadratic"
    assert page.context["sensitivity_name"] == "cohen_kappa"
    shown = {weights: reading["value"] for weights, reading in page.context["sensitivity"]}
    assert shown == pytest.approx(expected)
    headline = page.context["headline"]
    assert dict(page.context["sensitivity"])["quadratic"]["low"] == pytest.approx(headline["low"])
    assert not [name for name, _value in page.context["beside"] if name.startswith("mean_")]
    [said] = [text for text in page.context["findings"] if text.startswith("The conclusion")]
    assert f"Cohen’s kappa is {expected['none']:.2f}" in said


def test_raters_with_open_cases_are_looked_at_first(
    confusing: Any, project: Any, client_for: Any, lead: Any, viewer: Any, make_alarm: Any
) -> None:
    """What they answered would be decided about otherwise."""
    ann, bea = project.raters.get(key="ann"), project.raters.get(key="bea")
    case = make_alarm(confusing, ann)
    make_alarm(confusing, ann, kind="rater_apart", measure="agreement")
    text, links = strip(client_for(lead), project)
    assert text.endswith("Look at one rater first")
    listed = client_for(lead).get(html.unescape(links[-1])).content.decode()
    assert "/raters/ann/" in listed
    assert "/raters/bea/" not in listed
    assert strip(client_for(viewer), project)[1][-1] == "#disputes"
    make_alarm(confusing, bea)
    assert strip(client_for(lead), project)[0].endswith("Look at 2 raters first")
    Rater.objects.filter(pk=bea.pk).update(paused=True)
    type(case).objects.filter(rater=ann).update(state="looked_at")
    assert strip(client_for(lead), project)[0].endswith("Decide items in doubt")


def test_no_word_where_the_interval_is_wide(
    question: Any, project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    for number, label in enumerate(("none", "minor", "none", "major")):
        rate(question, f"i{number}", "ann", label)
        rate(question, f"i{number}", "bea", "none" if number == 1 else label)
    update_question(question.pk)
    text, links = strip(client_for(lead), project)
    assert text.startswith("Too early to say: ")
    assert "of 4 items is a wide interval" in text
    findings = client_for(lead).get(f"/projects/{project.pk}/").context["findings"]
    assert findings
    assert not [said for said in findings if "weights" in said]
    assert links[-1].startswith(f"/projects/{project.pk}/plan/")


def test_no_line_is_drawn_of_fewer_than_ten_items(
    question: Question, project: Any, rate: Any, utc: Any, client_for: Any, lead: Any
) -> None:
    """In two weeks; what there is stands in a table."""
    client, chance = client_for(lead), "Fewer than 10 items in all"
    pages = [f"/projects/{project.pk}/{tail}" for tail in ("", "raters/ann/")]
    for number in range(10):
        with time_machine.travel(f"2026-03-{10 + 7 * (number % 2)}T09:00:00Z", tick=False):
            rate(question, f"i{number}", "ann", "none")
            rate(question, f"i{number}", "bea", "minor" if number < 3 else "none")
        if number == 8:
            update_question(question.pk)
            shown = [client.get(page) for page in pages]
            assert [page.context["is_drawn"] for page in shown] == [False, False]
            for page in shown:
                assert chance in page.text
                assert "trend-table" in page.text
                assert not re.search("trend.json", page.text)
            places = shown[0].context["places"]
    update_question(question.pk)
    for page in pages:
        assert chance not in client.get(page).text
        assert "trend.json" in client.get(page).text
    # An open page has no place for the line: it is loaded anew.
    asked = client.get(pages[0], headers={"X-Shown": "", "X-Places": places})
    assert asked["HX-Refresh"] == "true"


def test_a_new_project_tells_its_lead_what_it_needs(
    question: Any, project: Any, rate: Any, client_for: Any, lead: Any, viewer: Any
) -> None:
    project.raters.all().delete()
    client, address = client_for(lead), f"/projects/{project.pk}/"

    def done() -> list[bool]:
        return [step.done for step in client.get(address).context["steps"]]

    page = client.get(address)
    assert [step.done for step in page.context["steps"]] == [False, False, False, True, False]
    text = page.content.decode()
    assert 'id="trend-title"' not in text  # no card without a number
    for tool in ("data-copy-address", 'name="from"', "/reports/"):
        assert tool not in text  # nor anything that is done with one
    assert page.context["steps"][0].url == f"{address}data/import/"  # where texts are pasted
    for step in page.context["steps"]:
        assert client.get(step.url.split("#")[0]).status_code == 200
    assert "Getting started: 1 of 5" in client.get("/").content.decode()
    assert client_for(viewer).get(address).context["steps"] == []
    Item.objects.create(project=project, key="i0")
    Project.objects.filter(pk=project.pk).increment_catalogue_version()
    change_project(project=project, by=lead, guidelines="Look twice.")
    rate(question, "i0", "ann", "none")
    rate(question, "i0", "bea", "minor")
    update_question(question.pk)
    assert done() == [True, True, True, True, False]
    text = client.get(address).content.decode()
    for tool in ("data-copy-address", 'name="from"', "/reports/"):
        assert tool in text
    assert 'id="trend-title"' in client.get(address).content.decode()
    for number in range(1, 20):
        rate(question, f"i{number}", "ann", "none")
        rate(question, f"i{number}", "bea", "minor")
    update_question(question.pk)
    assert done() == []
    assert "Getting started" not in client.get("/").content.decode()


def test_who_does_most_harm_is_named_first(
    project: Any, question: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    """ann and zoe say the same whatever the item is; zoe of more items."""
    labels = ["none", "minor", "major", "critical"] * 15
    for number, label in enumerate(labels):
        for key in ("bea", "cleo", "dora"):
            rate(question, f"i{number}", key, label)
        rate(question, f"i{number}", "zoe", "none")
        if number < 30:
            rate(question, f"i{number}", "ann", "none")
    update_question(question.pk)
    client = client_for(lead)
    found = client.get(f"/projects/{project.pk}/").context["verdict"]
    assert [name for name in ("ann", "zoe") if name in str(found.sentences)] == ["ann", "zoe"]
    text = str(found.sentences)
    assert text.index("/raters/zoe/") < text.index("/raters/ann/")
    assert "data-copy-address" in client.get(f"/projects/{project.pk}/").content.decode()


def test_of_few_items_nobody_is_said_to_agree_less(
    project: Any, question: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    """ann has 29 items, and of 30 she is told of; stored and of the chosen ratings alike."""
    for number in range(60):
        for key in ("bea", "cleo", "dora"):
            rate(question, f"i{number}", key, ("none", "minor", "major", "critical")[number % 4])
        if number < 29:
            rate(question, f"i{number}", "ann", "none")
    update_question(question.pk)
    client = client_for(lead)

    def is_named() -> list[bool]:
        Slice.objects.all().delete()  # else it would rest
        found = []
        for query in ("", "?without=dora"):
            client.get(f"/projects/{project.pk}/{query}")
            filtered_jobs.FILTERED_RESULT_JOB.sweep()
            page = client.get(f"/projects/{project.pk}/{query}").content.decode()
            verdict = page.split('id="verdict"')[1].split("</section>")[0]
            found.append("To look at first" in verdict)
        return found

    assert is_named() == [False, False]
    rate(question, "i29", "ann", "none")
    update_question(question.pk)
    assert is_named() == [True, True]


def test_one_item_has_no_word(
    question: Any, project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    for place, rater in enumerate("abcdefghij"):
        rate(question, "painting", rater, "none" if place < 7 else "major")
    update_question(question.pk)
    text, _links = strip(client_for(lead), project)
    assert text.startswith("Too early to say: ")
    assert "of one item tells nothing of others." in text
    page = client_for(lead).get(f"/projects/{project.pk}/").content.decode()
    headline = page.split('id="headline"')[1].split("</section>")[0]
    assert "too early to say" in headline
    assert "band--" not in headline


def test_few_items_that_all_agree_claim_no_certainty(
    question: Any, project: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    for number in range(7):
        for rater in "ab":
            rate(question, f"i{number}", rater, ("none", "major")[number % 2])
    update_question(question.pk)
    text, _links = strip(client_for(lead), project)
    assert text.startswith("Too early to say: 1.00 rests on 7 items alone.")
    assert "[1.00, 1.00]" not in text


def test_a_number_stands_above_what_is_still_to_be_done(
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


def test_of_many_three_are_named_and_none_is_counted(
    project: Any, question: Any, rate: Any, client_for: Any, lead: Any
) -> None:
    """Eight agree, five always say the same: the three of most ratings stand in the sentence."""
    labels = ["none", "minor", "major", "critical"] * 10
    for number, label in enumerate(labels):
        for place in range(8):
            rate(question, f"i{number}", f"good{place}", label)
        for place in range(5):
            if number < 40 - place:
                rate(question, f"i{number}", f"same{place}", "none")
    update_question(question.pk)
    text, links = strip(client_for(lead), project)
    assert "To look at first: same0, same1, same2 (all raters)." in text
    assert f"/projects/{project.pk}/raters/?question=severity" in links
