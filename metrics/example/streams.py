"""Simulated streams of ratings with known drift, cheating and wrong gold answers.

The model, in the order in which the numbers are drawn from one seeded generator:

1. Documents. On each working day documents of similar items arrive. The items of a document share a
   difficulty and the raters who get it; weeks are harder or easier for everybody.
2. Answers. A true category by its prevalence. On ordered scales a rater gives the category nearest
   to truth + noise; on nominal ones the truth, or else another category by prevalence. Part of the
   noise is shared by all answers of a rater in a document, and each rater has a level.
3. Drift, from a day on, sudden or growing: `bias` moves answers by one rank, so often that their
   mean moves by its size; `kappa` replaces answers by guesses, so often that the rater's agreement
   with others falls by its size.
4. Cheats: always the same answer, or guesses, from a day on.
5. Gold: the truth for some of the items, and for some of these another category.
6. Missing ratings, and absent raters.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement import weights
from metrics.agreement.coefficients.fleiss import fleiss_kappa
from metrics.agreement.counts import tally

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

DRIFT_KINDS = ("bias", "kappa")
CHEAT_KINDS = ("constant", "guess")
FIRST_MONDAY = datetime.date(2024, 1, 1)
WORKING_DAYS_PER_WEEK = 5
_SHARED_VARIANCE = 0.05  # share of a document in the variance of a rater's noise, times `uneven`
_SAME_TRUTH_SHARE = 0.3  # share of the items with the true category of their document


@dataclass(frozen=True)
class SimulatedDrift:
    """A drift of a rater from working day `since` on, growing over `over` days (0: sudden).

    `size`: signed shift in ranks (kind bias), or decrease of kappa (kind kappa).
    """

    rater: int
    kind: str
    size: float
    since: int
    over: int = 0


@dataclass(frozen=True)
class SimulatedCheat:
    """A rater who cheats from working day `since` on; `kind`: the way of cheating."""

    rater: int
    kind: str
    since: int = 0


@dataclass(frozen=True)
class StreamPlan:
    """The parameters of a simulated stream.

    a_day: items that each rater gets a day; per_item: ratings of an item; prevalence: of the
    categories, in their order; noise: standard deviation of an answer in ranks, or on nominal
    scales the share of wrong answers; document: number of similar items that arrive together;
    uneven: how much difficulty differs between documents and weeks, 0 for not at all; missing:
    share of ratings that never arrive; come_and_go: largest share of the days for which a rater is
    absent, at the start or the end; gold: share of items with a gold answer; wrong_gold: share of
    the gold answers that are wrong.
    """

    raters: int = 20
    days: int = 60
    a_day: int = 30
    per_item: int = 3
    ordered: bool = True
    prevalence: tuple[float, ...] = (0.35, 0.25, 0.2, 0.12, 0.08)
    noise: float = 0.85
    document: int = 8
    uneven: float = 1.0
    missing: float = 0.02
    come_and_go: float = 0.0
    drifts: tuple[SimulatedDrift, ...] = ()
    cheats: tuple[SimulatedCheat, ...] = ()
    gold: float = 0.0
    wrong_gold: float = 0.0

    @property
    def k(self) -> int:
        """Return the number of categories."""
        return len(self.prevalence)


@dataclass(frozen=True)
class SimulatedStream:
    """A simulated stream of M ratings of N items, in arrays.

    item, rater, code, day (working day) and second (of that day) are (M,). gold is (N,): the gold
    answer, -1 for none; wrong_gold (N,): whether it is wrong.
    """

    item: IntArray
    rater: IntArray
    code: IntArray
    day: IntArray
    second: IntArray
    gold: IntArray
    wrong_gold: npt.NDArray[np.bool_]

    @property
    def date(self) -> IntArray:
        """Return the days of the ratings (M,), counted from 1970-01-01."""
        return convert_working_days(self.day)


def convert_working_days(day: npt.ArrayLike) -> IntArray:
    """Convert working days, counted from FIRST_MONDAY on, to days since 1970-01-01."""
    first_day = (FIRST_MONDAY - datetime.date(1970, 1, 1)).days
    day = np.asarray(day, np.int64)
    return first_day + day // WORKING_DAYS_PER_WEEK * 7 + day % WORKING_DAYS_PER_WEEK


def validate_plan(plan: StreamPlan) -> StreamPlan:
    """Return the plan; raise ValueError if it is invalid."""
    if min(plan.days, plan.a_day, plan.document) < 1:
        raise ValueError("days, items a day and items of a document must be 1 or more")
    if not 2 <= plan.per_item <= plan.raters:
        raise ValueError(f"ratings an item must be 2 to {plan.raters}, not {plan.per_item}")
    if plan.k < 2 or min(plan.prevalence) <= 0:
        raise ValueError("prevalences must be two or more positive numbers")
    for name in ("missing", "come_and_go", "gold", "wrong_gold"):
        if not 0 <= getattr(plan, name) <= 1:
            raise ValueError(f"{name.replace('_', ' ')} must be a share from 0 to 1")
    for drift in plan.drifts:
        _validate_rater_and_day(plan, drift.rater, drift.since)
        _validate_drift(drift, ordered=plan.ordered)
    for cheat in plan.cheats:
        _validate_rater_and_day(plan, cheat.rater, cheat.since)
        if cheat.kind not in CHEAT_KINDS:
            raise ValueError(f"a cheat must be one of {', '.join(CHEAT_KINDS)}, not {cheat.kind!r}")
    return plan


def _validate_rater_and_day(plan: StreamPlan, rater: int, since: int) -> None:
    if not (0 <= rater < plan.raters and 0 <= since < plan.days):
        raise ValueError(
            f"rater {rater + 1} from day {since} on: there are raters 1 to {plan.raters} and "
            f"days 0 to {plan.days - 1}"
        )


def _validate_drift(drift: SimulatedDrift, *, ordered: bool) -> None:
    if drift.kind not in DRIFT_KINDS:
        raise ValueError(f"drift must be one of {', '.join(DRIFT_KINDS)}, not {drift.kind!r}")
    if drift.kind == "bias" and not ordered:
        raise ValueError("there is no bias on a nominal scale")
    if drift.kind == "kappa" and drift.size < 0:
        raise ValueError("a decrease of kappa must be a positive number")
    if drift.over < 0:
        raise ValueError("a drift grows over 0 days (at once) or more")


def simulate_stream(plan: StreamPlan, seed: int) -> SimulatedStream:
    """Return a simulated stream of ratings with the drifts and cheats of the plan.

    The same plan and seed give the same stream. Raises ValueError for an invalid plan.
    """
    validate_plan(plan)
    rng = np.random.default_rng(seed)
    shares = _compute_shares(plan)
    documents_per_day = max(1, round(plan.raters * plan.a_day / plan.per_item / plan.document))
    day_of_document = np.repeat(np.arange(plan.days), documents_per_day)
    item_document = np.repeat(np.arange(day_of_document.size), plan.document)
    difficulty = _sample_difficulty(rng, plan, day_of_document)[item_document]
    truth = rng.choice(plan.k, size=item_document.size, p=shares)
    has_document_truth = rng.random(truth.size) < _SAME_TRUTH_SHARE
    document_truth = rng.choice(plan.k, size=day_of_document.size, p=shares)
    truth = np.where(has_document_truth, document_truth[item_document], truth)

    team = rng.permuted(np.tile(np.arange(plan.raters), (day_of_document.size, 1)), axis=1)
    rater = team[:, : plan.per_item][item_document].ravel()
    item = np.repeat(np.arange(item_document.size), plan.per_item)
    day = day_of_document[item_document[item]]
    assigned = _AssignedRatings(
        item, rater, day, item_document[item], truth[item], difficulty[item]
    )
    code = _sample_answers(rng, plan, assigned)
    code = _apply_drift(rng, plan, assigned, code)
    code = _apply_cheats(rng, plan, assigned, code)
    gold, wrong_gold = _sample_gold(rng, plan, truth)
    is_present = _sample_present(rng, plan, assigned)
    second = rng.integers(8 * 3600, 18 * 3600, item.size)
    return SimulatedStream(
        item[is_present],
        rater[is_present],
        code[is_present],
        day[is_present],
        second[is_present],
        gold,
        wrong_gold,
    )


@dataclass(frozen=True)
class _AssignedRatings:
    """The assigned ratings (M,): item, rater, day, document, true category and difficulty."""

    item: IntArray
    rater: IntArray
    day: IntArray
    document: IntArray
    truth: IntArray
    difficulty: FloatArray


def _compute_shares(plan: StreamPlan) -> FloatArray:
    return np.array(plan.prevalence) / sum(plan.prevalence)


def _sample_difficulty(rng: np.random.Generator, plan: StreamPlan, day: IntArray) -> FloatArray:
    """Return the factor (D,) of the noise of each document; its mean square is 1.

    ``day`` (D,): the working day on which each document arrives.
    """
    weeks = rng.normal(0, 0.15 * plan.uneven, plan.days // WORKING_DAYS_PER_WEEK + 1)
    documents = rng.normal(0, 0.3 * plan.uneven, day.size)
    factors = np.exp(weeks[day // WORKING_DAYS_PER_WEEK] + documents)
    return factors / np.sqrt(np.mean(factors**2))


def _sample_answers(
    rng: np.random.Generator, plan: StreamPlan, assigned: _AssignedRatings
) -> IntArray:
    truth, difficulty = assigned.truth, assigned.difficulty
    rater_document = assigned.rater * (assigned.document.max() + 1) + assigned.document
    distinct, inverse = np.unique(rater_document, return_inverse=True)
    shared_share = min(_SHARED_VARIANCE * plan.uneven, 1.0)
    shared = rng.normal(0, np.sqrt(shared_share), distinct.size)[inverse]
    noise = shared + rng.normal(0, np.sqrt(1 - shared_share), truth.size)
    if plan.ordered:
        level = rng.normal(0, 0.15, plan.raters)[assigned.rater]
        answers = np.rint(truth + level + plan.noise * difficulty * noise)
        return np.clip(answers, 0, plan.k - 1).astype(np.int64)
    skill = np.exp(rng.normal(0, 0.15, plan.raters))[assigned.rater]
    # The distribution function turns normal numbers into uniform ones between 0 and 1.
    is_wrong = special.ndtr(noise) < np.minimum(plan.noise * difficulty * skill, 0.95)
    # Another category than the truth, by prevalence.
    other = _compute_shares(plan) * (np.arange(plan.k) != truth[:, None])
    other = np.cumsum(other, axis=1) / other.sum(axis=1, keepdims=True)
    replacements = (rng.random(truth.size)[:, None] > other[:, :-1]).sum(axis=1)
    return np.where(is_wrong, replacements, truth)


def _apply_drift(
    rng: np.random.Generator, plan: StreamPlan, assigned: _AssignedRatings, code: IntArray
) -> IntArray:
    code, original = code.copy(), code
    for drift in plan.drifts:
        days = assigned.day - drift.since
        growth = np.clip((days + 1) / max(drift.over, 1), 0, 1) * (days >= 0)
        is_affected = (assigned.rater == drift.rater) & (days >= 0)
        if drift.kind == "bias":
            step = int(np.sign(drift.size))
            movable = (original + step >= 0) & (original + step < plan.k)
            probability = abs(drift.size) / movable.mean()
            is_moved = is_affected & movable & (rng.random(code.size) < probability * growth)
            code[is_moved] = original[is_moved] + step
        else:
            probability = drift.size / compute_kappa(plan, assigned.item, original)
            is_guess = is_affected & (rng.random(code.size) < probability * growth)
            code[is_guess] = rng.choice(original, is_guess.sum())
        if probability > 1:
            raise ValueError(f"a drift of {drift.size:g} ({drift.kind}) is too large")
    return code


def compute_kappa(plan: StreamPlan, item: IntArray, code: IntArray) -> float:
    """Return Fleiss' kappa of the ratings, with linear weights on an ordered scale."""
    patterns = tally.count_patterns(item, code, plan.k)
    w = weights.linear_weights(plan.k) if plan.ordered else weights.identity_weights(plan.k)
    return float(fleiss_kappa(patterns.counts, patterns.n_items, weights=w).value)


def _apply_cheats(
    rng: np.random.Generator, plan: StreamPlan, assigned: _AssignedRatings, code: IntArray
) -> IntArray:
    constant = int(np.argmax(plan.prevalence))
    for cheat in plan.cheats:
        is_cheating = (assigned.rater == cheat.rater) & (assigned.day >= cheat.since)
        guesses = rng.integers(plan.k, size=code.size)
        code = np.where(is_cheating, constant if cheat.kind == "constant" else guesses, code)
    return code


def _sample_gold(
    rng: np.random.Generator, plan: StreamPlan, truth: IntArray
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    has_gold = rng.random(truth.size) < plan.gold
    is_wrong = has_gold & (rng.random(truth.size) < plan.wrong_gold)
    other = (truth + rng.integers(1, plan.k, truth.size)) % plan.k
    return np.where(has_gold, np.where(is_wrong, other, truth), -1), is_wrong


def _sample_present(
    rng: np.random.Generator, plan: StreamPlan, assigned: _AssignedRatings
) -> npt.NDArray[np.bool_]:
    away = plan.come_and_go * plan.days * rng.random((2, plan.raters))
    first, last = away[0] / 2, plan.days - away[1] / 2
    is_present = (assigned.day >= first[assigned.rater]) & (assigned.day < last[assigned.rater])
    return is_present & (rng.random(assigned.item.size) >= plan.missing)
