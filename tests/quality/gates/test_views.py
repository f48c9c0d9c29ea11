"""Pages of gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.test import Client

from projects.models import Project, Question
from quality import tasks
from quality.gates import verdict_texts
from quality.models import Gate, GateState

pytestmark = pytest.mark.django_db


@pytest.fixture
def pages(project: Project, lead: Any) -> tuple[Client, str]:
    client = Client()
    client.force_login(lead)
    return client, f"/projects/{project.pk}/gates/"


def build_form(*rules: tuple[str, str, str], name: str = "release", initial: int = 0) -> Any:
    data = {
        "name": name, "rules-TOTAL_FORMS": len(rules) + 1, "rules-INITIAL_FORMS": initial,
    }  # fmt: skip
    for index, values in enumerate([*rules, ("", "", "")]):
        for field, value in zip(("measure", "limit", "filter"), values, strict=True):
            data[f"rules-{index}-{field}"] = value
    return data


def test_lead_creates_changes_and_deletes_a_gate(
    question: Question, pages: tuple[Client, str], rate_alike: Callable[..., None]
) -> None:
    client, url = pages
    rate_alike(40)
    assert "No gates yet" in client.get(url).content.decode()
    rules = (("gwet_ac1", "0.6", "kind=human&exclude=zoe"), ("open_alerts", "0", ""))
    response = client.post(url, build_form(*rules))
    assert response.status_code == 400
    assert "must be one of ann, ben" in response.content.decode()
    rules = (("gwet_ac1", "0.6", "kind=human&exclude=ben"), ("open_alerts", "0", ""))
    response = client.post(url, build_form(*rules))
    assert (response.status_code, response["Location"]) == (302, f"{url}release/")
    gate = Gate.objects.get()
    assert gate.rules == [
        {"measure": "gwet_ac1", "at_least": 0.6, "filter": {"kind": "human", "exclude": "ben"}},
        {"measure": "open_alerts", "at_most": 0},
    ]
    assert "Computing the verdict" in client.get(f"{url}release/").content.decode()
    tasks.sweep_gates()
    page = client.get(f"{url}release/").content.decode()
    assert "No value: no item has comparable ratings" in page
    assert "0 open (limit: 0)." in page
    assert 'value="kind=human&amp;exclude=ben"' in page
    changed = build_form(("gwet_ac1", "0.6", ""), name="nightly", initial=2)
    assert client.post(f"{url}release/", changed)["Location"] == f"{url}nightly/"
    GateState.objects.update(duration_seconds=0)  # after a slow computation the question pauses
    tasks.sweep_gates()
    page = client.get(url).content.decode()
    assert "Passed" in page
    assert "Gwet’s AC1: at least 0.60" in page
    assert client.post(f"{url}nightly/delete/").status_code == 302
    assert not Gate.objects.exists()


def test_form_shows_errors_at_their_rows(question: Question, pages: tuple[Client, str]) -> None:
    client, url = pages
    for form, message in (
        (build_form(), "at least one rule"),
        (build_form(("coverage", "1.5", "")), "a number from 0 to 1"),
        (build_form(("coverage", "", "")), "a number from 0 to 1"),
        (build_form(("", "0.5", "")), "missing; one of"),
        (build_form(("icc1", "0.5", "")), "icc1 is not one of the available choices"),
        (build_form(("coverage", "0.5", ""), name="a/b"), "No slashes or control characters."),
    ):
        response = client.post(url, form)
        assert response.status_code == 400
        assert message in response.content.decode()
    assert not Gate.objects.exists()


def test_viewer_sees_no_forms(
    question: Question, project: Project, create_gate: Any, viewer: Any, annotator: Any
) -> None:
    create_gate({"measure": "coverage", "at_least": 0.5})
    client = Client()
    client.force_login(viewer)
    url = f"/projects/{project.pk}/gates/"
    for path in (url, f"{url}release/"):
        page = client.get(path)
        assert page.status_code == 200
        assert "rules-TOTAL_FORMS" not in page.content.decode()
        assert client.post(path).status_code == 403
    assert client.post(f"{url}release/delete/").status_code == 403
    client.force_login(annotator)
    assert client.get(url).status_code == 403


def test_sentence_of_a_verdict_says_how_many_items_are_missing() -> None:
    estimate = {"value": 0.7, "low": 0.5, "high": 0.8, "reason": None}
    rule = {
        "measure": "headline", "name": "fleiss_kappa", "at_least": 0.6, "verdict": "not_enough",
        "estimate": estimate, "needed_items": 1_460,
    }  # fmt: skip
    document = {"gate": "release", "verdict": "not_enough", "rules": [rule]}
    assert verdict_texts.describe_verdict(document) == (
        "“release” is undecided: not enough data. About 1,460 more items needed."
    )
    assert verdict_texts.list_rule_sentences(document) == [
        "Headline coefficient, Fleiss’ kappa: 0.700 [0.500, 0.800] (limit: 0.60)."
        " About 1,460 more items needed."
    ]


def build_rule(verdict: str, value: float | None, needed_items: int | None = None) -> Any:
    return {
        "measure": "gwet_ac1", "name": "gwet_ac1", "at_least": 0.6, "verdict": verdict,
        "estimate": {
            "value": value,
            "low": None if value is None else value - 0.1,
            "high": None if value is None else value + 0.1,
            "reason": "single_category" if value is None else None,
        },
        "needed_items": needed_items,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ([("not_enough", 0.65, 300)], "not enough data. About 300 more items needed"),
        (
            [("not_enough", 0.65, 300), ("pass", 0.9, None)],
            "not enough data. About 300 more items needed",
        ),
        ([("not_enough", 0.65, 300), ("not_enough", None, None)], "a rule has no value"),
        ([("not_enough", 0.65, 300), ("not_enough", 0.6, None)], "not enough data"),
    ],
)
def test_items_are_promised_only_where_they_decide_every_rule(
    rules: list[Any], sentence: str
) -> None:
    """Items do not give a value to a rule whose ratings are all alike."""
    built = [build_rule(*rule) for rule in rules]
    document = {"gate": "release", "verdict": "not_enough", "rules": built}
    assert verdict_texts.describe_verdict(document) == f"“release” is undecided: {sentence}."
    of_event = [{**rule, **rule.pop("estimate")} for rule in built]
    assert verdict_texts.describe_verdict({**document, "rules": of_event}).endswith(f"{sentence}.")


def test_new_items_are_not_promised_to_reach_a_coverage() -> None:
    """Ten of the present items lack ratings; ten new ones would not help."""
    estimate = {"value": 0.8, "low": 0.8, "high": 0.8, "reason": None}
    rule = {
        "measure": "coverage", "name": "coverage", "at_least": 0.9, "verdict": "fail",
        "estimate": estimate, "needed_items": 10,
    }  # fmt: skip
    document = {"gate": "release", "verdict": "fail", "rules": [rule]}
    assert verdict_texts.list_rule_sentences(document) == [
        "Coverage: 0.800 (limit: 0.90). 10 more complete items needed."
    ]
    assert not verdict_texts.has_interval(rule)
    assert verdict_texts.has_interval(build_rule("pass", 0.8))


def describe_rule(estimate: Mapping[str, Any] | None = None, **fields: Any) -> str:
    """Return the sentences on one rule, by default of a coverage of 0.8 where 0.9 is the limit."""
    value = {"value": 0.8, "low": 0.8, "high": 0.8, "reason": None} | dict(estimate or {})
    rule = {
        "measure": "coverage", "name": "coverage", "at_least": 0.9, "at_most": 3,
        "verdict": "fail", "estimate": value, "needed_items": None,
    }  # fmt: skip
    (sentence,) = verdict_texts.list_rule_sentences({"gate": "g", "rules": [rule | fields]})
    return sentence


NO_VALUE = {"value": None, "low": None, "high": None}
OF_ALERTS = {"measure": "open_alerts", "name": "open_alerts"}
RULE_SENTENCES: dict[str, tuple[str, str]] = {
    # text: sentences where it is true, and where it is false but tempting
    "4 open (limit: 3).": (
        describe_rule({"value": 4}, **OF_ALERTS), describe_rule({"value": 3}, **OF_ALERTS),
    ),
    "No value: there are no items.": (
        describe_rule(NO_VALUE | {"reason": "no_items"}), describe_rule({"value": 0.0}),
    ),
    "0.800, without interval": (
        describe_rule({"low": None, "high": None}), describe_rule({"low": -1.0, "high": 1.0}),
    ),
    "Coverage: 0.800 (limit:": (
        describe_rule(), describe_rule({"low": 0.79}),
    ),
    "0.800 [0.790, 0.800]": (
        describe_rule({"low": 0.79}), describe_rule(),
    ),
    "1 more complete item needed.": (
        describe_rule(needed_items=1), describe_rule(needed_items=1, measure="gwet_ac1"),
    ),
    "About 1 more item needed.": (
        describe_rule(needed_items=1, measure="gwet_ac1"), describe_rule(needed_items=1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", RULE_SENTENCES)
def test_each_sentence_on_a_rule_has_its_reason(text: str) -> None:
    sentence, tempting = RULE_SENTENCES[text]
    assert text in sentence
    assert text not in tempting


def test_verdict_is_stated_as_decided() -> None:
    """A value above the limit does not pass as long as its interval reaches below it."""
    rule = build_rule("not_enough", 0.65)
    for verdict, text in (("pass", "passes"), ("fail", "fails"), ("not_enough", "is undecided")):
        sentence = verdict_texts.describe_verdict(
            {"gate": "g", "verdict": verdict, "rules": [rule]}
        )
        others = {"passes", "fails", "is undecided"} - {text}
        assert sentence.startswith(f"“g” {text}")
        assert not [other for other in others if other in sentence]
