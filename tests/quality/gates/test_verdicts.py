"""Verdicts: each measure, by its interval, at any moment, and only for the selected ratings."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from metrics.agreement import report
from metrics.agreement.counts.wider_intervals import compute_widening_factor
from metrics.agreement.estimate import wilson_interval
from metrics.jobs import question_updates
from projects.models import Item, Project, Question, Rater
from projects.services.gold import set_gold_answer
from quality.alerts.services import change_alert_state
from quality.consensus import recomputation as labels
from quality.gates import verdict_jobs
from quality.models import Consensus, GateVerdict, ItemLabel
from quality.review.decisions import create_decision
from ratings.models import Rating
from tests.cast import rate, rate_many

pytestmark = pytest.mark.django_db


def read_codes(question: Question) -> np.ndarray:
    """Return the current ratings as an array (items, raters), -1 for none."""
    rows = Rating.objects.current().filter(question=question)
    triples = list(rows.values_list("item_id", "rater_id", "code"))
    items = sorted({item for item, _rater, _code in triples})
    raters = sorted({rater for _item, rater, _code in triples})
    codes = np.full((len(items), len(raters)), -1)
    for item, rater, code in triples:
        codes[items.index(item), raters.index(rater)] = code
    return codes


def test_coefficient_has_the_interval_of_the_report_widened(
    rated_question: Question, get_rule: Callable[..., Any]
) -> None:
    rule = get_rule({"measure": "fleiss_kappa", "at_least": 0.2})
    expected = report(read_codes(rated_question), categories=4)
    estimate = rule["estimate"]
    assert estimate["value"] == pytest.approx(expected["fleiss_kappa"])
    assert estimate["low_once"] == pytest.approx(expected["fleiss_kappa.low"])
    factor = float(compute_widening_factor(estimate["n_items"]))
    value, low = estimate["value"], estimate["low_once"]
    assert estimate["low"] == pytest.approx(1 - (1 - value) * ((1 - low) / (1 - value)) ** factor)
    assert estimate["low"] < low < value < estimate["high_once"] < estimate["high"]
    assert (rule["verdict"], rule["needed_items"]) == ("pass", None)


def test_verdict_follows_from_the_ends_of_the_interval(
    rated_question: Question, api: Any, gates_url: str, create_gate: Callable[..., Any]
) -> None:
    rule = {"measure": "headline", "at_least": -1.0}
    create_gate(rule)
    estimate = api.get(f"{gates_url}release/verdict/").json()["rules"][0]["estimate"]
    assert estimate["value"] is not None
    for limit, expected in (
        (estimate["low"], "pass"),
        (estimate["low"] + 1e-6, "not_enough"),
        (estimate["high"], "not_enough"),
        (estimate["high"] + 1e-6, "fail"),
    ):
        body = {"rules": [rule | {"at_least": limit}]}
        assert api.patch(f"{gates_url}release/", body, format="json").status_code == 200
        verdict = api.get(f"{gates_url}release/verdict/").json()
        assert (verdict["verdict"], verdict["rules"][0]["verdict"]) == (expected, expected)
        assert (verdict["rules"][0]["needed_items"] is not None) == (expected == "not_enough")
        assert verdict["rules"][0]["name"] == "fleiss_kappa_quadratic"


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((0.0, 0.0), "pass"),
        ((0.0, 1.0), "fail"),
        ((0.0, 0.55), "not_enough"),
        ((0.55, 1.0), "fail"),
    ],
)
def test_gate_passes_if_all_rules_do_and_fails_if_one_does(
    rate_alike: Callable[..., None],
    api: Any,
    gates_url: str,
    create_gate: Callable[..., Any],
    limits: tuple[float, float],
    expected: str,
) -> None:
    rate_alike(40, errors=14)
    names = ("cohen_kappa", "gwet_ac1")
    rules = [
        {"measure": name, "at_least": limit} for name, limit in zip(names, limits, strict=True)
    ]
    create_gate(*rules)
    assert api.get(f"{gates_url}release/verdict/").json()["verdict"] == expected


def test_without_ratings_there_is_not_enough(
    question: Question, get_rule: Callable[..., Any]
) -> None:
    for name in ("headline", "gwet_ac1", "gold_accuracy", "label_certainty", "coverage"):
        rule = get_rule({"measure": name, "at_least": 0.5})
        assert (rule["verdict"], rule["estimate"]["value"]) == ("not_enough", None)
        assert rule["estimate"]["reason"]


def test_only_the_selected_ratings_count(
    question: Question, rate_alike: Callable[..., None], get_rule: Callable[..., Any]
) -> None:
    rate_alike(40, prefix="en")
    rate_alike(40, errors=30, prefix="de", raters=("cleo", "dan"))
    Item.objects.filter(key__startswith="en").update(attributes={"lang": "en"})
    Item.objects.filter(key__startswith="de").update(attributes={"lang": "de"})
    Rater.objects.filter(key__in=("cleo", "dan")).update(group="new")
    tomorrow = (timezone.now() + datetime.timedelta(days=1)).date().isoformat()
    for rating_filter, n_items, value in (
        ({"attributes": {"lang": "en"}}, 40, 1.0),
        ({"item.lang": "de"}, 40, 0.0),
        ({"group": "new"}, 40, 0.0),
        ({"exclude": ["cleo", "dan"]}, 40, 1.0),
        ({"from": tomorrow}, 0, None),
        ({"to": tomorrow, "kind": "human"}, 80, 0.5),
        ({"kind": "model"}, 0, None),
        ({"content_version": "current"}, 80, 0.5),
        ({"sample": "random"}, 80, 0.5),
    ):
        rule = get_rule({"measure": "gwet_ac1", "at_least": 0.9, "filter": rating_filter})
        assert rule["filter"] == rating_filter
        assert rule["estimate"]["n_items"] == n_items, rating_filter
        if value is None:
            assert rule["estimate"]["value"] is None
        else:
            assert rule["estimate"]["value"] == pytest.approx(value, abs=0.2)


def test_models_are_those_of_the_moment(
    question: Question, rate_alike: Callable[..., None], api: Any, gates_url: str,
    create_gate: Callable[..., Any], address_of_raters: str,
) -> None:  # fmt: skip
    rate_alike(30)
    rate_many(question, [(f"i{number}", "bot", "none") for number in range(30)])
    create_gate({"measure": "fleiss_kappa", "at_least": 0.5})
    before = timezone.now()
    body = [{"key": "bot", "kind": "model"}]
    assert api.post(address_of_raters, body, format="json").status_code == 200
    url = f"{gates_url}release/verdict/"
    now, then = api.get(url).json(), api.get(url, {"as_of": before.isoformat()}).json()
    assert now["rules"][0]["estimate"]["value"] == 1.0
    assert then["rules"][0]["estimate"]["value"] < 0.5
    assert now["ratings_hash"] == then["ratings_hash"]


@pytest.fixture
def address_of_raters(project: Project) -> str:
    return f"/api/v1/projects/{project.pk}/raters/"


def test_gold_accuracy_is_that_of_people_with_items_as_clusters(
    question: Question, rate_alike: Callable[..., None], get_rule: Callable[..., Any], lead: Any
) -> None:
    rate_alike(20, errors=4)
    for number in range(20):
        item = Item.objects.get(key=f"i{number}")
        set_gold_answer(item=item, question=question, answer=[number % 4], by=lead)
    rule = get_rule({"measure": "gold_accuracy", "at_least": 0.4})
    estimate = rule["estimate"]
    assert (estimate["value"], estimate["n_items"], estimate["n_ratings"]) == (36 / 40, 20, 40)
    # Sums of deviations: 16 items of +0.2, 4 of -0.8; the answers to an item differ more than by
    # chance, so that the effect is 1.
    low, high = wilson_interval(36, 40)
    assert (estimate["low_once"], estimate["high_once"]) == pytest.approx((low, high))
    assert rule["verdict"] == "pass"


def test_gold_of_the_moment_counts(
    question: Question, rate_alike: Callable[..., None], get_rule: Callable[..., Any], lead: Any
) -> None:
    rate_alike(20)
    items = [Item.objects.get(key=f"i{number}") for number in range(20)]
    for number, item in enumerate(items):
        set_gold_answer(item=item, question=question, answer=[number % 4], by=lead)
    moment = timezone.now()
    for item in items:
        set_gold_answer(item=item, question=question, answer=[0, 1], by=lead)
    rule = {"measure": "gold_accuracy", "at_least": 0.9}
    assert get_rule(rule)["estimate"]["value"] == 0.5
    then = get_rule({**rule, "at_least": 0.8}, as_of=moment.isoformat())["estimate"]
    assert then["value"] == 1.0
    assert then["low_once"] == pytest.approx(wilson_interval(20, 20)[0])  # 40 answers to 20 items


def test_label_confidence_is_the_mean_of_the_labels(
    rated_question: Question, get_rule: Callable[..., Any], lead: Any
) -> None:
    labels.recompute_question(rated_question.pk, at_once=True)
    stored = ItemLabel.objects.filter(question=rated_question, n_ratings__gt=0)
    mean = np.mean(list(stored.values_list("confidence", flat=True)))
    rule = get_rule({"measure": "label_certainty", "at_least": 0.5})
    assert rule["estimate"]["value"] == pytest.approx(mean, abs=1e-6)
    assert rule["verdict"] == "pass"
    item = stored.order_by("confidence")[0].item
    create_decision(question=rated_question, item=item, code=1, reason="x", by=lead)
    decided = get_rule({"measure": "label_certainty", "at_least": 0.55})
    assert decided["estimate"]["value"] > mean
    Consensus.objects.update(method="majority")
    undefined = get_rule({"measure": "label_certainty", "at_least": 0.6})
    assert (undefined["verdict"], undefined["estimate"]["reason"]) == (
        "not_enough", "no_confidence",
    )  # fmt: skip


def test_coverage_is_exact_and_names_the_missing_items(
    question: Question, rate_alike: Callable[..., None], get_rule: Callable[..., Any]
) -> None:
    Project.objects.update(overlap=2)
    rate_alike(15)
    for number in range(5):
        rate(question, f"single{number}", "ann", "none")
    rule = get_rule({"measure": "coverage", "at_least": 0.9})
    estimate = rule["estimate"]
    assert (estimate["value"], estimate["low"], estimate["high"]) == (0.75, 0.75, 0.75)
    assert (rule["verdict"], rule["needed_items"]) == ("fail", 3)
    assert get_rule({"measure": "coverage", "at_least": 0.75})["verdict"] == "pass"
    moment = timezone.now()
    for number in range(5):
        rate(question, f"single{number}", "ben", "none")
    assert get_rule({"measure": "coverage", "at_least": 1})["verdict"] == "pass"
    then = get_rule({"measure": "coverage", "at_least": 0.8}, as_of=moment.isoformat())
    assert then["estimate"]["value"] == 0.75


def test_open_alerts_are_those_of_the_moment(
    question: Question, make_alert: Any, get_rule: Callable[..., Any], lead: Any
) -> None:
    before = timezone.now()
    alert = make_alert(question, Rater.objects.get(key="ann"))
    opened = timezone.now()
    rule = get_rule({"measure": "open_alerts", "at_most": 0})
    assert (rule["verdict"], rule["estimate"]["value"], rule["at_most"]) == ("fail", 1, 0)
    assert get_rule({"measure": "open_alerts", "at_most": 1})["verdict"] == "pass"
    change_alert_state(alert=alert, state="resolved", reason="x", cause="real", by=lead)
    values = [
        get_rule({"measure": "open_alerts", "at_most": 2 + index}, as_of=moment.isoformat())
        for index, moment in enumerate((before, opened, timezone.now()))
    ]
    assert [rule["estimate"]["value"] for rule in values] == [0, 1, 0]


def test_same_moment_gives_the_same_document(
    question: Question, rate_alike: Callable[..., None], api: Any, gates_url: str,
    create_gate: Callable[..., Any],
) -> None:  # fmt: skip
    rate_alike(30, errors=3)
    create_gate({"measure": "headline", "at_least": 0.5}, {"measure": "coverage", "at_least": 0})
    moment = timezone.now()
    url = f"{gates_url}release/verdict/"
    first = api.get(url, {"as_of": moment.isoformat()}).json()
    rate_alike(30, errors=25, prefix="later")
    rate(question, "i29", "ben", "none")
    assert api.get(url, {"as_of": moment.isoformat()}).json() == first
    now = api.get(url).json()
    assert (now["n_ratings"], now["verdict"]) == (120, "not_enough")
    assert now["ratings_hash"] != first["ratings_hash"]
    assert first["as_of"] == moment.isoformat().replace("+00:00", "Z")


def test_large_question_is_left_to_a_worker(
    rate_alike: Callable[..., None], api: Any, gates_url: str, create_gate: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(verdict_jobs, "MAX_IMMEDIATE_RATINGS", 10)
    rate_alike(40)
    create_gate({"measure": "gwet_ac1", "at_least": 0.5})
    url = f"{gates_url}release/verdict/"
    pending = [api.get(url) for _request in range(2)]
    assert [response.status_code for response in pending] == [202, 202]
    assert pending[0]["Retry-After"]
    verdict_jobs.VERDICT_JOB.sweep()
    first, second = api.get(url), api.get(url)
    assert (first.status_code, first.json()["verdict"]) == (200, "pass")
    assert second.json() == first.json()
    assert GateVerdict.objects.count() == 1
    moment = first.json()["as_of"]
    assert api.get(url, {"as_of": moment}).json() == first.json()


def test_clusters_of_items_widen_the_interval(
    question: Question, rate_alike: Callable[..., None], get_rule: Callable[..., Any]
) -> None:
    rate_alike(60, errors=12)
    rule = {"measure": "fleiss_kappa", "at_least": 0.5}
    independent = get_rule(rule)["estimate"]
    for number in range(60):
        Item.objects.filter(key=f"i{number}").update(attributes={"document": str(number // 6)})
    Project.objects.update(cluster_attribute="document")
    question_updates.update_question(question.pk)
    clustered = get_rule({**rule, "at_least": 0.4})["estimate"]
    assert clustered["value"] == independent["value"]
    assert clustered["low"] < independent["low"]
    assert clustered["design_effect"] > 1
