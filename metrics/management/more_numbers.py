"""What a file of ratings says beside its coefficients: under other rules about missing ratings, and
of two of its raters."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from metrics.agreement.counts import tally
from metrics.agreement.explaining.missing import policies
from metrics.agreement.headline import Facts
from metrics.management.rating_file import RatingFile
from metrics.readings.pair_details import PairDetails
from metrics.scale import QuestionScale


def missing_rules(ratings: RatingFile, scale: QuestionScale) -> list[dict[str, Any]]:
    """Each rule about missing ratings: its coefficient, READING, and what it leaves out."""
    counted = tally.patterns(ratings.item, ratings.code, scale.k)
    n_raters = len(ratings.raters)
    found = policies(
        counted.counts,
        counted.n_items,
        n_raters=n_raters,
        scale=scale.kind,
        weighting=Facts(scale.kind, n_raters, scale.weights).weighting,
        values=scale.values,
        weight_matrix=scale.matrix,
    )
    return [asdict(rule) for rule in found]


def two_raters(ratings: RatingFile, text: str, scale: QuestionScale) -> dict[str, Any]:
    """All that is known of the two raters in `text`; ValueError when they are not two."""
    names = [part.strip() for part in text.split(",")]
    unknown = [name for name in names if name not in ratings.raters]
    if unknown or len(set(names)) != 2 or len(names) != 2:
        known = ", ".join(ratings.raters[:10])
        raise ValueError(f"--pair: two different raters of the file are needed; there is {known}")
    a, b = (ratings.raters.index(name) for name in names)
    mine = (ratings.rater == a) | (ratings.rater == b)
    found = tally.pair_tables(
        ratings.item[mine], (ratings.rater[mine] == b).astype(int), ratings.code[mine], scale.k
    )
    table = found.tables.sum(axis=0)
    details = PairDetails.from_table(table, scale)
    return {
        "raters": names,
        "table": table.tolist(),
        "kappas": details.kappas,
        "coefficients": details.others,
        "categories": dict(details.categories),
        "tests": [vars(test) for test in details.tests],
    }


def rule_lines(rules: list[dict[str, Any]]) -> list[str]:
    """A line a rule; none where nothing is missing."""
    if not any(rule["left_out_items"] or rule["single_items"] for rule in rules):
        return []
    lines = ["", "rules about missing ratings"]
    for rule in rules:
        left = f"{rule['left_out_items']} items and {rule['left_out_ratings']} ratings left out"
        name = f"{rule['name']} ({rule['coefficient']})"
        lines.append(f"  {name:<44} {told(rule['reading'])}; {left}")
    return lines


def pair_lines(pair: dict[str, Any]) -> list[str]:
    """Two raters: their table, their kappas with what chance gives, and the rest."""
    lines = ["", f"{pair['raters'][0]} (rows) and {pair['raters'][1]}"]
    lines += ["  " + " ".join(f"{cell:>6}" for cell in row) for row in pair["table"]]
    for weights, value in pair["kappas"].items():
        text = told(value)
        if value["value"] is not None:
            text += f"; P_o {value['observed']:.3f}, P_e {value['expected']:.3f}"
        lines.append(f"  {'cohen_kappa, ' + weights:<32} {text}")
    for name, value in pair["coefficients"].items():
        lines.append(f"  {name:<32} {told(value)}")
    for label, value in pair["categories"].items():
        lines.append(f"  {'kappa of ' + label:<32} {told(value)}")
    for test in pair["tests"]:
        if test["reason"]:
            lines.append(f"  {test['name']:<32} undefined: {test['reason']}")
            continue
        chi2 = "" if test["chi2"] is None else f"{test['chi2']:.3f}, df {test['df'] or 1}, "
        lines.append(f"  {test['name']:<32} {chi2}{p_value(test['p'])}")
    return lines


def told(reading: Any) -> str:
    """A READING with its interval, or why it has no value."""
    if reading["value"] is None:
        return f"undefined: {reading['reason']}"
    value = f"{reading['value'] + 0.0:.3f}".replace("-0.000", "0.000")
    if reading["low"] is None or reading["high"] is None:
        return value
    return f"{value} [{reading['low']:.3f}, {reading['high']:.3f}]"


def p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
