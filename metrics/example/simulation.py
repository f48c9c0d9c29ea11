"""A simulated annotation project: eight people and a model rate translation errors for ten weeks.

The model, in the order in which the numbers are drawn from one seeded generator (the same on every
machine):

1. Items. A language and a source each; the source decides how often an item has no, a minor, a
  major or a critical error (SEVERITY_PROBABILITIES). This *true* severity is stored only of every
  GOLD_INTERVAL-th item, as its gold answer; raters approximate it.
2. Days. Items are rated over N_DAYS days, each day equally likely; the last N_UNRATED items remain
  for annotators.
3. Raters. PEOPLE_PER_ITEM of the people, sampled by WORKLOAD_SHARES, and the model on most items:
  two to four ratings an item.
4. Answers. Each rater has a matrix: the probability of each answer given the true severity. Correct
  with ACCURACY, otherwise a neighbouring category, higher or lower according to LENIENCY. The
  drifting rater chooses 'major' half as often from day DRIFT_START_DAY on: half of these answers
  become 'minor'.
5. Times: working hours of the item's day or the next; a log-normal number of seconds.
6. Corrections and comments: a few ratings are later changed to the true severity; a few have a
  comment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .sentences import build_sentence_pair

# Chosen among forty seeds: none of the stable raters appears to drift by chance.
SEED = 20_260_334
SEVERITY_LABELS = ("none", "minor", "major", "critical")
N_ITEMS = 1_500
N_UNRATED = 40
N_DAYS = 70
LANGUAGES = ("de", "es", "fr")
SOURCES = ("support chat", "user manual", "web shop")
# P(true severity | source); rows: sources
SEVERITY_PROBABILITIES = np.array(
    [[0.40, 0.30, 0.20, 0.10], [0.60, 0.23, 0.12, 0.05], [0.52, 0.30, 0.13, 0.05]]
)

PEOPLE = ("ada", "ben", "chen", "dina", "emil", "fatima", "goro", "hana")
MODEL = "qe-model"
RATERS = (*PEOPLE, MODEL)
GOLD_INTERVAL = 25
WORKLOAD_SHARES = np.array([0.16, 0.15, 0.13, 0.12, 0.11, 0.11, 0.14, 0.08])
PEOPLE_PER_ITEM = (2, 3)
MODEL_SHARE = 0.6
ACCURACY = (0.88, 0.86, 0.84, 0.80, 0.78, 0.83, 0.81, 0.74, 0.72)
# Share of the wrong answers that are milder than the truth.
LENIENCY = (0.5, 0.55, 0.45, 0.6, 0.35, 0.5, 0.5, 0.7, 0.4)

DRIFTING_RATER = PEOPLE.index("goro")
DRIFT_START_DAY = 42  # the seventh week
MINOR, MAJOR = 1, 2

CORRECTED_SHARE = 0.01
COMMENTED_SHARE = 0.02
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
    true_severity: int


@dataclass(frozen=True)
class SimulatedRating:
    """A simulated rating.

    ``item`` and ``rater`` are indices into the lists; ``minute`` counts from midnight of the first
    day.
    """

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


def simulate_project(seed: int = SEED) -> Simulation:
    """Return simulated items, ratings and corrections; the same for the same seed."""
    rng = np.random.default_rng(seed)
    languages = rng.integers(len(LANGUAGES), size=N_ITEMS)
    sources = rng.integers(len(SOURCES), size=N_ITEMS)
    truth = (
        rng.random(N_ITEMS)[:, None] > SEVERITY_PROBABILITIES[sources].cumsum(axis=1)[:, :-1]
    ).sum(axis=1)
    days = np.sort(rng.integers(N_DAYS, size=N_ITEMS - N_UNRATED))
    items = [
        _build_item(rng, number, LANGUAGES[language], SOURCES[source], severity=int(severity))
        for number, (language, source, severity) in enumerate(
            zip(languages, sources, truth, strict=True), start=1
        )
    ]
    ratings = [
        _sample_rating(rng, item, rater, severity=int(truth[item]), day=int(days[item]))
        for item in range(len(days))
        for rater in _sample_raters(rng)
    ]
    corrections = [
        _correct_rating(rating, int(truth[rating.item]))
        for rating in ratings
        if rng.random() < CORRECTED_SHARE
    ]
    return Simulation(items, ratings, corrections)


def _build_item(
    rng: np.random.Generator, number: int, language: str, source: str, *, severity: int
) -> SimulatedItem:
    source_text, translation = build_sentence_pair(rng, language, severity)
    return SimulatedItem(f"seg-{number:04}", source_text, translation, language, source, severity)


def _sample_raters(rng: np.random.Generator) -> list[int]:
    people = rng.choice(
        len(PEOPLE), size=rng.choice(PEOPLE_PER_ITEM), replace=False, p=WORKLOAD_SHARES
    )
    indices = sorted(people.tolist())
    return [*indices, len(PEOPLE)] if rng.random() < MODEL_SHARE else indices


def compute_answer_probabilities(rater: int) -> np.ndarray:
    """Return the probabilities (true severity, answer) of a simulated rater's answers.

    The neighbour is milder or harsher according to the rater's leniency.
    """
    n_categories = len(SEVERITY_LABELS)
    error_rate = 1 - ACCURACY[rater]
    table = np.zeros((n_categories, n_categories))
    for severity in range(n_categories):
        milder, harsher = error_rate * LENIENCY[rater], error_rate * (1 - LENIENCY[rater])
        table[severity, max(severity - 1, 0)] += milder
        table[severity, min(severity + 1, n_categories - 1)] += harsher
        table[severity, severity] += ACCURACY[rater]
    return table


def _sample_rating(
    rng: np.random.Generator, item: int, rater: int, *, severity: int, day: int
) -> SimulatedRating:
    day = min(day + int(rng.integers(2)), N_DAYS - 1)
    code = int(rng.choice(len(SEVERITY_LABELS), p=compute_answer_probabilities(rater)[severity]))
    drifted = rng.random() < 0.5
    if rater == DRIFTING_RATER and day >= DRIFT_START_DAY and code == MAJOR and drifted:
        code = MINOR
    minute = day * 24 * 60 + int(rng.integers(8 * 60, 18 * 60))
    seconds = round(float(rng.lognormal(np.log(14), 0.5)), 1) if rater < len(PEOPLE) else 0.2
    comment = COMMENTS[code] if rng.random() < COMMENTED_SHARE and rater < len(PEOPLE) else ""
    return SimulatedRating(item, rater, code, minute, seconds, comment)


def _correct_rating(rating: SimulatedRating, severity: int) -> SimulatedRating:
    return replace(rating, code=severity, comment="Looked at it again.")
