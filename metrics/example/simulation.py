"""A simulated labelling project: translation errors rated by eight people and a model over ten
weeks.

The model behind it, in the order in which the numbers are drawn from one seeded generator (the same
on every machine):

1. Items. A language and a source each; the source decides how often an item has no, a minor, a
  major or a critical error (TRUTH). That *true* severity is stored of every
  GOLD_EVERY-th item alone, as its gold answer: raters only approach it.
2. Days. Items are rated over DAYS days, each day as likely as another; the last UNRATED wait for
  the annotators.
3. Who rates. RATERS_AN_ITEM of the people, drawn by how much each of them works (SHARE), and the
  model on most items: two to four ratings an item.
4. What they say. Each rater has an own matrix, probability of the answer given the true severity:
  right with ACCURACY, else a neighbouring category, upward or downward according to LENIENCY. The
  drifting rater chooses 'major' half as often from day DRIFT_FROM on: half of these answers become
  'minor'.
5. When, and how long it took: working hours of the item's day or the next; a log-normal number of
  seconds.
6. Corrections and comments: a few ratings are changed later, to what is true; a few carry a
  comment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .sentences import pair

# One of forty, taken because chance gives none of the steady raters a drift of their own.
SEED = 20_260_334
LABELS = ("none", "minor", "major", "critical")
N_ITEMS = 1_500
UNRATED = 40
DAYS = 70
LANGUAGES = ("de", "es", "fr")
SOURCES = ("support chat", "user manual", "web shop")
# (source, true severity)
TRUTH = np.array([[0.40, 0.30, 0.20, 0.10], [0.60, 0.23, 0.12, 0.05], [0.52, 0.30, 0.13, 0.05]])

PEOPLE = ("ada", "ben", "chen", "dina", "emil", "fatima", "goro", "hana")
MODEL = "qe-model"
RATERS = (*PEOPLE, MODEL)
GOLD_EVERY = 25
SHARE = np.array([0.16, 0.15, 0.13, 0.12, 0.11, 0.11, 0.14, 0.08])
RATERS_AN_ITEM = (2, 3)
MODEL_RATES = 0.6
ACCURACY = (0.88, 0.86, 0.84, 0.80, 0.78, 0.83, 0.81, 0.74, 0.72)
# How many of the wrong answers are milder than the truth.
LENIENCY = (0.5, 0.55, 0.45, 0.6, 0.35, 0.5, 0.5, 0.7, 0.4)

DRIFTING = PEOPLE.index("goro")
DRIFT_FROM = 42  # the seventh week
MINOR, MAJOR = 1, 2

CORRECTED = 0.01
COMMENTED = 0.02
COMMENTS = {
    0: "Reads well to me.",
    1: "Only a slip, the meaning is clear.",
    2: "This names another thing than the source.",
    3: "The number is wrong; somebody could act on it.",
}


@dataclass(frozen=True)
class SimulatedItem:
    key: str
    source_text: str
    translation: str
    language: str
    source: str
    true: int


@dataclass(frozen=True)
class SimulatedRating:
    """``item`` and ``rater`` are places in the lists; ``minute`` counts from the first day's
    midnight."""

    item: int
    rater: int
    code: int
    minute: int
    seconds: float
    comment: str


@dataclass(frozen=True)
class Simulation:
    items: list[SimulatedItem]
    ratings: list[SimulatedRating]
    corrections: list[SimulatedRating]


def simulate(seed: int = SEED) -> Simulation:
    """The same items, ratings and corrections every time."""
    rng = np.random.default_rng(seed)
    languages = rng.integers(len(LANGUAGES), size=N_ITEMS)
    sources = rng.integers(len(SOURCES), size=N_ITEMS)
    truth = (rng.random(N_ITEMS)[:, None] > TRUTH[sources].cumsum(axis=1)[:, :-1]).sum(axis=1)
    days = np.sort(rng.integers(DAYS, size=N_ITEMS - UNRATED))
    items = [
        _item(rng, number, LANGUAGES[language], SOURCES[source], true=int(true))
        for number, (language, source, true) in enumerate(
            zip(languages, sources, truth, strict=True), start=1
        )
    ]
    ratings = [
        _rating(rng, item, rater, true=int(truth[item]), day=int(days[item]))
        for item in range(len(days))
        for rater in _raters(rng)
    ]
    corrections = [
        _corrected(rating, int(truth[rating.item]))
        for rating in ratings
        if rng.random() < CORRECTED
    ]
    return Simulation(items, ratings, corrections)


def _item(
    rng: np.random.Generator, number: int, language: str, source: str, *, true: int
) -> SimulatedItem:
    source_text, translation = pair(rng, language, true)
    return SimulatedItem(f"seg-{number:04}", source_text, translation, language, source, true)


def _raters(rng: np.random.Generator) -> list[int]:
    people = rng.choice(len(PEOPLE), size=rng.choice(RATERS_AN_ITEM), replace=False, p=SHARE)
    chosen = sorted(people.tolist())
    return [*chosen, len(PEOPLE)] if rng.random() < MODEL_RATES else chosen


def answer_probabilities(rater: int) -> np.ndarray:
    """(true severity, answer): right with the rater's accuracy, else a neighbour, milder or harsher
    by leniency."""
    k = len(LABELS)
    wrong = 1 - ACCURACY[rater]
    table = np.zeros((k, k))
    for true in range(k):
        milder, harsher = wrong * LENIENCY[rater], wrong * (1 - LENIENCY[rater])
        table[true, max(true - 1, 0)] += milder
        table[true, min(true + 1, k - 1)] += harsher
        table[true, true] += ACCURACY[rater]
    return table


def _rating(
    rng: np.random.Generator, item: int, rater: int, *, true: int, day: int
) -> SimulatedRating:
    day = min(day + int(rng.integers(2)), DAYS - 1)
    code = int(rng.choice(len(LABELS), p=answer_probabilities(rater)[true]))
    drifted = rng.random() < 0.5
    if rater == DRIFTING and day >= DRIFT_FROM and code == MAJOR and drifted:
        code = MINOR
    minute = day * 24 * 60 + int(rng.integers(8 * 60, 18 * 60))
    seconds = round(float(rng.lognormal(np.log(14), 0.5)), 1) if rater < len(PEOPLE) else 0.2
    comment = COMMENTS[code] if rng.random() < COMMENTED and rater < len(PEOPLE) else ""
    return SimulatedRating(item, rater, code, minute, seconds, comment)


def _corrected(rating: SimulatedRating, true: int) -> SimulatedRating:
    return replace(rating, code=true, comment="Looked at it again.")
