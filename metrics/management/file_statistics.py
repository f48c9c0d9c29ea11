"""What a file of ratings says beside its coefficients: under other rules about missing ratings, and
of two of its raters."""

from __future__ import annotations

import csv
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from metrics.agreement.counts import tally
from metrics.agreement.explain.missing_ratings import policies
from metrics.agreement.headline import Facts
from metrics.management.rating_file import BadFile, RatingFile
from metrics.results import scores
from metrics.results.pairs.pair_details import PairDetails
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


def scored(ratings: RatingFile, source: str) -> dict[str, Any]:
    """Agreement on scores: the categories' values, or the means of a file of item,score. BadFile
    for a file that cannot be read."""
    k = len(ratings.categories)
    numbers: np.ndarray | None = np.array(ratings.values, float)
    reason = None
    if source != scores.VALUES:
        of_items = np.array(_gold_scores(Path(source), ratings.items), float)
        numbers, reason = scores.of_items(ratings.code, of_items[ratings.item], k)
    if numbers is None:
        return scores.unknown(reason or "no_scores")
    return scores.of_ratings(ratings.item, ratings.rater, ratings.code, numbers)


def _gold_scores(path: Path, items: list[str]) -> list[float]:
    """The score of each item, not-a-number for one that the file does not name."""
    found: dict[str, float] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if not {"item", "score"} <= set(reader.fieldnames or ()):
                raise BadFile(f"{path}: line 1: the columns item and score are needed.")
            for row in reader:
                score = float(row["score"] or "nan")
                if not np.isfinite(score):
                    raise BadFile(f"{path}: line {reader.line_num}: {row['score']!r} is no number.")
                found[row["item"].strip()] = score
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadFile(f"{path}: {error}") from None
    except ValueError:
        raise BadFile(f"{path}: line {reader.line_num}: the score is no number.") from None
    return [found.get(item, float("nan")) for item in items]


def scored_lines(found: dict[str, Any], categories: list[str]) -> list[str]:
    if found["reason"]:
        return ["", f"agreement on scores: undefined: {found['reason']}"]
    each = zip(categories, found["scores"], strict=True)
    lines = ["", "agreement on scores " + ", ".join(f"{name} {score:.3g}" for name, score in each)]
    for name, value in found["coefficients"].items():
        lines.append(f"  {name:<32} {told(value)}")
    return lines


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
