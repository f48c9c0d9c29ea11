"""Streams of 25 shapes: what happens to raters, items and questions, and who is to be named.

Ten raters rate 13 items a day on 72 working days, three ratings an item. A stream is what ordinary
work looks like, with one thing that changes, mostly on working day 36. `list_shapes` has the
shapes: those of which nobody may be named, drifting raters, bad newcomers, and copies.

Answers: on the nominal scale a rater gives the true category, or another one by prevalence with the
probability error x skill of the rater x difficulty of the item; on the ordinal scale the category
nearest to truth + level of the rater + noise x difficulty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from metrics.example.streams import convert_working_days

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

N_RATERS, N_DAYS, ITEMS_A_DAY, PER_ITEM, CHANGE_DAY = 10, 72, 13, 3, 36
_OVERDISPERSION = 0.3  # standard deviation of the log difficulty of items


@dataclass
class Stream:
    """Ratings under construction: item columns (N,), and rating columns (M,).

    raters: who rates each item (N, 3), -1 for nobody; lapse: probability of a guess of each rating
    (N, 3)
    """

    rng: np.random.Generator
    ordered: bool
    day: Ints
    prevalence: Floats
    truth: Ints
    difficulty: Floats
    raters: Ints
    skill: Floats
    level: Floats
    lapse: Floats
    attribute: Ints | None = None
    document: Ints | None = None
    answers: list[Callable[[Stream, Ints], Ints]] = field(default_factory=list)

    @property
    def is_changed(self) -> npt.NDArray[np.bool_]:
        """The mask (N, 1) of items from the day of the change on."""
        return (self.day >= CHANGE_DAY)[:, None]

    @property
    def k(self) -> int:
        """Number of categories."""
        return self.prevalence.size


@dataclass(frozen=True)
class Shape:
    """One shape: its change, whom to name, and by which kind.

    goal: innocent, drift, newcomer or copy; named: raters to be named
    """

    name: str
    goal: str
    change: Callable[[Stream], None]
    named: tuple[int, ...] = ()
    with_attribute: bool = False


@dataclass(frozen=True)
class SimulatedRatings:
    """The columns of a stream (M,), in the order of detect_drift."""

    item: Ints
    rater: Ints
    code: Ints
    date: Ints
    k: int
    ordered: bool
    attributes: list[Ints]  # of each rating's item
    clusters: Ints | None  # the document of each rating's item


def simulate_shape(shape: Shape, seed: int, *, ordered: bool) -> SimulatedRatings:
    """Return the same ratings for the same shape, scale and seed."""
    rng = np.random.default_rng([seed, int(ordered)])
    prevalence = np.array([0.35, 0.25, 0.2, 0.12, 0.08] if ordered else [0.4, 0.3, 0.2, 0.1])
    n_items = N_DAYS * N_RATERS * ITEMS_A_DAY // PER_ITEM
    teams = rng.permuted(np.tile(np.arange(N_RATERS), (n_items, 1)), axis=1)[:, :PER_ITEM]
    stream = Stream(
        rng=rng,
        ordered=ordered,
        day=np.sort(rng.integers(N_DAYS, size=n_items)),
        prevalence=prevalence,
        truth=rng.choice(prevalence.size, n_items, p=prevalence),
        difficulty=np.exp(rng.normal(0, _OVERDISPERSION, n_items)),
        raters=teams,
        skill=np.exp(rng.normal(0, 0.2, N_RATERS)),
        level=rng.normal(0, 0.15, N_RATERS),
        lapse=np.zeros((n_items, PER_ITEM)),
    )
    shape.change(stream)
    code = _sample_answers(stream)
    for change in stream.answers:
        code = change(stream, code)
    is_rated = stream.raters >= 0
    item = np.repeat(np.arange(n_items), PER_ITEM).reshape(is_rated.shape)[is_rated]
    return SimulatedRatings(
        item=item,
        rater=stream.raters[is_rated],
        code=code[is_rated],
        date=convert_working_days(stream.day)[item],
        k=stream.k,
        ordered=ordered,
        attributes=[stream.attribute[item]]
        if shape.with_attribute and stream.attribute is not None
        else [],
        clusters=None if stream.document is None else stream.document[item],
    )


def _sample_answers(stream: Stream) -> Ints:
    rng, shape = stream.rng, stream.raters.shape
    difficulty = stream.difficulty[:, None]
    truth = np.broadcast_to(stream.truth[:, None], shape)
    if stream.ordered:
        noise = 0.75 * difficulty * stream.skill[stream.raters] * rng.normal(size=shape)
        code = np.clip(np.rint(truth + stream.level[stream.raters] + noise), 0, stream.k - 1)
    else:
        error = np.minimum(0.17 * difficulty * stream.skill[stream.raters], 0.95)
        code = np.where(rng.random(shape) < error, _sample_others(stream, truth), truth)
    guesses = rng.integers(stream.k, size=shape)
    return np.where(rng.random(shape) < stream.lapse, guesses, code).astype(np.int64)


def _sample_others(stream: Stream, truth: Ints) -> Ints:
    """Return another category than the truth for each rating, by prevalence."""
    other = stream.prevalence * (np.arange(stream.k) != truth[..., None])
    cumulative = np.cumsum(other, axis=-1) / other.sum(axis=-1, keepdims=True)
    return (stream.rng.random(truth.shape)[..., None] > cumulative[..., :-1]).sum(axis=-1)


# --- changes that are nobody's fault


def add_seasons(stream: Stream) -> None:
    stream.difficulty *= np.exp(0.35 * np.sin(2 * np.pi * stream.day / 40))


def add_hard_weeks(stream: Stream) -> None:
    stream.difficulty *= np.exp(stream.rng.normal(0, 0.35, N_DAYS // 5 + 1))[stream.day // 5]


def let_everybody_learn(stream: Stream) -> None:
    stream.difficulty *= 0.8 + 0.9 * np.exp(-stream.day / 15)


def let_everybody_tire(stream: Stream) -> None:
    """Let answers get worse in the course of each week, and slowly over the weeks."""
    stream.difficulty *= 1 + 0.15 * (stream.day % 5) + 0.006 * stream.day


def change_prevalence(stream: Stream) -> None:
    later = stream.day >= CHANGE_DAY
    stream.truth[later] = stream.rng.choice(stream.k, later.sum(), p=stream.prevalence[::-1])


def shift_prevalence_slowly(stream: Stream) -> None:
    share = 0.6 * stream.day / N_DAYS
    moved = stream.rng.random(stream.day.size) < share
    stream.truth[moved] = 0


def make_rare(stream: Stream) -> None:
    rare = stream.rng.random(stream.day.size) < 0.6
    stream.truth[rare] = 0


def make_items_harder(stream: Stream, *, share: float = 0.5, factor: float = 3.0) -> None:
    is_hard = (stream.day >= CHANGE_DAY) & (stream.rng.random(stream.day.size) < share)
    stream.difficulty[is_hard] *= factor
    stream.attribute = is_hard.astype(np.int64)


def make_all_items_harder(stream: Stream) -> None:
    make_items_harder(stream, share=1.0, factor=2.0)


def make_items_harder_slowly(stream: Stream) -> None:
    stream.difficulty *= 1 + 1.5 * np.clip((stream.day - 20) / 30, 0, 1)


def make_everybody_worse(stream: Stream) -> None:
    stream.lapse += 0.25 * stream.is_changed


def make_everybody_worse_unequally(stream: Stream) -> None:
    stream.lapse += stream.rng.uniform(0.15, 0.35, N_RATERS)[stream.raters] * stream.is_changed


def give_two_raters_hard_items(stream: Stream) -> None:
    """Give raters 0 and 1 three tenths of all items, the hard ones, from the day of the change on.

    The third rater of these items changes from item to item.
    """
    is_special = (stream.day >= CHANGE_DAY) & (stream.rng.random(stream.day.size) < 0.3)
    others = stream.rng.permuted(np.tile(np.arange(2, N_RATERS), (stream.day.size, 1)), axis=1)[
        :, :PER_ITEM
    ]
    later = stream.day >= CHANGE_DAY
    stream.raters[later] = others[later]
    stream.raters[is_special, 0], stream.raters[is_special, 1] = 0, 1
    stream.difficulty[is_special] *= 3.0
    stream.attribute = is_special.astype(np.int64)


def change_guidelines(stream: Stream) -> None:
    """Let all raters answer 1 instead of 2 in 7 of 10 cases, each from a day of their own."""
    start = CHANGE_DAY + stream.rng.integers(0, 8, N_RATERS)

    def answer(stream: Stream, code: Ints) -> Ints:
        follows = stream.day[:, None] >= start[stream.raters]
        moved = follows & (code == 2) & (stream.rng.random(code.shape) < 0.7)
        return np.where(moved, 1, code)

    stream.answers.append(answer)


def blur_category(stream: Stream) -> None:
    """Let all raters guess between categories 1 and 2 from the day of the change on."""

    def answer(stream: Stream, code: Ints) -> Ints:
        is_blurred = stream.is_changed & ((code == 1) | (code == 2))
        return np.where(is_blurred, stream.rng.integers(1, 3, code.shape), code)

    stream.answers.append(answer)


def let_raters_come_and_go(stream: Stream) -> None:
    first = stream.rng.integers(0, 25, N_RATERS)
    last = N_DAYS - stream.rng.integers(0, 25, N_RATERS)
    day = stream.day[:, None]
    is_away = (day < first[stream.raters]) | (day >= last[stream.raters])
    stream.raters = np.where(is_away, -1, stream.raters)


def add_good_newcomers(stream: Stream) -> None:
    _start_later(stream, (0, 1), 30)


def add_learning_newcomers(stream: Stream) -> None:
    """Add two newcomers who guess in a tenth of the first five days' answers."""
    _start_later(stream, (0, 1), 30)
    is_new = (stream.raters <= 1) & (stream.day[:, None] < 35)
    stream.lapse = np.where(is_new, 0.1, stream.lapse)


def _start_later(stream: Stream, raters: tuple[int, ...], day: int) -> None:
    is_absent = np.isin(stream.raters, raters) & (stream.day[:, None] < day)
    stream.raters = np.where(is_absent, -1, stream.raters)


def make_raters_unequal(stream: Stream) -> None:
    stream.skill = np.exp(stream.rng.normal(0, 0.3, N_RATERS))
    stream.level = stream.rng.normal(0, 0.25, N_RATERS)


def add_two_experts(stream: Stream) -> None:
    stream.skill[[0, 1]], stream.level[[0, 1]] = 0.15, 0.0


def add_two_schools(stream: Stream) -> None:
    """Let raters 0 to 4 answer category 1 in a quarter of the cases in which others answer 0."""

    def answer(stream: Stream, code: Ints) -> Ints:
        is_moved = (stream.raters < 5) & (code == 0) & (stream.rng.random(code.shape) < 0.25)
        return np.where(is_moved, 1, code)

    stream.answers.append(answer)


def add_experts_and_schools(stream: Stream) -> None:
    """Let two raters know more, and five have another opinion."""
    add_two_experts(stream)
    add_two_schools(stream)


# --- changes of raters


def make_raters_worse(stream: Stream, raters: tuple[int, ...], lapse: float) -> None:
    stream.lapse += lapse * (np.isin(stream.raters, raters) & stream.is_changed)


def make_rater_harsher(stream: Stream, rater: int) -> None:
    """Let a rater answer the next category in 55 of 100 cases from the day of the change on.

    On the ordinal scale this is half a category up, on the nominal one a confusion of categories.
    """

    def answer(stream: Stream, code: Ints) -> Ints:
        chance = stream.rng.random(code.shape)
        is_moved = (stream.raters == rater) & stream.is_changed & (chance < 0.55)
        return np.where(is_moved, np.minimum(code + 1, stream.k - 1), code)

    stream.answers.append(answer)


def make_rater_worse_slowly(stream: Stream, rater: int) -> None:
    growth = np.clip((stream.day - CHANGE_DAY + 1) / 15, 0, 1)[:, None]
    stream.lapse += 0.6 * growth * (stream.raters == rater)


def make_one_of_all_much_worse(stream: Stream) -> None:
    """Make all raters worse, and rater 0 far more."""
    make_everybody_worse(stream)
    stream.lapse = np.where((stream.raters == 0) & stream.is_changed, 0.8, stream.lapse)


def add_bad_newcomers(stream: Stream, lapse: float) -> None:
    _start_later(stream, (0, 1), 30)
    stream.lapse = np.where(np.isin(stream.raters, (0, 1)), lapse, stream.lapse)


def add_copies(stream: Stream, share: float, *, since: int = 0) -> None:
    """Let rater 1 copy this share of the answers of rater 0 to items that both rate.

    The two share a third of their items.
    """
    is_shared = stream.rng.random(stream.day.size) < 0.06
    has_both = is_shared & ~(stream.raters == 0).any(axis=1) & ~(stream.raters == 1).any(axis=1)
    stream.raters[has_both, 0], stream.raters[has_both, 1] = 0, 1

    def answer(stream: Stream, code: Ints) -> Ints:
        original = np.where(stream.raters == 0, code, 0).sum(axis=1)
        has_both = (stream.raters == 0).any(axis=1) & (stream.day >= since)
        copies = (stream.rng.random(stream.day.size) < share) & has_both
        return np.where((stream.raters == 1) & copies[:, None], original[:, None], code)

    stream.answers.append(answer)


# --- items in documents


def group_into_documents(stream: Stream, size: int, days: int) -> None:
    """Group the items into documents that three raters rate within some days.

    The items of a document are alike in difficulty and in their true category, and a rater misreads
    one document in seven: half of the answers are another category (nominal) or one off (ordinal).
    """
    rng, n_items = stream.rng, stream.day.size
    document = np.arange(n_items) // size
    n_documents = int(document[-1]) + 1
    first_day = np.sort(rng.integers(N_DAYS, size=n_documents))
    stream.day = np.minimum(
        first_day[document] + np.arange(n_items) % size * days // size, N_DAYS - 1
    )
    teams = rng.permuted(np.tile(np.arange(N_RATERS), (n_documents, 1)), axis=1)
    stream.raters = teams[:, :PER_ITEM][document]
    stream.difficulty *= np.exp(rng.normal(0, 0.5, n_documents))[document]
    topic = rng.choice(stream.k, n_documents, p=stream.prevalence)[document]
    stream.truth = np.where(rng.random(n_items) < 0.4, topic, stream.truth)
    is_misread = rng.random((n_documents, N_RATERS)) < 1 / 7
    shift = rng.integers(1, stream.k, (n_documents, N_RATERS))

    def answer(stream: Stream, code: Ints) -> Ints:
        cell = document[:, None], stream.raters
        moved = (code + shift[cell]) % stream.k
        if stream.ordered:
            moved = np.clip(code + np.where(shift[cell] % 2, 1, -1), 0, stream.k - 1)
        is_wrong = is_misread[cell] & (stream.rng.random(code.shape) < 0.5)
        return np.where(is_wrong, moved, code)

    stream.answers.append(answer)
    stream.document = document


def _build_document_shape(size: int, days: int, *, lapse: float = 0.0) -> Shape:
    """Return a shape of documents; with a lapse, rater 0 guesses so often from day 36 on."""

    def change(stream: Stream) -> None:
        group_into_documents(stream, size, days)
        make_raters_worse(stream, (0,), lapse)

    length = "a day" if days == 1 else f"{days} days"
    name = f"documents of {size} items in {length}"
    if lapse:
        return Shape(f"{name}, drift of one", "drift", change, (0,))
    return Shape(name, "innocent", change)


def list_document_shapes() -> list[Shape]:
    """Return shapes whose items are in documents."""
    lengths = ((10, 1), (30, 5), (100, 10), (300, 40))
    stable = [_build_document_shape(size, days) for size, days in lengths]
    return [*stable, _build_document_shape(10, 1, lapse=0.8)]


def list_shapes() -> list[Shape]:
    """Return the 25 shapes."""
    return [
        Shape("raters unequal", "innocent", make_raters_unequal),
        Shape("seasons", "innocent", add_seasons),
        Shape("hard weeks", "innocent", add_hard_weeks),
        Shape("everybody learns", "innocent", let_everybody_learn),
        Shape("fatigue", "innocent", let_everybody_tire),
        Shape("prevalence changes at once", "innocent", change_prevalence),
        Shape("prevalence changes slowly", "innocent", shift_prevalence_slowly),
        Shape("one category is rare", "innocent", make_rare),
        Shape("half of the items harder", "innocent", make_items_harder),
        Shape("all items harder", "innocent", make_all_items_harder),
        Shape("items harder slowly", "innocent", make_items_harder_slowly),
        Shape("everybody worse", "innocent", make_everybody_worse),
        Shape("everybody worse, unequally", "innocent", make_everybody_worse_unequally),
        Shape("two raters on all hard items", "innocent", give_two_raters_hard_items),
        Shape(
            "the same, with the kind of item as attribute",
            "innocent",
            give_two_raters_hard_items,
            with_attribute=True,
        ),
        Shape("new guidelines, adopted within 8 days", "innocent", change_guidelines),
        Shape("the question falls: two categories blur", "innocent", blur_category),
        Shape("raters come and go", "innocent", let_raters_come_and_go),
        Shape("newcomers, good or learning", "innocent", add_learning_newcomers),
        Shape("two experts, two schools", "innocent", add_experts_and_schools),
        Shape("drift of one", "drift", lambda stream: make_raters_worse(stream, (0,), 0.5), (0,)),
        Shape(
            "drift of one: another standard",
            "drift",
            lambda stream: make_rater_harsher(stream, 0),
            (0,),
        ),
        Shape(
            "drift of two together",
            "drift",
            lambda stream: make_raters_worse(stream, (0, 1), 0.5),
            (0, 1),
        ),
        Shape("bad newcomers", "newcomer", lambda stream: add_bad_newcomers(stream, 0.5), (0, 1)),
        Shape("copies", "copy", lambda stream: add_copies(stream, 0.7), (0, 1)),
    ]
