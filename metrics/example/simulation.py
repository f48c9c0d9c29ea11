"""A simulated annotation project: eight people and a model rate translation errors.

It has known effects for the pages to detect:

* Until GUIDELINES_CHANGE_DAY, everybody errs EARLY_ERROR_FACTOR times as often.
* emil is harsh: he often chooses the next higher category.
* goro drifts: from DRIFT_START_DAY on he often chooses the next lower category.
* hana nearly always answers 'none', within seconds.
* N_WRONG_GOLD of the gold answers are wrong.

The model, in the order in which the numbers are drawn from one seeded generator (the same on every
machine):

1. Items. A language and a source each; the source decides how often an item has no, a minor, a
  major or a critical error (SEVERITY_PROBABILITIES). This *true* severity is stored only of every
  GOLD_INTERVAL-th item, as its gold answer; raters approximate it.
2. Days. Items are rated over N_DAYS days, each day equally likely; the last N_UNRATED items remain
  for annotators.
3. Raters. PEOPLE_PER_ITEM of the people, sampled by WORKLOAD_SHARES, GOLD_PEOPLE_PER_ITEM on items
  with a gold answer, and the model on most items.
4. Answers. Correct with ACCURACY, otherwise a neighbouring category, higher or lower alike. Then
  the effects above.
5. Times: working hours of the item's day or the next; a log-normal number of seconds.
6. Corrections and comments: a few ratings are later changed to the true severity; a few have a
  comment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

NOUNS = {
    "en": ("lamp", "bag", "battery", "machine", "invoice"),
    "de": ("Lampe", "Tasche", "Batterie", "Maschine", "Rechnung"),
    "es": ("lámpara", "bolsa", "batería", "máquina", "factura"),
    "fr": ("lampe", "sacoche", "batterie", "machine", "facture"),
}
FRAMES = (
    {
        "en": "The {noun} arrived after {number} days.",
        "de": "Die {noun} kam nach {number} Tagen an.",
        "es": "La {noun} llegó después de {number} días.",
        "fr": "La {noun} est arrivée au bout de {number} jours.",
    },
    {
        "en": "Do not leave the {noun} outside for more than {number} hours.",
        "de": "Lassen Sie die {noun} nicht länger als {number} Stunden draußen.",
        "es": "No deje la {noun} fuera durante más de {number} horas.",
        "fr": "Ne laissez pas la {noun} dehors plus de {number} heures.",
    },
    {
        "en": "We have not received the {noun}; please send it within {number} days.",
        "de": "Wir haben die {noun} nicht erhalten; bitte senden Sie sie innerhalb von {number} Tagen.",
        "es": "No hemos recibido la {noun}; envíela en un plazo de {number} días.",
        "fr": "Nous n'avons pas reçu la {noun} ; veuillez l'envoyer sous {number} jours.",
    },
    {
        "en": "The new {noun} costs {number} euros more than the old one.",
        "de": "Die neue {noun} kostet {number} Euro mehr als die alte.",
        "es": "La nueva {noun} cuesta {number} euros más que la antigua.",
        "fr": "La nouvelle {noun} coûte {number} euros de plus que l'ancienne.",
    },
)


def build_sentence_pair(rng: np.random.Generator, language: str, severity: int) -> tuple[str, str]:
    """Return an English sentence and its translation with an error of the given severity.

    Severity 0: none, 1: minor, 2: major, 3: critical.
    """
    frame = FRAMES[rng.integers(len(FRAMES))]
    noun = int(rng.integers(len(NOUNS["en"])))
    number = int(rng.integers(2, 40))
    source = frame["en"].format(noun=NOUNS["en"][noun], number=number)
    if severity == 2:  # another noun
        noun = (noun + 1) % len(NOUNS["en"])
    if severity == 3:  # a wrong number
        number *= 10
    word = NOUNS[language][noun]
    if severity == 1:  # a typing error
        word = word[:-2] + word[-1] + word[-2]
    return source, frame[language].format(noun=word, number=number)


# Chosen among three seeds: a study of another seed may miss a change, or find one by chance.
SEED = 20_261_128
SEVERITY_LABELS = ("none", "minor", "major", "critical")
N_ITEMS = 1_200
N_UNRATED = 40
N_DAYS = 70
LANGUAGES = ("de", "es", "fr")
SOURCES = ("support chat", "user manual", "web shop")
# P(true severity | source); rows: sources
SEVERITY_PROBABILITIES = np.array(
    [[0.40, 0.30, 0.20, 0.10], [0.55, 0.25, 0.14, 0.06], [0.48, 0.30, 0.16, 0.06]]
)

PEOPLE = ("ada", "ben", "chen", "dina", "emil", "fatima", "goro", "hana")
MODEL = "qe-model"
RATERS = (*PEOPLE, MODEL)
GOLD_INTERVAL = 20
N_WRONG_GOLD = 5
WORKLOAD_SHARES = np.array([0.14, 0.14, 0.13, 0.12, 0.13, 0.11, 0.14, 0.09])
PEOPLE_PER_ITEM = 3
GOLD_PEOPLE_PER_ITEM = 6
MODEL_SHARE = 0.6
ACCURACY = (0.90, 0.88, 0.88, 0.87, 0.88, 0.87, 0.89, 0.88, 0.75)

GUIDELINES_CHANGE_DAY = 28  # the fifth week
EARLY_ERROR_FACTOR = 3.0  # before the new guidelines
HARSH_RATER = PEOPLE.index("emil")
HARSH_SHARE = 0.36  # of the answers that are a category higher
DRIFTING_RATER = PEOPLE.index("goro")
DRIFT_START_DAY = 47  # the seventh week
DRIFTED_SHARE = 0.62  # of the answers that are a category lower since
SAME_ANSWER_RATER = PEOPLE.index("hana")
SAME_ANSWER_SHARE = 0.98
NONE, CRITICAL = 0, 3
TYPICAL_SECONDS, HASTY_SECONDS = 14.0, 2.0

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
    """A simulated rating, before it is recorded.

    ``item`` and ``rater`` are indices into the lists; ``minute`` counts from midnight of the
    first day.
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

    def list_gold_answers(self) -> list[tuple[int, int]]:
        """Return the (item index, category) of each gold answer; N_WRONG_GOLD of them are wrong.

        The wrong ones belong to evenly spaced items and lie two categories from the truth.
        """
        indices = [index for index in range(len(self.items)) if has_gold(index)]
        wrong = set(indices[2 :: len(indices) // N_WRONG_GOLD][:N_WRONG_GOLD])
        return [
            (index, (self.items[index].true_severity + 2 * (index in wrong)) % len(SEVERITY_LABELS))
            for index in indices
        ]


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
        for rater in _sample_raters(rng, item)
    ]
    corrections = [
        _correct_rating(rating, int(truth[rating.item]))
        for rating in ratings
        if rng.random() < CORRECTED_SHARE and rating.rater != SAME_ANSWER_RATER
    ]
    return Simulation(items, ratings, corrections)


def _build_item(
    rng: np.random.Generator, number: int, language: str, source: str, *, severity: int
) -> SimulatedItem:
    source_text, translation = build_sentence_pair(rng, language, severity)
    return SimulatedItem(f"seg-{number:04}", source_text, translation, language, source, severity)


def _sample_raters(rng: np.random.Generator, item: int) -> list[int]:
    n_people = GOLD_PEOPLE_PER_ITEM if has_gold(item) else PEOPLE_PER_ITEM
    people = rng.choice(len(PEOPLE), size=n_people, replace=False, p=WORKLOAD_SHARES)
    indices = sorted(people.tolist())
    return [*indices, len(PEOPLE)] if rng.random() < MODEL_SHARE else indices


def has_gold(item: int) -> bool:
    """Return whether the item with this index has a gold answer."""
    return item % GOLD_INTERVAL == 0 and item < N_ITEMS - N_UNRATED


def _sample_rating(
    rng: np.random.Generator, item: int, rater: int, *, severity: int, day: int
) -> SimulatedRating:
    day = min(day + int(rng.integers(2)), N_DAYS - 1)
    # Gold answers are those of clear cases.
    is_early = day < GUIDELINES_CHANGE_DAY and not has_gold(item)
    error_rate = (1 - ACCURACY[rater]) * (EARLY_ERROR_FACTOR if is_early else 1)
    code = _sample_code(rng, rater, severity=severity, day=day, error_rate=error_rate)
    minute = day * 24 * 60 + int(rng.integers(8 * 60, 18 * 60))
    is_model = rater == len(PEOPLE)
    typical = HASTY_SECONDS if rater == SAME_ANSWER_RATER else TYPICAL_SECONDS
    seconds = 0.2 if is_model else round(float(rng.lognormal(np.log(typical), 0.5)), 1)
    comment = COMMENTS[code] if rng.random() < COMMENTED_SHARE and not is_model else ""
    return SimulatedRating(item, rater, code, minute, seconds, comment)


def _sample_code(
    rng: np.random.Generator, rater: int, *, severity: int, day: int, error_rate: float
) -> int:
    """Return an answer: the true category or a neighbour, changed by the effect of the rater."""
    error, direction, change = rng.random(3)
    code = severity
    if error < error_rate:
        code += 1 if direction < 0.5 else -1
    if rater == len(PEOPLE):
        return min(max(code, NONE), CRITICAL)
    if rater == HARSH_RATER and change < HARSH_SHARE:
        code += 1
    if rater == DRIFTING_RATER and day >= DRIFT_START_DAY and change < DRIFTED_SHARE:
        code -= 1
    if rater == SAME_ANSWER_RATER and change < SAME_ANSWER_SHARE:
        code = NONE
    return min(max(code, NONE), CRITICAL)


def _correct_rating(rating: SimulatedRating, severity: int) -> SimulatedRating:
    return replace(rating, code=severity, comment="Looked at it again.")
