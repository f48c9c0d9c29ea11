"""Decide a gate at a moment, and describe the verdict as a signed document.

The interval of an estimate is a confidence sequence (counts/wider_intervals.py of
metrics.agreement): a gate may be asked after every batch and still passes by luck in at most 5% of
all cases.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from typing import Any

from metrics.agreement.counts.wider_intervals import widen_to_sequence
from metrics.agreement.estimate import Value, build_proportion, wilson_interval
from metrics.agreement.rater_quality.gold import compute_team_accuracy
from metrics.agreement.sample_size import compute_items_until_verdict
from metrics.rating_history import HistoricalRatings
from metrics.results.stored_values import build_undefined_value
from quality.gates import signing
from quality.models import Gate, VerdictValue

from .inputs import GateInputs, merge_ratings
from .rules import AT_MOST, COVERAGE, GOLD_ACCURACY, HEADLINE, LABEL_CONFIDENCE, OPEN_ALERTS, Rule
from .signing import Document


def compute_measure(rule: Rule, inputs: GateInputs) -> tuple[str, Value]:
    """Return (name, value): the quantity that a rule measures, and its value with the 95% interval.

    The interval of coverage and of open alerts, which are exact, is their value. For the measure
    HEADLINE, the name is that of the headline coefficient, or HEADLINE if there are no ratings.
    """
    name = rule.measure.name
    if name == GOLD_ACCURACY:
        responses = inputs.list_gold_responses(rule.filter)
        items, right = zip(*responses, strict=True) if responses else ((), ())
        return name, compute_team_accuracy(right, items)
    if name == LABEL_CONFIDENCE:
        return name, _compute_label_confidence(rule, inputs)
    if name == COVERAGE:
        covered = inputs.compute_coverage(rule.filter)
        n = covered.n_items
        share = covered.n_covered / n if n else None
        interval = None if share is None else (share, share)
        reason = None if n else "no_items"
        return name, build_proportion(
            share, interval, n_items=n, n_ratings=covered.n_ratings, reason=reason
        )
    if name == OPEN_ALERTS:
        number = inputs.count_open_alerts()
        return name, {**build_undefined_value(""), "value": number, "low": number, "high": number,
                      "reason": None}  # fmt: skip
    facts = inputs.get_agreement(rule.filter)
    if facts is None:
        return name, build_undefined_value("no_pairable_items")
    name = facts.headline["name"] if name == HEADLINE else name
    value: Any = facts.get_value(name)
    return name, value


def _compute_label_confidence(rule: Rule, inputs: GateInputs) -> Value:
    labels = inputs.fit_labels(rule.filter)
    n_items, n_ratings = len(labels.item), int(labels.ratings.sum())
    if labels.confidence is None or not n_items:
        reason = labels.reason or "no_confidence"
        return build_proportion(None, None, n_items=n_items, n_ratings=n_ratings, reason=reason)
    mean = float(labels.confidence.mean())
    interval = wilson_interval(mean * n_items, n_items)
    return build_proportion(mean, interval, n_items=n_items, n_ratings=n_ratings)


FORMAT = 1
EXACT_MEASURES = (COVERAGE, OPEN_ALERTS)


def compute_verdict(
    gate: Gate, moment: datetime.datetime, inputs: GateInputs | None = None
) -> Document:
    """Return the signed verdict on a gate at a moment, which must not be in the future.

    It is the same whenever it is computed, unless something has changed that has no history: the
    gate's rules, the question's tolerance, and what quality.gates.inputs names. ``inputs``: those
    of the moment, if they are loaded already; None: load them.
    """
    inputs = inputs or GateInputs(gate.question, moment)
    rules = [Rule.from_stored(stored) for stored in gate.rules]
    outcomes = [_judge_rule(rule, inputs) for rule in rules]
    ratings = merge_ratings(list(_iter_used_ratings(rules, inputs)))
    document = {
        "format": FORMAT,
        "project": gate.project_id,
        "gate": gate.name,
        "question": gate.question.key,
        "verdict": combine_verdicts(outcome["verdict"] for outcome in outcomes),
        "rules": outcomes,
        "as_of": format_moment(moment),
        "scale_version": inputs.scale_version,
        "gold_tolerance": gate.question.effective_gold_tolerance,
        "n_ratings": len(ratings.rows),
        "ratings_hash": ratings.compute_digest(),
    }
    return signing.get_or_create_signer().sign(document)


def combine_verdicts(verdicts: Iterable[str]) -> str:
    """Return the verdict of a gate from the verdicts of its rules.

    It is fail if one fails, pass if all pass, else not enough data.
    """
    distinct = set(verdicts)
    if VerdictValue.FAIL in distinct:
        return VerdictValue.FAIL.value
    return (VerdictValue.PASS if distinct == {VerdictValue.PASS} else VerdictValue.NOT_ENOUGH).value


def format_moment(moment: datetime.datetime) -> str:
    """Return a moment in UTC as the API writes times."""
    return moment.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")


def _judge_rule(rule: Rule, inputs: GateInputs) -> Document:
    """Return the rule with its verdict, estimate and the number of items that it still needs.

    The number is None if the rule needs no more items, or if it cannot be computed.
    """
    name, value = compute_measure(rule, inputs)
    is_exact = rule.measure.name in EXACT_MEASURES
    estimate = value if is_exact else _apply_confidence_sequence(value, rule)
    low, high = estimate["low"], estimate["high"]
    is_maximum = rule.measure.limit_field == AT_MOST
    if low is None or high is None:
        verdict = VerdictValue.NOT_ENOUGH
    elif high <= rule.limit if is_maximum else low >= rule.limit:
        verdict = VerdictValue.PASS
    elif low > rule.limit if is_maximum else high < rule.limit:
        verdict = VerdictValue.FAIL
    else:
        verdict = VerdictValue.NOT_ENOUGH
    needed_items = None
    if rule.measure.name == COVERAGE and verdict != VerdictValue.PASS and value["n_items"]:
        n_required = math.ceil(rule.limit * value["n_items"] - 1e-9)
        needed_items = n_required - round((value["value"] or 0) * value["n_items"])
    elif verdict == VerdictValue.NOT_ENOUGH:
        needed_items = compute_items_until_verdict(value, rule.limit)
    return {
        **rule.stored,
        "name": name,
        "verdict": verdict.value,
        "estimate": {**estimate, "low_once": value["low"], "high_once": value["high"]},
        "needed_items": needed_items,
    }


def _apply_confidence_sequence(value: Value, rule: Rule) -> Value:
    """Return the value with the interval of its confidence sequence instead of the usual one.

    The lower end is at least the lowest possible value of the rule's measure.
    """
    widened = widen_to_sequence(value)
    if widened["low"] is not None:
        widened["low"] = max(widened["low"], rule.measure.lowest)
    return widened


def _iter_used_ratings(rules: list[Rule], inputs: GateInputs) -> Iterable[HistoricalRatings]:
    """Yield the ratings and check answers that the rules evaluate, once for each filter."""
    measures_by_filter: dict[Any, set[str]] = {}
    for rule in rules:
        if rule.measure.name != OPEN_ALERTS:
            measures_by_filter.setdefault(rule.filter, set()).add(rule.measure.name)
    for rating_filter, names in measures_by_filter.items():
        yield inputs.get_ratings(rating_filter)
        if GOLD_ACCURACY in names:
            yield inputs.get_check_answers(rating_filter)
