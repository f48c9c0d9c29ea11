"""Simulated streams of ratings in which it is known who drifted, who cheated, and which gold is
wrong.

The model behind them, in the order in which the numbers are drawn from one seeded generator:

1. Documents. On each working day documents of alike items arrive. The items of a document share a
   difficulty and the raters who get it; weeks are harder or easier for everybody.
2. Answers. A true category by its prevalence. On ordered scales a rater says the nearest category
   to truth + noise, on nominal ones the truth, or else another category by prevalence. Part of the
   noise is shared by all answers of a rater in a document, and each rater has a level of his own.
3. Drift, from a day on, at once or growing: `bias` moves answers by one rank, so often that their
   mean moves by its size; `kappa` replaces answers by guesses, so often that the rater's agreement
   with others falls by its size.
4. Cheats: always the same answer, or guesses, from a day on.
5. Gold: the truth for some of the items, and for some of these another category.
6. What is missing, and who is there at all.
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

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

KINDS = ("bias", "kappa")
CHEATS = ("constant", "guess")
MONDAY = datetime.date(2024, 1, 1)
WEEK = 5  # working days
_SHARED = 0.05  # of the variance of a rater's noise is that of a document, times `uneven`
_ALIKE = 0.3  # of the items have the truth of their document


@dataclass(frozen=True)
class Drift:
    """From working day `since` on, growing over `over` days (0: at once); size in ranks with its
    sign (bias), or how far kappa falls (kappa)."""

    rater: int
    kind: str
    size: float
    since: int
    over: int = 0


@dataclass(frozen=True)
class Cheat:
    rater: int
    kind: str
    since: int = 0


@dataclass(frozen=True)
class Plan:
    """What a stream is like.

    a_day: items that each rater gets a day; per_item: ratings of an item; prevalence: of the
    categories, in their order; noise: standard deviation of an answer in ranks, or on nominal
    scales the share of wrong answers; document: alike items that come together; uneven: how much
    difficulty differs between documents and weeks, 0 for not at all; missing: share of ratings that
    never come; come_and_go: share of the days for which a rater may be away, at the start or end
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
    drifts: tuple[Drift, ...] = ()
    cheats: tuple[Cheat, ...] = ()
    gold: float = 0.0
    wrong_gold: float = 0.0

    @property
    def k(self) -> int:
        return len(self.prevalence)


@dataclass(frozen=True)
class Stream:
    """item, rater, code, working day and second of that day (M,) of the ratings; gold (N,) of the
    items, -1 for none, and which of it is wrong (N,)."""

    item: Ints
    rater: Ints
    code: Ints
    day: Ints
    second: Ints
    gold: Ints
    wrong: npt.NDArray[np.bool_]

    @property
    def date(self) -> Ints:
        """Days since 1970-01-01 of the ratings (M,)."""
        return date_of(self.day)


def date_of(day: npt.ArrayLike) -> Ints:
    """Days since 1970-01-01 of working days, which count from a Monday on."""
    first = (MONDAY - datetime.date(1970, 1, 1)).days
    day = np.asarray(day, np.int64)
    return first + day // WEEK * 7 + day % WEEK


def checked(plan: Plan) -> Plan:
    """The plan itself; ValueError names what cannot be."""
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
        _check_place(plan, drift.rater, drift.since)
        _check_drift(drift, ordered=plan.ordered)
    for cheat in plan.cheats:
        _check_place(plan, cheat.rater, cheat.since)
        if cheat.kind not in CHEATS:
            raise ValueError(f"a cheat must be one of {', '.join(CHEATS)}, not {cheat.kind!r}")
    return plan


def _check_place(plan: Plan, rater: int, since: int) -> None:
    if not (0 <= rater < plan.raters and 0 <= since < plan.days):
        raise ValueError(
            f"rater {rater + 1} from day {since} on: there are raters 1 to {plan.raters} and "
            f"days 0 to {plan.days - 1}"
        )


def _check_drift(drift: Drift, *, ordered: bool) -> None:
    if drift.kind not in KINDS:
        raise ValueError(f"drift must be one of {', '.join(KINDS)}, not {drift.kind!r}")
    if drift.kind == "bias" and not ordered:
        raise ValueError("there is no bias on a nominal scale")
    if drift.kind == "kappa" and drift.size < 0:
        raise ValueError("a fall of kappa is told as a positive number")
    if drift.over < 0:
        raise ValueError("a drift grows over 0 days (at once) or more")


def simulate(plan: Plan, seed: int) -> Stream:
    """The same stream every time. ValueError where the plan cannot be."""
    checked(plan)
    rng = np.random.default_rng(seed)
    share = _share(plan)
    documents = max(1, round(plan.raters * plan.a_day / plan.per_item / plan.document))
    day_of_document = np.repeat(np.arange(plan.days), documents)
    item_document = np.repeat(np.arange(day_of_document.size), plan.document)
    hardness = _hardness(rng, plan, day_of_document)[item_document]
    truth = rng.choice(plan.k, size=item_document.size, p=share)
    alike = rng.random(truth.size) < _ALIKE
    of_document = rng.choice(plan.k, size=day_of_document.size, p=share)
    truth = np.where(alike, of_document[item_document], truth)

    team = rng.permuted(np.tile(np.arange(plan.raters), (day_of_document.size, 1)), axis=1)
    rater = team[:, : plan.per_item][item_document].ravel()
    item = np.repeat(np.arange(item_document.size), plan.per_item)
    day = day_of_document[item_document[item]]
    told = _Told(item, rater, day, item_document[item], truth[item], hardness[item])
    code = _answers(rng, plan, told)
    code = _drifted(rng, plan, told, code)
    code = _cheated(rng, plan, told, code)
    gold, wrong = _gold(rng, plan, truth)
    here = _present(rng, plan, told)
    second = rng.integers(8 * 3600, 18 * 3600, item.size)
    return Stream(item[here], rater[here], code[here], day[here], second[here], gold, wrong)


@dataclass(frozen=True)
class _Told:
    """Who is asked what, when, in which document, what is true of it and how hard it is; (M,)."""

    item: Ints
    rater: Ints
    day: Ints
    document: Ints
    truth: Ints
    hard: Floats


def _share(plan: Plan) -> Floats:
    return np.array(plan.prevalence) / sum(plan.prevalence)


def _hardness(rng: np.random.Generator, plan: Plan, day: Ints) -> Floats:
    """By how much the noise of each document is larger or smaller; its mean square is 1."""
    weeks = rng.normal(0, 0.15 * plan.uneven, plan.days // WEEK + 1)
    documents = rng.normal(0, 0.3 * plan.uneven, day.size)
    found = np.exp(weeks[day // WEEK] + documents)
    return found / np.sqrt(np.mean(found**2))


def _answers(rng: np.random.Generator, plan: Plan, told: _Told) -> Ints:
    truth, hard = told.truth, told.hard
    together = told.rater * (told.document.max() + 1) + told.document
    met, place = np.unique(together, return_inverse=True)
    part = min(_SHARED * plan.uneven, 1.0)
    shared = rng.normal(0, np.sqrt(part), met.size)[place]
    noise = shared + rng.normal(0, np.sqrt(1 - part), truth.size)
    if plan.ordered:
        level = rng.normal(0, 0.15, plan.raters)[told.rater]
        said = np.rint(truth + level + plan.noise * hard * noise)
        return np.clip(said, 0, plan.k - 1).astype(np.int64)
    skill = np.exp(rng.normal(0, 0.15, plan.raters))[told.rater]
    # The distribution function makes even numbers between 0 and 1 of normal ones.
    wrong = special.ndtr(noise) < np.minimum(plan.noise * hard * skill, 0.95)
    # Another category than the truth, by prevalence.
    other = _share(plan) * (np.arange(plan.k) != truth[:, None])
    other = np.cumsum(other, axis=1) / other.sum(axis=1, keepdims=True)
    instead = (rng.random(truth.size)[:, None] > other[:, :-1]).sum(axis=1)
    return np.where(wrong, instead, truth)


def _drifted(rng: np.random.Generator, plan: Plan, told: _Told, code: Ints) -> Ints:
    code, clean = code.copy(), code
    for drift in plan.drifts:
        days = told.day - drift.since
        grown = np.clip((days + 1) / max(drift.over, 1), 0, 1) * (days >= 0)
        own = (told.rater == drift.rater) & (days >= 0)
        if drift.kind == "bias":
            step = int(np.sign(drift.size))
            movable = (clean + step >= 0) & (clean + step < plan.k)
            often = abs(drift.size) / movable.mean()
            moved = own & movable & (rng.random(code.size) < often * grown)
            code[moved] = clean[moved] + step
        else:
            often = drift.size / kappa_of(plan, told.item, clean)
            guessed = own & (rng.random(code.size) < often * grown)
            code[guessed] = rng.choice(clean, guessed.sum())
        if often > 1:
            raise ValueError(f"a drift of {drift.size:g} ({drift.kind}) is more than can be")
    return code


def kappa_of(plan: Plan, item: Ints, code: Ints) -> float:
    """How far two raters agree: Fleiss' kappa, with linear weights on an ordered scale."""
    patterns = tally.patterns(item, code, plan.k)
    w = weights.linear(plan.k) if plan.ordered else weights.none(plan.k)
    return float(fleiss_kappa(patterns.counts, patterns.n_items, weights=w).value)


def _cheated(rng: np.random.Generator, plan: Plan, told: _Told, code: Ints) -> Ints:
    constant = int(np.argmax(plan.prevalence))
    for cheat in plan.cheats:
        own = (told.rater == cheat.rater) & (told.day >= cheat.since)
        guesses = rng.integers(plan.k, size=code.size)
        code = np.where(own, constant if cheat.kind == "constant" else guesses, code)
    return code


def _gold(rng: np.random.Generator, plan: Plan, truth: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    chosen = rng.random(truth.size) < plan.gold
    wrong = chosen & (rng.random(truth.size) < plan.wrong_gold)
    other = (truth + rng.integers(1, plan.k, truth.size)) % plan.k
    return np.where(chosen, np.where(wrong, other, truth), -1), wrong


def _present(rng: np.random.Generator, plan: Plan, told: _Told) -> npt.NDArray[np.bool_]:
    away = plan.come_and_go * plan.days * rng.random((2, plan.raters))
    first, last = away[0] / 2, plan.days - away[1] / 2
    there = (told.day >= first[told.rater]) & (told.day < last[told.rater])
    return there & (rng.random(told.item.size) >= plan.missing)
