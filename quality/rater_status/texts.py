"""The words of scorecards, and why a question could not be looked through. (What an alarm says:
quality.alerts.kinds.)"""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from quality.rater_status.status import SIGNS, Card, Status

STATUS: dict[str, Promise] = {
    Status.FINE: gettext_lazy("nothing found"),
    Status.WATCH: gettext_lazy("watch"),
    Status.ACT: gettext_lazy("ask them"),
    Status.UNKNOWN: gettext_lazy("too little known"),
}
REASONS: dict[str, Promise] = {
    "drift_alarm": gettext_lazy("an alarm is open"),
    "gold_below_bar": gettext_lazy("misses gold answers more often than the bar allows"),
    "alarm_muted": gettext_lazy("an alarm is muted"),
    "drift_watched": gettext_lazy("may be moving; not enough for an alarm"),
    "apart_from_peers": gettext_lazy("agrees clearly less with everybody than the others do"),
    "one_answer": gettext_lazy("nearly always the same answer"),
    "too_fast": gettext_lazy("far faster than the others"),
    "too_few_items": gettext_lazy("fewer than 30 items that others rated too"),
}
# Why nothing could be looked for.
NOT_LOOKED: dict[str, Promise] = {
    "too_many_comparisons": gettext_lazy(
        "This question has more ratings than can be looked through for drift."
    ),
    "single_category": gettext_lazy("Drift needs two categories or more."),
}


def status(card: Card) -> str:
    return str(STATUS[card.status])


def reasons(card: Card) -> list[str]:
    return [str(REASONS[reason]) for reason in card.reasons]


def untold(card: Card) -> list[str]:
    """The reasons that the card's cases do not tell themselves."""
    told = {"drift_alarm", *SIGNS.values()}
    return [str(REASONS[reason]) for reason in card.reasons if reason not in told]
