"""All rules, and which of what they find rings: nothing rings twice for one cause."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from metrics.agreement.drift import AGREEMENT, Alarm, Drift

from . import careless_raters, disagreement, level_shifts
from .finding import Found


@dataclass
class Watched:
    """found: what rings beside drift; explained: places of those alarms of drift that do not,
    because the question fell for most raters at once."""

    found: list[Found] = field(default_factory=list)
    explained: set[int] = field(default_factory=set)


def watch(
    drift: Drift, k: int, *, begins: Sequence[int] = (), seconds: npt.ArrayLike | None = None
) -> Watched:
    """What else somebody should look at, beside who drifted.

    k: number of categories; begins: days on which other guidelines began; seconds (N,): of the
    ratings that drift.alarms was given, negative for unknown. Of a rater the first of: drift, the
    same answer, too fast, apart. Of a question, in days that have one in common, the first of: its
    agreement, a pair, a category. When more than half of the raters at work drifted apart in the
    days in which the question fell, that rings instead of them.
    """
    watched = Watched()
    if not drift.material.compared.own.size:
        return watched
    later = list(begins)
    _fell_for_most(drift, level_shifts.question(drift, later, with_drifters=True), watched)
    for one in level_shifts.question(drift, later) + level_shifts.pairs(drift, later):
        _add(watched, one)
    for one in level_shifts.categories(drift, later, k):
        _add(watched, one)
    watched.found = _of_raters(drift, seconds) + watched.found
    return watched


def _of_raters(drift: Drift, seconds: npt.ArrayLike | None) -> list[Found]:
    named = {key for alarm in drift.alarms for key in alarm.raters}
    rules: list[Callable[[], list[Found]]] = [lambda: careless_raters.same(drift)]
    if seconds is not None:
        rules.append(lambda: careless_raters.fast(drift, seconds))
    rules.append(lambda: disagreement.apart(drift))
    found: list[Found] = []
    for rule in rules:
        new = [one for one in rule() if not named & set(one.raters)]
        named |= {key for one in new for key in one.raters}
        found += new
    return found


def _fell_for_most(drift: Drift, falls: Sequence[Found], watched: Watched) -> None:
    ratings = drift.material.ratings
    for fall in falls:
        among = {
            place
            for place, alarm in enumerate(drift.alarms)
            if alarm.channel == AGREEMENT and _share_days(fall, alarm)
        }
        at_work = np.unique(ratings.rater[(ratings.day >= fall.onset) & (ratings.day <= fall.day)])
        named = {key for place in among for key in drift.alarms[place].raters}
        if 2 * len(named) > at_work.size:
            watched.explained |= among
            _add(watched, fall)


def _add(watched: Watched, one: Found) -> None:
    """Unless something of the question rings in these days already."""
    if not any(_share_days(one, other) for other in watched.found):
        watched.found.append(one)


def _share_days(one: Found, other: Found | Alarm) -> bool:
    return one.onset <= other.day and other.onset <= one.day
