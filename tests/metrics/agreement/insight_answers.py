"""Compute the library's answers to the reference cases in truth_insight.

The cases cover gold, repeats, consensus, planning, comparisons and alerts. `answer(case, folder)`
calls the functions of metrics.agreement for the case's topic and returns the keys of its
`expected`; only the names in `expected` are read, not the values. A topic returns name -> value,
or name -> function for values that take long; `NAME.reason` says why NAME is null.
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
from metrics.agreement.comparison import before_after, model_comparison
from metrics.agreement.counts import tally
from metrics.agreement.estimate import t_quantile
from metrics.agreement.rater_quality import gold, repeats
from tests.metrics.agreement import insight_drift_answers

Named = dict[str, Any]


def answer(case: dict, folder: Path) -> Named:
    """Return the library's values for the keys of the case's `expected`.

    A key that the topic does not have is left out.
    """
    topic = case["topic"]
    if topic in insight_drift_answers.TOPICS:
        return insight_drift_answers.TOPICS[topic](case, Path(folder))
    values = TOPICS[topic](case, Path(folder))
    answers = {}
    for name, shape in case["expected"].items():
        exists, value = _find_value(values, name)
        if exists:
            answers[name] = _to_plain_data(value, shape)
    if "reason" in answers and answers["reason"] is None:
        answers["reason"] = _find_first_reason(values, answers)
    return answers


def _find_first_reason(values: Named, answers: Named) -> str | None:
    """Return the reason of the first answer that is null."""
    for name, value in answers.items():
        reason = _find_value(values, f"{name}.reason")[1]
        if value is None and name != "reason" and isinstance(reason, str):
            return reason
    return None


def _find_value(values: Named, name: str) -> tuple[bool, Any]:
    """Return (exists, value) for a name of the topic."""
    if name in values:
        value = values[name]
        return True, value() if callable(value) else value
    for pattern, compute in values.get(PATTERNS, {}).items():
        match = re.fullmatch(pattern, name)
        if match:
            return True, compute(*match.groups())
    if name == "reason" or name.endswith(".reason"):
        return True, _find_reason(values, name.removesuffix("reason").removesuffix("."))
    return False, None


PATTERNS = ""  # key of the names that contain numbers: regular expression -> function


def _find_reason(values: Named, name: str) -> str | None:
    """Return why the named value is null.

    Tried in order: its own reason, that of the name it belongs to, that of a name below it.
    """
    prefix = name
    while prefix:
        reason_name = f"{prefix}.reason"
        if reason_name in values:
            value = values[reason_name]
            return value() if callable(value) else value
        prefix = prefix.rpartition(".")[0]
    for key, value in values.items():
        belongs_to_name = name == "" or key.startswith(f"{name}.")
        if belongs_to_name and key.endswith(".reason") and value is not None:
            return value() if callable(value) else value
    return values.get("reason")


def _to_plain_data(value: Any, shape: Any) -> Any:
    """Convert a value to plain data; of a mapping keep the keys of `shape`."""
    if isinstance(value, dict):
        if isinstance(value, _ExactMapping) or not isinstance(shape, dict):
            return {str(key): _to_plain_data(item, None) for key, item in value.items()}
        by_name = {str(key): item for key, item in value.items()}
        return {key: _to_plain_data(by_name.get(key), item) for key, item in shape.items()}
    if isinstance(value, (np.ndarray, list, tuple)):
        return [_to_plain_data(item, None) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


# --- input of the cases


class CaseRatings:
    """Ratings of a case in long form; items and raters are names in the order of their codes."""

    def __init__(self, case: dict, folder: Path, *, source: dict | None = None) -> None:
        rows = _read_rows(source or case, folder)
        rows = [row for row in rows if row[2] is not None and row[2] != ""]
        self.items = sorted({str(row[0]) for row in rows})
        self.raters = sorted({str(row[1]) for row in rows})
        declared = case.get("categories")
        self.labels = [row[2] for row in rows]
        if declared is None:
            declared = sorted({str(label) for label in self.labels}, key=_numeric_sort_key)
        self.categories = [str(category) for category in declared]
        code_by_label = {name: index for index, name in enumerate(self.categories)}
        self.item = _encode([str(row[0]) for row in rows], self.items)
        self.rater = _encode([str(row[1]) for row in rows], self.raters)
        self._code_by_label = code_by_label

    @property
    def code(self) -> np.ndarray:
        """Codes of the ratings, (M,)."""
        codes = []
        for label in self.labels:
            if str(label) not in self._code_by_label:
                raise ValueError(f"unknown label {label!r}; one of {', '.join(self.categories)}")
            codes.append(self._code_by_label[str(label)])
        return np.array(codes, np.int64)

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.categories)

    @property
    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Items, raters and codes, each (M,)."""
        return self.item, self.rater, self.code

    def build_table(self) -> np.ndarray:
        """Return (items, raters) codes, -1 for missing."""
        codes = np.full((len(self.items), len(self.raters)), -1)
        codes[self.item, self.rater] = self.code
        return codes

    def key_by_item(self, values: Any) -> dict:
        """Return one value an item, keyed by the item's name."""
        return dict(zip(self.items, values, strict=True))


def _numeric_sort_key(text: str) -> tuple[int, float, str]:
    """Return a sort key that puts numbers before other texts."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _encode(names: list[str], distinct_names: list[str]) -> np.ndarray:
    """Return the index of each name among the distinct names."""
    index_by_name = {name: index for index, name in enumerate(distinct_names)}
    return np.array([index_by_name[name] for name in names], np.int64)


def _read_rows(source: dict, folder: Path) -> list:
    """Return rows of item, rater and label, one an item and rater."""
    if "rows" in source:
        rows = [_parse_row(row) for row in source["rows"]]
    else:
        path = folder / source["file"]
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            rows = [(row["item"], row["rater"], row["label"]) for row in csv.DictReader(file)]
    keeps_last = str(source.get("keep", "first")).startswith("last")
    row_by_key: dict[tuple[str, str], Any] = {}
    for row in rows:
        key = str(row[0]), str(row[1])
        if keeps_last or key not in row_by_key:
            row_by_key[key] = row
    return list(row_by_key.values())


def _parse_row(row: Any) -> tuple[Any, Any, Any]:
    """Return item, rater and label of a row that is a dict or a sequence."""
    if isinstance(row, dict):
        return row["item"], row["rater"], row["label"]
    return row[0], row[1], row[2]


def _get_weights(case: dict, k: int) -> np.ndarray | None:
    """Return None for no weights, else the matrix of named or custom weights."""
    options = case.get("options") or {}
    weighting = case.get("weights", options.get("weights") if isinstance(options, dict) else None)
    if weighting is None or isinstance(weighting, str):
        return None if weighting in (None, "none") else weights.get_weight_matrix(weighting, k)
    return np.array(weighting, float)


def _get_category_values(case: dict, categories: list[str]) -> list[float] | None:
    """Return numbers of the categories: as listed, or the labels themselves on numeric scales."""
    listed = case.get("values")
    if listed is not None:
        return [float(value) for value in listed]
    if case.get("scale") in ("interval", "ratio"):
        return [float(category) for category in categories]
    return None


def _with_published_limits(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value with the limits value -/+ t se, at most 1, in place of the interval shown."""
    if value.get("se") is None or value.get("n_items") is None:
        return dict(value)
    margin = float(t_quantile(value["n_items"] - 1)) * value["se"]
    return {
        **value,
        "low": value["value"] - margin,
        "high": min(value["value"] + margin, 1.0),
    }


def _name_interval(name: str, value: Mapping[str, object] | None) -> Named:
    """Return a value with its interval under NAME, NAME_se, NAME_low and NAME_high."""
    value = value or dict.fromkeys(("value", "se", "low", "high", "reason"))
    named = {name: value["value"], f"{name}.reason": value["reason"]}
    for part in ("se", "low", "high"):
        named[f"{name}_{part}"] = value[part]
        if value[part] is None:
            named[f"{name}_{part}.reason"] = value["reason"] or "too_few_items"
    return named


# --- topics


def answer_gold(case: dict, folder: Path) -> Named:
    """Answer a case of scores on gold, exams, pause evidence and suspected gold."""
    options = case.get("options") or {}
    values_by_name: Named = {}
    for name, table in (case.get("gold_tables") or {}).items():
        k = len(table)
        values = _get_category_values(
            case, [str(category) for category in case.get("categories") or range(k)]
        )
        score = gold.compute_score(table, _get_weights(case, k), values)
        values_by_name |= {
            f"{name}.n": score.n,
            f"{name}.right": score.right,
            f"{name}.accuracy": score.accuracy,
            f"{name}.low": score.low,
            f"{name}.high": score.high,
            f"{name}.chance": score.chance,
            f"{name}.worded": score.has_enough_answers,
        }
        values_by_name |= _name_interval(
            f"{name}.kappa", _with_published_limits(score.kappa)
        ) | _name_interval(f"{name}.bias", score.bias)
        values_by_name[f"{name}.reason"] = score.reason
    for name, answers in (case.get("answers") or {}).items():
        rules = dict(options.get("exam", {}))
        if "most" in rules:  # the reference cases' word
            rules["max_answers"] = rules.pop("most")
        exam = gold.evaluate_exam(answers, **rules)
        evidence_path = gold.compute_evidence(answers, options.get("p0", 0.7))
        threshold = options.get("threshold", options.get("pause", gold.PAUSE_EVIDENCE))
        values_by_name |= {
            f"{name}.exam": exam.outcome,
            f"{name}.exam_at": exam.n_answers,
            f"{name}.exam_llr": exam.llr,
            f"{name}.evidence": evidence_path,
            f"{name}.paused_at": gold.count_answers_until_pause(evidence_path, threshold),
        }
    if "suspects" in case:
        values_by_name |= _answer_suspects(case)
    return values_by_name


def _answer_suspects(case: dict) -> Named:
    """Answer the part of a gold case about suspected gold answers."""
    suspects, categories = case["suspects"], case.get("categories") or []
    options = suspects.get("options") or {}

    def encode(answer: Any) -> int:
        return categories.index(answer) if isinstance(answer, str) else int(answer)

    answers = {}
    for item, by_rater in suspects["answers"].items():
        present = {rater: answer for rater, answer in by_rater.items() if answer is not None}
        answers[item] = {rater: encode(answer) for rater, answer in present.items()}
    keys = {item: encode(answer) for item, answer in suspects["gold"].items()}
    prior_options = {
        name: options[option] for name, option in _SUSPECT_OPTIONS.items() if option in options
    }
    k = len(categories) if categories else suspects["k"]
    suspected = gold.find_suspect_gold(answers, keys, k, **prior_options)
    likely_labels = {
        item: categories[suspect.likely_code] if categories else suspect.likely_code
        for item, suspect in suspected.items()
        if suspect.probability >= 0.5
    }
    return {
        "gold_wrong": {item: suspect.probability for item, suspect in suspected.items()},
        "gold_better": _ExactMapping(likely_labels),
        "gold_listed": sorted(item for item, suspect in suspected.items() if suspect.is_suspect),
    }


_SUSPECT_OPTIONS = {"rho": "rho", "right": "a", "wrong": "b"}


class _ExactMapping(dict):
    """A mapping compared with all its keys: their presence is part of the answer."""


def answer_repeats(case: dict, folder: Path) -> Named:
    """Answer a case of intra-rater agreement."""
    tables = case["repeat_tables"]
    k = len(case["categories"]) if "categories" in case else len(next(iter(tables.values())))
    values = _get_category_values(
        case, [str(category) for category in case.get("categories") or range(k)]
    )
    counts = np.array(list(tables.values()), np.int64).reshape(-1, k, k)
    agreement = repeats.compute_intra_rater_agreement(counts, _get_weights(case, k), values)
    named: Named = {}
    for name, rater_repeats in zip(tables, agreement.raters, strict=True):
        named |= {
            f"{name}.{key}": value for key, value in _name_repeat_values(rater_repeats).items()
        }
        named[f"{name}.reason"] = rater_repeats.reason
    return named | _name_repeat_values(agreement.project) | {"reason": agreement.project.reason}


def _name_repeat_values(rater_repeats: repeats.RepeatAgreement) -> Named:
    """Return the values of one rater's, or the project's, repeats by name."""
    kappa = _with_published_limits(rater_repeats.kappa)
    return {
        "kappa": kappa["value"],
        "se": kappa["se"],
        "low": kappa["low"],
        "high": kappa["high"],
        "observed": kappa["observed"],
        "expected": kappa["expected"],
        "same": rater_repeats.same,
        "same_low": rater_repeats.same_low,
        "same_high": rater_repeats.same_high,
        "n": rater_repeats.n,
        "kappa.reason": rater_repeats.reason,
    } | _name_interval("difference", rater_repeats.shift)


def answer_consensus(case: dict, folder: Path) -> Named:
    """Answer a case of majority votes, Dawid and Skene's model and labels derived from it."""
    case_ratings = CaseRatings(case, folder)
    options = case.get("options") or {}
    values = _get_category_values(case, case_ratings.categories)
    models = _ModelFits(case_ratings, options, case.get("gold") or options.get("gold"))
    votes = consensus.majority_vote(case_ratings.item, case_ratings.code, case_ratings.k)
    fit = models.defer_fit("dawid_skene")

    def name_labels(codes: np.ndarray) -> dict:
        return case_ratings.key_by_item(
            [case_ratings.categories[code] if code >= 0 else None for code in codes]
        )

    def defer_by_item(compute: Callable[[np.ndarray], Any]) -> Callable[[], Any]:
        return lambda: None if fit().reason else case_ratings.key_by_item(compute(fit().posterior))

    def defer_labels(compute: Callable[[np.ndarray], np.ndarray]) -> Callable[[], Any]:
        return lambda: None if fit().reason else name_labels(compute(fit().posterior))

    def compute_information() -> dict | None:
        if fit().reason:
            return None
        bits = consensus.expected_information(fit().posterior, fit().confusion)
        return case_ratings.key_by_item(
            [dict(zip(case_ratings.raters, row, strict=True)) for row in bits]
        )

    def compute_label_sets(level: float = 0.95) -> Any:
        rows = consensus.credible_label_sets(fit().posterior, level)
        named = [[case_ratings.categories[at] for at in np.flatnonzero(row)] for row in rows]
        return case_ratings.key_by_item(named)

    values_by_name: Named = {
        "majority": name_labels(votes.code),
        "majority_share": case_ratings.key_by_item(votes.share),
        "majority.reason": case_ratings.key_by_item(
            [None if code >= 0 else "tied" for code in votes.code]
        ),
        "weighted_majority": lambda: name_labels(
            consensus.weighted_majority_vote(*case_ratings.columns, case_ratings.k).code
        ),
        "posterior_median": defer_labels(consensus.posterior_medians),
        "posterior_mode": defer_labels(consensus.posterior_modes),
        "posterior_mean_rank": defer_by_item(consensus.posterior_means),
        "posterior_mean": defer_by_item(
            lambda posterior: consensus.posterior_means(posterior, values)
        ),
        "information_nats": compute_information,
        "label_set": lambda: None if fit().reason else compute_label_sets(),
        "label_set_95": lambda: None if fit().reason else compute_label_sets(),
        "reason": lambda: fit().reason,
    }
    for name in ("posterior_median", "posterior_mode", "posterior_mean_rank", "posterior_mean"):
        values_by_name[f"{name}.reason"] = lambda: fit().reason
    values_by_name["information_nats.reason"] = lambda: fit().reason
    values_by_name["dawid_skene.label"] = defer_labels(consensus.posterior_modes)
    for name in ("dawid_skene", "dawid_skene_ml"):
        values_by_name[f"{name}.reason"] = lambda name=name: models.defer_fit(name)().reason
    field_names = "|".join(_FIT_FIELDS)
    values_by_name[PATTERNS] = {
        rf"(dawid_skene|dawid_skene_ml)\.({field_names})(?:_after_(\d+))?": models.get_field
    }
    return values_by_name


_FIT_FIELDS = (
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


class _ModelFits:
    """Fits of a case, each computed once and only when needed."""

    def __init__(self, data: CaseRatings, options: dict, truth: dict | None) -> None:
        self.data, self.options = data, options
        self.truth = truth
        self.fits: dict[tuple[str, int | None], consensus.DawidSkene] = {}

    def defer_fit(self, name: str, rounds: int | None = None) -> Callable[[], consensus.DawidSkene]:
        """Return a function that returns the fit of that model."""

        def get_fit() -> consensus.DawidSkene:
            key = name, rounds
            if key not in self.fits:
                self.fits[key] = self._fit_model(name, rounds)
            return self.fits[key]

        return get_fit

    def get_field(self, name: str, field: str, rounds: str | None) -> Any:
        """Return a field of a fit, after so many rounds if given; None where undefined."""
        fit = self.defer_fit(name, int(rounds) if rounds else None)()
        data = self.data
        if fit.reason and field != "rounds":
            return None
        getters: dict[str, Callable[[], Any]] = {
            "posterior": lambda: data.key_by_item(fit.posterior),
            "classes": lambda: fit.classes,
            "confusion": lambda: dict(zip(data.raters, fit.confusion, strict=True)),
            "pooled": lambda: fit.pooled_confusion,
            "certainty": lambda: data.key_by_item(fit.confidence),
            "certainty_mean": lambda: float(fit.confidence.mean()),
            "expected_errors": lambda: fit.expected_errors,
            "accuracy": lambda: dict(zip(data.raters, fit.accuracy, strict=True)),
            "bias": lambda: dict(zip(data.raters, fit.bias, strict=True)),
            "rounds": lambda: fit.rounds,
            "log_posterior": lambda: fit.log_posterior[-1],
        }
        return getters[field]()

    def _fit_model(self, name: str, rounds: int | None) -> consensus.DawidSkene:
        """Fit the model with the options of the case."""
        options, data = self.options, self.data
        settings: dict[str, Any] = {
            "rounds": rounds or int(options.get("rounds", 5_000)),
            "tolerance": 0.0 if rounds else _parse_number(options.get("tolerance", 1e-10)),
        }
        if name == "dawid_skene_ml":
            settings |= {"prior": 0.0, "classes": 0.0}
        else:
            option_names = ("prior", "diagonal", "classes")
            settings |= {key: options[key] for key in option_names if key in options}
        if self.truth:
            fixed_items = [item for item in self.truth if str(item) in data.items]
            codes = [data.categories.index(str(self.truth[item])) for item in fixed_items]
            settings["fixed"] = (_encode([str(item) for item in fixed_items], data.items), codes)
        if "majority" in str(options.get("start", "")):
            counts = np.zeros((len(data.items), data.k))
            np.add.at(counts, (data.item, data.code), 1)
            leading = counts == counts.max(axis=1, keepdims=True)
            settings["start"] = leading / leading.sum(axis=1, keepdims=True)
        return consensus.fit_dawid_skene(*data.columns, data.k, **settings)


def _parse_number(text: Any) -> float:
    """Return the number in a tolerance that may be written as text."""
    if isinstance(text, (int, float)):
        return float(text)
    match = re.search(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", text)
    assert match, f"no number in {text!r}"
    return float(match.group())


MODEL_COLUMN = "the model's answers"  # no rater of a case has this name


def list_contest_rows(case: dict) -> dict:
    """Return an alt-test case of `humans` and `model` as one of `rows` and `model_rater`.

    humans: answers as a table of items x raters (or raters x items, where only that fits the
    model's answers), or rater -> answers; model: its answers. Answers are a list in the order of
    the items, or item -> answer; each is a category, or the index of a declared one; None, an
    empty text, and -1 where that is no category, are missing. Where rows or a file have the
    ratings, humans and model are the names of raters.
    """
    humans, model = case["humans"], case["model"]
    if isinstance(model, str):
        names = [str(name) for name in humans]
        return case | {"model_rater": model, "human_raters": names}
    answers_by_rater = {str(name): _key_by_item(answers) for name, answers in _list_humans(case)}
    names = list(answers_by_rater)
    answers_by_rater[MODEL_COLUMN] = _key_by_item(model)
    categories = case.get("categories", range(case["k"]) if "k" in case else None)
    declared = None if categories is None else [str(category) for category in categories]
    rows = []
    for name, answers in answers_by_rater.items():
        for item, answer in answers.items():
            label = _find_label(answer, declared)
            if label is not None:
                rows.append([item, name, label])
    contest = {key: value for key, value in case.items() if key != "file"}
    contest |= {"rows": rows, "model_rater": MODEL_COLUMN, "human_raters": names}
    return contest if declared is None else contest | {"categories": declared}


def _list_humans(case: dict) -> list[tuple[str, Any]]:
    """Return (name, answers) of each human.

    Without names they are those of `raters`, or those that begin the keys of `expected`, else
    human_0, human_1 and so on.
    """
    humans, n_items = case["humans"], len(case["model"])
    if isinstance(humans, dict):
        return list(humans.items())
    has_row_per_item = len(humans) == n_items and all(isinstance(row, list) for row in humans)
    columns = list(zip(*humans, strict=True)) if has_row_per_item else humans
    names = case.get("raters") or case.get("human_names")
    if not names:
        names = list(dict.fromkeys(key.partition(".")[0] for key in case["expected"] if "." in key))
        names = [name for name in names if name not in ("winning_rate", "advantage", "passed")]
    if len(names) != len(columns):
        names = [f"human_{index}" for index in range(len(columns))]
    return list(zip(names, columns, strict=True))


def _key_by_item(answers: Any) -> dict[str, Any]:
    """Return item -> answer; items of a list are named by their position."""
    if isinstance(answers, dict):
        return {str(item): answer for item, answer in answers.items()}
    return {f"{index:09}": answer for index, answer in enumerate(answers)}


def _find_label(answer: Any, declared: list[str] | None) -> str | None:
    """Return the category of an answer, None where it is missing."""
    if answer is None or answer == "":
        return None
    if declared is not None and str(answer) in declared:
        return str(answer)
    is_number = isinstance(answer, (int, float)) and not isinstance(answer, bool)
    if is_number and answer == -1:
        return None
    if is_number and declared is not None and 0 <= answer < len(declared):
        return declared[int(answer)]
    return str(answer)


def answer_alt_test(case: dict, folder: Path) -> Named:
    """Answer a case of the alternative annotator test."""
    if "humans" in case:
        case = list_contest_rows(case)
    data = CaseRatings(case, folder)
    options = case.get("options") or {}
    model_name = str(case["model_rater"])
    humans = [name for name in case.get("human_raters", data.raters) if name != model_name]
    codes = data.build_table()
    model = np.full(len(data.items), -1)
    if model_name in data.raters:
        model = codes[:, data.raters.index(model_name)]
    human_codes = np.full((len(data.items), len(humans)), -1)
    for column, name in enumerate(humans):
        if name in data.raters:
            human_codes[:, column] = codes[:, data.raters.index(name)]
    score = str(options.get("score", "accuracy"))
    score = "rmse" if "rmse" in score.lower() else score
    by_weights = score not in model_comparison.SCORES
    matrix = _get_weights(case, data.k)
    if by_weights:  # "linear", "quadratic", "agreement weights"
        weighting = score if score in weights.RANK_WEIGHTINGS else "linear"
        matrix = weights.get_weight_matrix(weighting, data.k) if matrix is None else matrix
    values = _get_category_values(case, data.categories)
    if (
        values is None
        and score == "rmse"
        and all(_numeric_sort_key(c)[0] == 0 for c in data.categories)
    ):
        values = [float(category) for category in data.categories]
    test_options: dict[str, Any] = {
        key: options.get(key, case.get(key))
        for key in ("epsilon", "q", "least")
        if key in options or key in case
    }
    result = model_comparison.run_alternative_annotator_test(
        human_codes,
        model,
        score="weights" if by_weights else score,
        values=values,
        weights=matrix,
        **test_options,
    )
    named_values: Named = {
        "winning_rate": result.winning_rate,
        "advantage": result.advantage,
        "passed": result.passed,
        "reason": result.reason,
    }
    for name in ("winning_rate", "advantage", "passed"):
        named_values[f"{name}.reason"] = result.reason
    for name, human in zip(humans, result.humans, strict=True):
        named_values |= {
            f"{name}.wins": [human.win, human.tie, human.lose],
            f"{name}.n": human.n,
            f"{name}.advantage": human.advantage,
            f"{name}.p": human.p,
            f"{name}.rejected": human.rejected,
            f"{name}.reason": human.reason,
        }
    return named_values


def answer_model_against_humans(case: dict, folder: Path) -> Named:
    """Answer a case that compares a model with the humans."""
    if "cells" in case:
        cells = [(cell[0], cell[1]) for cell in case["cells"]]
        n_items = [cell[2] for cell in case["cells"]]
    else:
        cells, n_items = _count_cells(CaseRatings(case, folder), str(case["model_rater"]))
    k = len(case["categories"]) if "categories" in case else len(cells[0][1])
    comparison = model_comparison.compare_model_with_humans(cells, n_items, _get_weights(case, k))
    margin = (case.get("options") or {}).get("margin", 0.05)
    return {
        "human_human": comparison.human_human,
        "model_human": comparison.model_human,
        "difference": comparison.difference,
        "difference_se": comparison.se,
        "se": comparison.se,
        "low": comparison.low,
        "high": comparison.high,
        "n_items": comparison.n_items,
        "not_inferior": comparison.is_not_inferior(margin),
        "human_human.reason": comparison.human_reason,
        "model_human.reason": comparison.model_reason,
        "difference.reason": comparison.reason,
        "difference_se.reason": comparison.reason or comparison.se_reason,
        "low.reason": comparison.reason or comparison.se_reason,
        "high.reason": comparison.reason or comparison.se_reason,
        "reason": comparison.reason or comparison.se_reason,
    }


def _count_cells(data: CaseRatings, model: str) -> tuple[list, list]:
    """Return the distinct (model's code, human counts) cells and their numbers of items."""
    codes, model_column = data.build_table(), data.raters.index(model)
    n_by_cell: dict[tuple[int, tuple[int, ...]], int] = {}
    for row in codes:
        if row[model_column] < 0:
            continue
        others = np.delete(row, model_column)
        human = np.bincount(others[others >= 0], minlength=data.k)
        cell = int(row[model_column]), tuple(human.tolist())
        n_by_cell[cell] = n_by_cell.get(cell, 0) + 1
    return list(n_by_cell), list(n_by_cell.values())


def answer_before_after(case: dict, folder: Path) -> Named:
    """Answer a case that compares two periods."""
    before, after = (_get_patterns(case, case[side], folder) for side in ("before", "after"))
    matrix = _get_weights(case, before[0].shape[1])
    change = before_after.compare_before_after(
        before, after, matrix, shared=_get_shared_items(case, folder)
    )
    options = case.get("options") or {}
    permutation_options = {
        key: options[name] for key, name in (("seed", "seed"), ("replicates", "permutations"))
        if name in options
    }  # fmt: skip
    named = _name_interval("before", change.before) | _name_interval("after", change.after)
    named |= {
        "difference": change.difference,
        "se": change.se,
        "low": change.low,
        "high": change.high,
        "df": change.df,
        "p": change.p,
        "permutation_p": lambda: before_after.permutation_p_value(
            before, after, matrix, **permutation_options
        ),
        "reason": change.reason or change.se_reason,
        "difference.reason": change.reason,
    }
    for name in ("se", "low", "high"):
        named[f"{name}.reason"] = change.reason or change.se_reason
    for name in ("df", "p"):
        named[f"{name}.reason"] = change.reason or change.test_reason
    return named


def _get_patterns(case: dict, side: dict, folder: Path) -> tuple[Any, Any]:
    """Return pattern counts (P, k) and numbers of items (P,) of one side."""
    if "patterns" in side:
        k = len(case["categories"]) if "categories" in case else len(side["patterns"][0])
        return np.array(side["patterns"], np.int64).reshape(-1, k), side["n_items"]
    data = CaseRatings(case, folder, source=side)
    pattern_counts = tally.count_patterns(data.item, data.code, data.k)
    return pattern_counts.counts, pattern_counts.n_items


def _get_shared_items(case: dict, folder: Path) -> tuple[Any, Any, Any] | None:
    """Return items in both sets: as patterns, or those of the same name in both sets' rows."""
    for name in ("both", "overlap", "shared", "pairs"):
        shared_part = case.get(name)
        if isinstance(shared_part, dict):
            return shared_part["before"], shared_part["after"], shared_part["n_items"]
        if shared_part:  # before, after and number of items each
            first, second, n_items = zip(*shared_part, strict=True)
            return first, second, n_items
    if "rows" not in case["before"] or "rows" not in case["after"]:
        return None
    sides = []
    for side in ("before", "after"):
        data = CaseRatings(case, folder, source=case[side])
        counts = np.zeros((len(data.items), data.k), np.int64)
        np.add.at(counts, (data.item, data.code), 1)
        sides.append(data.key_by_item(counts))
    shared = sorted(sides[0].keys() & sides[1].keys())
    if not shared:
        return None
    before, after = ([side[item] for item in shared] for side in sides)
    return before, after, np.ones(len(shared))


def answer_reliability(case: dict, folder: Path) -> Named:
    """Answer a case of variance components and the reliability of means of raters."""
    data = CaseRatings(case, folder)
    options = case.get("options") or {}
    numbers = _get_numbers(case, data)
    components = mean_reliability.estimate_components(data.item, data.rater, numbers)
    named: Named = {
        "variance.item": components.item,
        "variance.rater": components.rater,
        "variance.rest": components.rest,
        "variance.reason": components.reason,
        "negative": list(components.negative),
        "reason": components.reason,
    }
    for name in ("item", "rater", "rest"):
        named[f"share.{name}"] = components.shares[name] if components.shares else None

    def get_reliability(m: str, kind: str, suffix: str | None = None) -> Any:
        reliability = mean_reliability.compute_reliability(components, int(m))
        if suffix == ".reason":
            return getattr(reliability, f"{kind}_reason")
        if suffix is None:
            return getattr(reliability, kind)
        limits = mean_reliability.compute_limits(data.item, data.rater, numbers, int(m))
        if suffix in (".low.reason", "_low.reason", ".high.reason", "_high.reason"):
            return limits.reason
        bounds = getattr(limits, kind)
        return None if bounds is None else bounds[suffix.endswith("high")]

    def get_raters_needed(kind: str, suffix: str | None) -> Any:
        reliability = mean_reliability.compute_raters_needed(components, float(options["target"]))
        return getattr(reliability, f"{kind}_reason" if suffix else kind)

    kinds = "(absolute|relative)"
    bounds = r"(\.reason|[._](?:low|high)(?:\.reason)?)?"
    named[PATTERNS] = {
        rf"one_{kinds}{bounds}": lambda kind, suffix: get_reliability("1", kind, suffix),
        rf"mean_of_(\d+)_{kinds}{bounds}": get_reliability,
        rf"raters_for_target_{kinds}(\.reason)?": get_raters_needed,
    }
    return named


def _get_numbers(case: dict, data: CaseRatings) -> list[float]:
    """Return the ratings as numbers: category values, ranks of ordered categories, or as written."""
    declared = case.get("categories") is not None
    values = _get_category_values(case, data.categories) if declared else None
    if values is not None:
        return [values[code] for code in data.code]
    if declared and case.get("scale") not in ("interval", "ratio"):
        return [float(code + 1) for code in data.code]
    return [float(label) for label in data.labels]


def answer_planning(case: dict, folder: Path) -> Named:
    """Answer a case of sample sizes."""
    values_by_name: Named = {}
    for name, question in case["questions"].items():
        try:
            values_by_name |= {
                f"{name}.{key}": value for key, value in _plan_question(question).items()
            }
        except ValueError:
            values_by_name |= {
                f"{name}.items": None,
                f"{name}.more": None,
                f"{name}.reason": "refused",
            }
    return values_by_name


def _plan_question(question: dict) -> Named:
    """Return the items needed for one question of a planning case."""
    width = question["half_width"]
    if question["kind"] == "after":
        needed = sample_size.compute_items_needed(question["se"], question["n"], width)
        return {"items": needed.items, "more": needed.additional, "reason": needed.reason}
    if question["kappa"] is None:
        return {"items": None, "reason": "too_few_items"}
    prevalence = question.get("prevalence", question.get("prevalences", []))
    items = sample_size.compute_items_needed_before(question["kappa"], prevalence, width)
    return {"items": items, "reason": None}


def answer_label_sets(case: dict, folder: Path) -> Named:
    """Answer a case of agreement on sets of labels."""
    rows = [row for row in _read_rows(case, folder) if row[2] is not None]
    items = sorted({str(row[0]) for row in rows})
    item = _encode([str(row[0]) for row in rows], items)
    agreement = label_sets.compute_agreement(item, [row[2] for row in rows], case["labels"])
    named = _name_interval("alpha_jaccard", agreement.jaccard) | _name_interval(
        "alpha_masi", agreement.masi
    )
    for label, value in agreement.labels.items():
        named |= _name_interval(f"alpha.{label}", value)
    return named


TOPICS: dict[str, Callable[[dict, Path], Named]] = {
    "gold": answer_gold,
    "repeats": answer_repeats,
    "consensus": answer_consensus,
    "alt_test": answer_alt_test,
    "model_against_humans": answer_model_against_humans,
    "before_after": answer_before_after,
    "reliability": answer_reliability,
    "planning": answer_planning,
    "label_sets": answer_label_sets,
}
