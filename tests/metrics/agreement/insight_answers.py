"""Reference cases of gold, consensus, planning, comparisons and alarms: what the library answers.

`answer(case, folder)` calls the functions of metrics.agreement for the case's topic and gives the
keys of its `expected`; of what is expected it reads the names alone. A topic gives name -> value,
or name -> function for what takes long; `NAME.reason` says why NAME is null.
"""

import csv
import gzip
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from metrics.agreement import consensus, label_sets, sample_size, weights
from metrics.agreement.coefficients.intraclass import mean_reliability
from metrics.agreement.comparison import alternative_annotator, kappa_differences
from metrics.agreement.counts import tally
from metrics.agreement.rater_quality import gold, repeats
from tests.metrics.agreement import insight_drift_answers

Named = dict[str, Any]


def answer(case: dict, folder: Path) -> Named:
    """The keys of the case's `expected` with the library's values; a key that the topic does not
    know is left out."""
    topic = case["topic"]
    if topic in insight_drift_answers.TOPICS:
        return insight_drift_answers.TOPICS[topic](case, Path(folder))
    found = TOPICS[topic](case, Path(folder))
    answers = {}
    for name, shape in case["expected"].items():
        known, value = _named(found, name)
        if known:
            answers[name] = _like(value, shape)
    if "reason" in answers and answers["reason"] is None:
        answers["reason"] = _first_reason(found, answers)
    return answers


def _first_reason(found: Named, answers: Named) -> str | None:
    """Why the first of the answers that are null is null."""
    for name, value in answers.items():
        reason = _named(found, f"{name}.reason")[1]
        if value is None and name != "reason" and isinstance(reason, str):
            return reason
    return None


def _named(found: Named, name: str) -> tuple[bool, Any]:
    """Whether the topic knows the name, and its value."""
    if name in found:
        value = found[name]
        return True, value() if callable(value) else value
    for pattern, make in found.get(PATTERNS, {}).items():
        match = re.fullmatch(pattern, name)
        if match:
            return True, make(*match.groups())
    if name == "reason" or name.endswith(".reason"):
        return True, _reason(found, name.removesuffix("reason").removesuffix("."))
    return False, None


PATTERNS = ""  # the key of a topic's names with numbers in them: regular expression -> function


def _reason(found: Named, name: str) -> str | None:
    """Why the value of that name is null: its own reason, that of what it belongs to, or that of
    what belongs to it."""
    above = name
    while above:
        own = f"{above}.reason"
        if own in found:
            value = found[own]
            return value() if callable(value) else value
        above = above.rpartition(".")[0]
    for key, value in found.items():
        inside = name == "" or key.startswith(f"{name}.")
        if inside and key.endswith(".reason") and value is not None:
            return value() if callable(value) else value
    return found.get("reason")


def _like(value: Any, shape: Any) -> Any:
    """Plain data; of a mapping the keys that are asked for."""
    if isinstance(value, dict):
        if isinstance(value, _Exact) or not isinstance(shape, dict):
            return {str(key): _like(part, None) for key, part in value.items()}
        named = {str(key): part for key, part in value.items()}
        return {key: _like(named.get(key), part) for key, part in shape.items()}
    if isinstance(value, (np.ndarray, list, tuple)):
        return [_like(part, None) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


# --- what cases bring


class Ratings:
    """The ratings of a case in long form; items, raters: names in the order of their codes."""

    def __init__(self, case: dict, folder: Path, *, part: dict | None = None) -> None:
        rows = _rows(part or case, folder)
        rows = [row for row in rows if row[2] is not None and row[2] != ""]
        self.items = sorted({str(row[0]) for row in rows})
        self.raters = sorted({str(row[1]) for row in rows})
        declared = case.get("categories")
        self.labels = [row[2] for row in rows]
        if declared is None:
            declared = sorted({str(label) for label in self.labels}, key=_numbers_first)
        self.categories = [str(category) for category in declared]
        place = {name: at for at, name in enumerate(self.categories)}
        self.item = _coded([str(row[0]) for row in rows], self.items)
        self.rater = _coded([str(row[1]) for row in rows], self.raters)
        self._place = place

    @property
    def code(self) -> np.ndarray:
        codes = []
        for label in self.labels:
            if str(label) not in self._place:
                raise ValueError(f"unknown label {label!r}; one of {', '.join(self.categories)}")
            codes.append(self._place[str(label)])
        return np.array(codes, np.int64)

    @property
    def k(self) -> int:
        return len(self.categories)

    @property
    def long(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.item, self.rater, self.code

    def table(self) -> np.ndarray:
        """(items, raters) codes, -1 for missing."""
        codes = np.full((len(self.items), len(self.raters)), -1)
        codes[self.item, self.rater] = self.code
        return codes

    def by_item(self, values: Any) -> dict:
        return dict(zip(self.items, values, strict=True))


def _numbers_first(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _coded(names: list[str], known: list[str]) -> np.ndarray:
    place = {name: at for at, name in enumerate(known)}
    return np.array([place[name] for name in names], np.int64)


def _rows(part: dict, folder: Path) -> list:
    """Rows of item, rater and label, one an item and rater."""
    if "rows" in part:
        rows = [_row(row) for row in part["rows"]]
    else:
        path = folder / part["file"]
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            rows = [(row["item"], row["rater"], row["label"]) for row in csv.DictReader(file)]
    last = str(part.get("keep", "first")).startswith("last")
    kept: dict[tuple[str, str], Any] = {}
    for row in rows:
        key = str(row[0]), str(row[1])
        if last or key not in kept:
            kept[key] = row
    return list(kept.values())


def _row(row: Any) -> tuple[Any, Any, Any]:
    if isinstance(row, dict):
        return row["item"], row["rater"], row["label"]
    return row[0], row[1], row[2]


def _weights(case: dict, k: int) -> np.ndarray | None:
    """No weights, weights by name, or a matrix."""
    options = case.get("options") or {}
    given = case.get("weights", options.get("weights") if isinstance(options, dict) else None)
    if given is None or isinstance(given, str):
        return None if given in (None, "none") else weights.get_weight_matrix(given, k)
    return np.array(given, float)


def _values(case: dict, categories: list[str]) -> list[float] | None:
    """Numbers of the categories: given, or the labels themselves on scales of numbers."""
    given = case.get("values")
    if given is not None:
        return [float(value) for value in given]
    if case.get("scale") in ("interval", "ratio"):
        return [float(category) for category in categories]
    return None


def _told(name: str, value: Mapping[str, object] | None) -> Named:
    """A value with its interval under NAME, NAME_se and so on."""
    value = value or dict.fromkeys(("value", "se", "low", "high", "reason"))
    told = {name: value["value"], f"{name}.reason": value["reason"]}
    for part in ("se", "low", "high"):
        told[f"{name}_{part}"] = value[part]
        if value[part] is None:
            told[f"{name}_{part}.reason"] = value["reason"] or "too_few_items"
    return told


# --- topics


def gold_topic(case: dict, folder: Path) -> Named:
    options = case.get("options") or {}
    found: Named = {}
    for name, table in (case.get("gold_tables") or {}).items():
        k = len(table)
        values = _values(case, [str(category) for category in case.get("categories") or range(k)])
        score = gold.compute_score(table, _weights(case, k), values)
        found |= {
            f"{name}.n": score.n,
            f"{name}.right": score.right,
            f"{name}.accuracy": score.accuracy,
            f"{name}.low": score.low,
            f"{name}.high": score.high,
            f"{name}.chance": score.chance,
            f"{name}.worded": score.has_enough_answers,
        }
        found |= _told(f"{name}.kappa", score.kappa) | _told(f"{name}.bias", score.bias)
        found[f"{name}.reason"] = score.reason
    for name, answers in (case.get("answers") or {}).items():
        exam = gold.evaluate_exam(answers, **options.get("exam", {}))
        course = gold.compute_evidence(answers, options.get("p0", 0.7))
        threshold = options.get("threshold", options.get("pause", gold.PAUSE_EVIDENCE))
        found |= {
            f"{name}.exam": exam.outcome,
            f"{name}.exam_at": exam.n_answers,
            f"{name}.exam_llr": exam.llr,
            f"{name}.evidence": course,
            f"{name}.paused_at": gold.find_pause(course, threshold),
        }
    if "suspects" in case:
        found |= _suspects(case)
    return found


def _suspects(case: dict) -> Named:
    given, categories = case["suspects"], case.get("categories") or []
    options = given.get("options") or {}

    def code(answer: Any) -> int:
        return categories.index(answer) if isinstance(answer, str) else int(answer)

    answers = {}
    for item, by_rater in given["answers"].items():
        said = {rater: answer for rater, answer in by_rater.items() if answer is not None}
        answers[item] = {rater: code(answer) for rater, answer in said.items()}
    keys = {item: code(answer) for item, answer in given["gold"].items()}
    prior = {name: options[old] for name, old in _SUSPECT_OPTIONS.items() if old in options}
    k = len(categories) if categories else given["k"]
    wrong = gold.find_suspect_gold(answers, keys, k, **prior)
    better = {
        item: categories[one.likely_code] if categories else one.likely_code
        for item, one in wrong.items()
        if one.probability >= 0.5
    }
    return {
        "gold_wrong": {item: one.probability for item, one in wrong.items()},
        "gold_better": _Exact(better),
        "gold_listed": sorted(item for item, one in wrong.items() if one.is_suspect),
    }


_SUSPECT_OPTIONS = {"rho": "rho", "right": "a", "wrong": "b"}


class _Exact(dict):
    """A mapping that is compared whole: which keys it has is part of the answer."""


def repeats_topic(case: dict, folder: Path) -> Named:
    tables = case["repeat_tables"]
    k = len(case["categories"]) if "categories" in case else len(next(iter(tables.values())))
    values = _values(case, [str(category) for category in case.get("categories") or range(k)])
    counts = np.array(list(tables.values()), np.int64).reshape(-1, k, k)
    found = repeats.compute_intra_rater_agreement(counts, _weights(case, k), values)
    named: Named = {}
    for name, one in zip(tables, found.raters, strict=True):
        named |= {f"{name}.{key}": value for key, value in _repeated(one).items()}
        named[f"{name}.reason"] = one.reason
    return named | _repeated(found.project) | {"reason": found.project.reason}


def _repeated(one: repeats.RepeatAgreement) -> Named:
    return {
        "kappa": one.kappa["value"],
        "se": one.kappa["se"],
        "low": one.kappa["low"],
        "high": one.kappa["high"],
        "observed": one.kappa["observed"],
        "expected": one.kappa["expected"],
        "same": one.same,
        "same_low": one.same_low,
        "same_high": one.same_high,
        "n": one.n,
        "kappa.reason": one.reason,
    } | _told("difference", one.shift)


def consensus_topic(case: dict, folder: Path) -> Named:
    data = Ratings(case, folder)
    options = case.get("options") or {}
    values = _values(case, data.categories)
    models = _Models(data, options, case.get("gold") or options.get("gold"))
    votes = consensus.majority_vote(data.item, data.code, data.k)
    fit = models.fit("dawid_skene")

    def labelled(codes: np.ndarray) -> dict:
        return data.by_item([data.categories[code] if code >= 0 else None for code in codes])

    def derived(make: Callable[[np.ndarray], Any]) -> Callable[[], Any]:
        return lambda: None if fit().reason else data.by_item(make(fit().posterior))

    def labels(make: Callable[[np.ndarray], np.ndarray]) -> Callable[[], Any]:
        return lambda: None if fit().reason else labelled(make(fit().posterior))

    def information() -> dict | None:
        if fit().reason:
            return None
        told = consensus.expected_information(fit().posterior, fit().confusion)
        return data.by_item([dict(zip(data.raters, row, strict=True)) for row in told])

    def sets(level: float = 0.95) -> Any:
        rows = consensus.credible_label_sets(fit().posterior, level)
        named = [[data.categories[at] for at in np.flatnonzero(row)] for row in rows]
        return data.by_item(named)

    found: Named = {
        "majority": labelled(votes.code),
        "majority_share": data.by_item(votes.share),
        "majority.reason": data.by_item([None if code >= 0 else "tied" for code in votes.code]),
        "weighted_majority": lambda: labelled(
            consensus.weighted_majority_vote(*data.long, data.k).code
        ),
        "posterior_median": labels(consensus.posterior_medians),
        "posterior_mode": labels(consensus.posterior_modes),
        "posterior_mean_rank": derived(consensus.posterior_means),
        "posterior_mean": derived(lambda posterior: consensus.posterior_means(posterior, values)),
        "information_nats": information,
        "label_set": lambda: None if fit().reason else sets(),
        "label_set_95": lambda: None if fit().reason else sets(),
        "reason": lambda: fit().reason,
    }
    for name in ("posterior_median", "posterior_mode", "posterior_mean_rank", "posterior_mean"):
        found[f"{name}.reason"] = lambda: fit().reason
    found["information_nats.reason"] = lambda: fit().reason
    found["dawid_skene.label"] = labels(consensus.posterior_modes)
    for name in ("dawid_skene", "dawid_skene_ml"):
        found[f"{name}.reason"] = lambda name=name: models.fit(name)().reason
    what = "|".join(_TOLD)
    found[PATTERNS] = {rf"(dawid_skene|dawid_skene_ml)\.({what})(?:_after_(\d+))?": models.told}
    return found


_TOLD = (
    "posterior",
    "classes",
    "confusion",
    "pooled",
    "certainty",
    "certainty_mean",
    "expected_errors",
    "accuracy",
    "bias",
    "rounds",
    "log_posterior",
)


class _Models:
    """Fits of a case, each made once and only when asked for."""

    def __init__(self, data: Ratings, options: dict, truth: dict | None) -> None:
        self.data, self.options = data, options
        self.truth = truth
        self.made: dict[tuple[str, int | None], consensus.DawidSkene] = {}

    def fit(self, name: str, rounds: int | None = None) -> Callable[[], consensus.DawidSkene]:
        def make() -> consensus.DawidSkene:
            key = name, rounds
            if key not in self.made:
                self.made[key] = self._fitted(name, rounds)
            return self.made[key]

        return make

    def told(self, name: str, what: str, rounds: str | None) -> Any:
        fit = self.fit(name, int(rounds) if rounds else None)()
        data = self.data
        if fit.reason and what != "rounds":
            return None
        made: dict[str, Callable[[], Any]] = {
            "posterior": lambda: data.by_item(fit.posterior),
            "classes": lambda: fit.classes,
            "confusion": lambda: dict(zip(data.raters, fit.confusion, strict=True)),
            "pooled": lambda: fit.pooled_confusion,
            "certainty": lambda: data.by_item(fit.certainty),
            "certainty_mean": lambda: float(fit.certainty.mean()),
            "expected_errors": lambda: fit.expected_errors,
            "accuracy": lambda: dict(zip(data.raters, fit.accuracy, strict=True)),
            "bias": lambda: dict(zip(data.raters, fit.bias, strict=True)),
            "rounds": lambda: fit.rounds,
            "log_posterior": lambda: fit.log_posterior[-1],
        }
        return made[what]()

    def _fitted(self, name: str, rounds: int | None) -> consensus.DawidSkene:
        options, data = self.options, self.data
        settings: dict[str, Any] = {
            "rounds": rounds or int(options.get("rounds", 5_000)),
            "tolerance": 0.0 if rounds else _number_in(options.get("tolerance", 1e-10)),
        }
        if name == "dawid_skene_ml":
            settings |= {"prior": 0.0, "classes": 0.0}
        else:
            known = ("prior", "diagonal", "classes")
            settings |= {key: options[key] for key in known if key in options}
        if self.truth:
            rated = [item for item in self.truth if str(item) in data.items]
            codes = [data.categories.index(str(self.truth[item])) for item in rated]
            settings["fixed"] = (_coded([str(item) for item in rated], data.items), codes)
        if "majority" in str(options.get("start", "")):
            counts = np.zeros((len(data.items), data.k))
            np.add.at(counts, (data.item, data.code), 1)
            leading = counts == counts.max(axis=1, keepdims=True)
            settings["start"] = leading / leading.sum(axis=1, keepdims=True)
        return consensus.fit_dawid_skene(*data.long, data.k, **settings)


def _number_in(text: Any) -> float:
    """The number of a tolerance that may be told in words."""
    if isinstance(text, (int, float)):
        return float(text)
    found = re.search(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", text)
    assert found, f"no number in {text!r}"
    return float(found.group())


def alt_test_topic(case: dict, folder: Path) -> Named:
    data = Ratings(case, folder)
    options = case.get("options") or {}
    name_of_model = str(case["model_rater"])
    humans = [name for name in data.raters if name != name_of_model]
    codes = data.table()
    model = np.full(len(data.items), -1)
    if name_of_model in data.raters:
        model = codes[:, data.raters.index(name_of_model)]
    others = codes[:, [data.raters.index(name) for name in humans]]
    score = str(options.get("score", "accuracy"))
    score = "rmse" if "rmse" in score.lower() else score
    by_weights = score not in alternative_annotator.SCORES
    matrix = _weights(case, data.k)
    if by_weights:  # "linear", "quadratic", "agreement weights"
        named = score if score in weights.RANK_WEIGHTINGS else "linear"
        matrix = weights.get_weight_matrix(named, data.k) if matrix is None else matrix
    values = _values(case, data.categories)
    if (
        values is None
        and score == "rmse"
        and all(_numbers_first(c)[0] == 0 for c in data.categories)
    ):
        values = [float(category) for category in data.categories]
    known = {key: options[key] for key in ("epsilon", "q", "least") if key in options}
    found = kappa_differences.run_alternative_annotator_test(
        others,
        model,
        score="weights" if by_weights else score,
        values=values,
        weights=matrix,
        **known,
    )
    named_values: Named = {
        "winning_rate": found.winning_rate,
        "advantage": found.advantage,
        "passed": found.passed,
        "reason": found.reason,
    }
    for name in ("winning_rate", "advantage", "passed"):
        named_values[f"{name}.reason"] = found.reason
    for name, one in zip(humans, found.humans, strict=True):
        named_values |= {
            f"{name}.wins": [one.win, one.tie, one.lose],
            f"{name}.n": one.n,
            f"{name}.advantage": one.advantage,
            f"{name}.p": one.p,
            f"{name}.rejected": one.rejected,
            f"{name}.reason": one.reason,
        }
    return named_values


def against_topic(case: dict, folder: Path) -> Named:
    if "cells" in case:
        cells = [(cell[0], cell[1]) for cell in case["cells"]]
        n_items = [cell[2] for cell in case["cells"]]
    else:
        cells, n_items = _cells(Ratings(case, folder), str(case["model_rater"]))
    k = len(case["categories"]) if "categories" in case else len(cells[0][1])
    found = kappa_differences.compare_model_with_humans(cells, n_items, _weights(case, k))
    margin = (case.get("options") or {}).get("margin", 0.05)
    return {
        "human_human": found.human_human,
        "model_human": found.model_human,
        "difference": found.difference,
        "difference_se": found.se,
        "se": found.se,
        "low": found.low,
        "high": found.high,
        "n_items": found.n_items,
        "not_inferior": found.is_not_inferior(margin),
        "human_human.reason": found.human_reason,
        "model_human.reason": found.model_reason,
        "difference.reason": found.reason,
        "difference_se.reason": found.reason or found.se_reason,
        "low.reason": found.reason or found.se_reason,
        "high.reason": found.reason or found.se_reason,
        "reason": found.reason or found.se_reason,
    }


def _cells(data: Ratings, model: str) -> tuple[list, list]:
    codes, own = data.table(), data.raters.index(model)
    counted: dict[tuple[int, tuple[int, ...]], int] = {}
    for row in codes:
        if row[own] < 0:
            continue
        others = np.delete(row, own)
        human = np.bincount(others[others >= 0], minlength=data.k)
        cell = int(row[own]), tuple(human.tolist())
        counted[cell] = counted.get(cell, 0) + 1
    return list(counted), list(counted.values())


def before_after_topic(case: dict, folder: Path) -> Named:
    before, after = (_patterns(case, case[side], folder) for side in ("before", "after"))
    matrix = _weights(case, before[0].shape[1])
    found = kappa_differences.compare_before_after(
        before, after, matrix, shared=_both(case, folder)
    )
    options = case.get("options") or {}
    drawn = {
        key: options[name] for key, name in (("seed", "seed"), ("replicates", "permutations"))
        if name in options
    }  # fmt: skip
    named = _told("before", found.before) | _told("after", found.after)
    named |= {
        "difference": found.difference,
        "se": found.se,
        "low": found.low,
        "high": found.high,
        "df": found.df,
        "p": found.p,
        "permutation_p": lambda: kappa_differences.permutation_p_value(
            before, after, matrix, **drawn
        ),
        "reason": found.reason or found.se_reason,
        "difference.reason": found.reason,
    }
    for name in ("se", "low", "high"):
        named[f"{name}.reason"] = found.reason or found.se_reason
    for name in ("df", "p"):
        named[f"{name}.reason"] = found.reason or found.test_reason
    return named


def _patterns(case: dict, part: dict, folder: Path) -> tuple[Any, Any]:
    if "patterns" in part:
        k = len(case["categories"]) if "categories" in case else len(part["patterns"][0])
        return np.array(part["patterns"], np.int64).reshape(-1, k), part["n_items"]
    data = Ratings(case, folder, part=part)
    counted = tally.count_patterns(data.item, data.code, data.k)
    return counted.counts, counted.n_items


def _both(case: dict, folder: Path) -> tuple[Any, Any, Any] | None:
    """Items in both sets: told as patterns, or those of the same name in both sets' rows."""
    for name in ("both", "overlap", "shared", "pairs"):
        part = case.get(name)
        if isinstance(part, dict):
            return part["before"], part["after"], part["n_items"]
        if part:  # before, after and number of items each
            first, second, n_items = zip(*part, strict=True)
            return first, second, n_items
    if "rows" not in case["before"] or "rows" not in case["after"]:
        return None
    sides = []
    for side in ("before", "after"):
        data = Ratings(case, folder, part=case[side])
        counts = np.zeros((len(data.items), data.k), np.int64)
        np.add.at(counts, (data.item, data.code), 1)
        sides.append(data.by_item(counts))
    shared = sorted(sides[0].keys() & sides[1].keys())
    if not shared:
        return None
    before, after = ([side[item] for item in shared] for side in sides)
    return before, after, np.ones(len(shared))


def reliability_topic(case: dict, folder: Path) -> Named:
    data = Ratings(case, folder)
    options = case.get("options") or {}
    numbers = _numbers_of(case, data)
    found = mean_reliability.estimate_components(data.item, data.rater, numbers)
    named: Named = {
        "variance.item": found.item,
        "variance.rater": found.rater,
        "variance.rest": found.rest,
        "variance.reason": found.reason,
        "negative": list(found.negative),
        "reason": found.reason,
    }
    for name in ("item", "rater", "rest"):
        named[f"share.{name}"] = found.shares[name] if found.shares else None

    def mean_of(m: str, kind: str, what: str | None = None) -> Any:
        one = mean_reliability.compute_reliability(found, int(m))
        if what == ".reason":
            return getattr(one, f"{kind}_reason")
        if what is None:
            return getattr(one, kind)
        limits = mean_reliability.compute_limits(data.item, data.rater, numbers, int(m))
        if what in (".low.reason", "_low.reason", ".high.reason", "_high.reason"):
            return limits.reason
        bounds = getattr(limits, kind)
        return None if bounds is None else bounds[what.endswith("high")]

    def needed(kind: str, what: str | None) -> Any:
        one = mean_reliability.compute_raters_needed(found, float(options["target"]))
        return getattr(one, f"{kind}_reason" if what else kind)

    kinds = "(absolute|relative)"
    bounds = r"(\.reason|[._](?:low|high)(?:\.reason)?)?"
    named[PATTERNS] = {
        rf"one_{kinds}{bounds}": lambda kind, what: mean_of("1", kind, what),
        rf"mean_of_(\d+)_{kinds}{bounds}": mean_of,
        rf"raters_for_target_{kinds}(\.reason)?": needed,
    }
    return named


def _numbers_of(case: dict, data: Ratings) -> list[float]:
    """The ratings as numbers: category values, ranks of ordered categories, or as they stand."""
    declared = case.get("categories") is not None
    values = _values(case, data.categories) if declared else None
    if values is not None:
        return [values[code] for code in data.code]
    if declared and case.get("scale") not in ("interval", "ratio"):
        return [float(code + 1) for code in data.code]
    return [float(label) for label in data.labels]


def planning_topic(case: dict, folder: Path) -> Named:
    found: Named = {}
    for name, question in case["questions"].items():
        try:
            found |= {f"{name}.{key}": value for key, value in _planned(question).items()}
        except ValueError:
            found |= {f"{name}.items": None, f"{name}.more": None, f"{name}.reason": "refused"}
    return found


def _planned(question: dict) -> Named:
    width = question["half_width"]
    if question["kind"] == "after":
        needed = sample_size.compute_items_needed(question["se"], question["n"], width)
        return {"items": needed.items, "more": needed.additional, "reason": needed.reason}
    if question["kappa"] is None:
        return {"items": None, "reason": "too_few_items"}
    prevalence = question.get("prevalence", question.get("prevalences", []))
    items = sample_size.compute_items_needed_before(question["kappa"], prevalence, width)
    return {"items": items, "reason": None}


def label_sets_topic(case: dict, folder: Path) -> Named:
    rows = [row for row in _rows(case, folder) if row[2] is not None]
    items = sorted({str(row[0]) for row in rows})
    item = _coded([str(row[0]) for row in rows], items)
    found = label_sets.compute_agreement(item, [row[2] for row in rows], case["labels"])
    named = _told("alpha_jaccard", found.jaccard) | _told("alpha_masi", found.masi)
    for label, value in found.labels.items():
        named |= _told(f"alpha.{label}", value)
    return named


TOPICS: dict[str, Callable[[dict, Path], Named]] = {
    "gold": gold_topic,
    "repeats": repeats_topic,
    "consensus": consensus_topic,
    "alt_test": alt_test_topic,
    "model_against_humans": against_topic,
    "before_after": before_after_topic,
    "reliability": reliability_topic,
    "planning": planning_topic,
    "label_sets": label_sets_topic,
}
