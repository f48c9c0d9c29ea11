"""Values of the measures of gates, from the ratings of a moment."""

from __future__ import annotations

from typing import Any

from metrics.agreement.estimate import Value, build_proportion, wilson_interval
from metrics.agreement.rater_quality.gold import compute_team_accuracy
from metrics.results.values import build_undefined_value

from .inputs import GateInputs
from .measures import COVERAGE, GOLD_ACCURACY, HEADLINE, LABEL_CERTAINTY, OPEN_ALERTS
from .rules import Rule


def compute_measure(rule: Rule, inputs: GateInputs) -> tuple[str, Value]:
    """Return the name of what is measured, and its Value with the interval of one look."""
    name = rule.measure.name
    if name == GOLD_ACCURACY:
        responses = inputs.list_gold_responses(rule.filter)
        items, right = zip(*responses, strict=True) if responses else ((), ())
        return name, compute_team_accuracy(right, items)
    if name == LABEL_CERTAINTY:
        return name, _compute_label_certainty(rule, inputs)
    if name == COVERAGE:
        covered = inputs.count_covered_items(rule.filter)
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


def _compute_label_certainty(rule: Rule, inputs: GateInputs) -> Value:
    labels = inputs.fit_labels(rule.filter)
    n_items, n_ratings = len(labels.item), int(labels.ratings.sum())
    if labels.confidence is None or not n_items:
        reason = labels.reason or "no_confidence"
        return build_proportion(None, None, n_items=n_items, n_ratings=n_ratings, reason=reason)
    mean = float(labels.confidence.mean())
    interval = wilson_interval(mean * n_items, n_items)
    return build_proportion(mean, interval, n_items=n_items, n_ratings=n_ratings)
