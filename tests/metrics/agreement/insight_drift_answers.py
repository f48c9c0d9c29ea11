"""The answers of metrics.agreement.drift to reference cases of the topics alarm_evidence and alarm.

Each function takes the case and the folder of the files that a case may name, and returns exactly
the keys of the case's `expected`.
"""

import csv
import datetime
import gzip
from dataclasses import replace
from typing import Any

import numpy as np

from metrics.agreement import drift

EPOCH = datetime.date(1970, 1, 1)
MISSING = object()


def alarm_evidence(case, _folder):
    """One channel on every day, its first alarm, and where that puts the onset."""
    options = case.get("options", {})
    channel = case.get("channel", drift.AGREEMENT)
    days = case["days"]
    found = drift.compute_evidence(
        days["items"],
        days["sum"],
        days["squares"],
        s2=case["s2"],
        kappa2=case["kappa2"],
        side=drift.SIDE_OF_CHANNEL[channel],
        prior=prior_of(channel, options),
    )
    reached = np.flatnonzero(found.total >= options.get("alarm", drift.DriftSettings().alert_level))
    t = int(reached[0]) if reached.size else None
    answers = {
        "evidence": found.total.tolist(),
        "alarm_day": t,
        "onset_day": None if t is None else int(found.onset[t]),
        "step": None if t is None else float(found.step[t]),
    }
    return {name: answers[name] for name in case["expected"]}


def alarm(case, folder):
    """The alarms of a table of ratings, as many fields of each as are expected."""
    rows = rows_of(case, folder)
    categories = case.get("categories") or sorted({row["label"] for row in rows})
    names = sorted({row["rater"] for row in rows})
    items = {name: number for number, name in enumerate(sorted({row["item"] for row in rows}))}
    found = drift.detect_drift(
        [items[row["item"]] for row in rows],
        [names.index(row["rater"]) for row in rows],
        [categories.index(row["label"]) for row in rows],
        [day_of(row["date"]) for row in rows],
        len(categories),
        case.get("scale", "nominal") != "nominal",
        settings=settings_of(case.get("options", {})),
    )
    reasons = {names[one.rater]: one.reason for one in found.raters if one.reason is not None}
    answers = {
        "alarms": [fields_of(one, names, case) for one in found.alerts],
        "steps": [one.size for one in found.alerts],
        "reasons": reasons,
        "watched": [names[one.rater] for one in found.raters if one.watched],
        "greatest": {names[one.rater]: one.max_evidence for one in found.raters},
        "evidence": {names[one.rater]: one.evidence for one in found.raters},
    }
    return {name: dotted(answers, name) for name in case["expected"]}


TOPICS = {"alarm_evidence": alarm_evidence, "alarm": alarm}


def dotted(answers, name):
    """`reasons.rater1` is rater1's entry among the reasons, null where there is none."""
    first, _, rest = name.partition(".")
    return answers[first].get(rest) if rest else answers[first]


def fields_of(one, names, case):
    """The fields of an alarm that the case's alarms have; a case without one gets the usual."""
    expected = case["expected"].get("alarms") or [{}]
    wanted = expected[0] or dict.fromkeys(("rater", "channel", "day", "onset"))
    fields = {
        "rater": names[one.rater],
        "raters": [names[rater] for rater in one.raters],
        "channel": one.channel,
        "day": str(EPOCH + datetime.timedelta(one.day)),
        "onset": str(EPOCH + datetime.timedelta(one.onset)),
        "earliest": str(EPOCH + datetime.timedelta(one.earliest)),
        "latest": str(EPOCH + datetime.timedelta(one.latest)),
        "low": one.low,
        "high": one.high,
        "step": one.size,
        "size": one.size,
        "evidence": one.evidence,
        "reason": one.reason,
        "n_before": one.n_before,
        "n_since": one.n_since,
    }
    return {name: fields[name] for name in wanted}


# --- input


def rows_of(case, folder):
    """Rows as dicts of item, rater, label and date; of an item and rater the first one stands,
    or the last one where the case keeps it."""
    if "rows" in case:
        rows = [row if isinstance(row, dict) else named(row) for row in case["rows"]]
    else:
        path = folder / case["file"]
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    if case.get("keep", "first").startswith("last"):
        rows = rows[::-1]
    standing: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        date = row.get("date") or row.get("timestamp") or row.get("rated_at")
        kept = {"item": row["item"], "rater": row["rater"], "label": row["label"], "date": date}
        standing.setdefault((row["item"], row["rater"]), kept)
    return [row for row in standing.values() if row["label"] not in (None, "")]


def named(row):
    return dict(zip(("item", "rater", "label", "date"), row, strict=False))


def day_of(date):
    """Days since 1970-01-01 of a number, or of a date or time in ISO 8601; UTC where a zone is
    named."""
    if date is None or date == "":
        return drift.UNDATED
    if isinstance(date, int):
        return date
    time = datetime.datetime.fromisoformat(date)
    if time.tzinfo is not None:
        time = time.astimezone(datetime.UTC)
    return (time.date() - EPOCH).days


# --- options


def prior_of(channel, options):
    """The channel's assumptions; an option is one number, or one for each channel or score."""
    known = {
        "omega": "omega",
        "tolerance": "delta0",
        "least_before": "n0",
        "least_since": "n1",
        "pseudo": "pseudo",
        "caution": "caution",
        "step": "step",
        "ramps": "ramps",
        "window": "window",
    }
    given: dict[str, Any] = {}
    for name, option in known.items():
        value = options.get(option, MISSING)
        if isinstance(value, dict):
            value = value.get(channel, value.get(drift.SCORE_OF_CHANNEL[channel], MISSING))
        if value is not MISSING:
            given[name] = tuple(value) if isinstance(value, list) else value
    return replace(drift.PRIORS[channel], **given)


def settings_of(options):
    known = {
        "alarm": ("A", "alarm"),
        "watch": ("watch",),
        "nominal": ("share_nominal",),
        "ordered": ("share_ordered",),
        "wobble": ("wobble",),
        "floor": ("floor",),
        "prior_items": ("prior_items",),
        "prior_days": ("prior_days",),
        "ridge": ("ridge",),
    }
    given = {}
    for name, spellings in known.items():
        for spelling in spellings:
            if spelling in options:
                given[name] = options[spelling]
    priors = {channel: prior_of(channel, options) for channel in drift.PRIORS}
    return drift.DriftSettings(priors=priors, **given)
