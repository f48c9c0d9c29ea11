"""Compute the answers of metrics.agreement.drift to cases of the topics alarm_evidence and alarm.

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


def answer_alert_evidence(case, _folder):
    """Return the evidence of one channel on every day, its first alert, and the onset it gives."""
    options = case.get("options", {})
    channel = case.get("channel", drift.AGREEMENT)
    days = case["days"]
    evidence = drift.compute_evidence(
        days["items"],
        days["sum"],
        days["squares"],
        s2=case["s2"],
        kappa2=case["kappa2"],
        side=drift.SIDE_OF_CHANNEL[channel],
        prior=build_prior(channel, options),
    )
    alert_days = np.flatnonzero(
        evidence.total >= options.get("alarm", drift.DriftSettings().alert_level)
    )
    index = int(alert_days[0]) if alert_days.size else None
    answers = {
        "evidence": evidence.total.tolist(),
        "alarm_day": index,
        "onset_day": None if index is None else int(evidence.onset[index]),
        "step": None if index is None else float(evidence.step[index]),
    }
    return {name: answers[name] for name in case["expected"]}


def answer_alerts(case, folder):
    """Return the alerts of a table of ratings, with the fields that are expected."""
    rows = read_rows(case, folder)
    categories = case.get("categories") or sorted({row["label"] for row in rows})
    names = sorted({row["rater"] for row in rows})
    items = {name: number for number, name in enumerate(sorted({row["item"] for row in rows}))}
    result = drift.detect_drift(
        [items[row["item"]] for row in rows],
        [names.index(row["rater"]) for row in rows],
        [categories.index(row["label"]) for row in rows],
        [parse_day(row["date"]) for row in rows],
        len(categories),
        case.get("scale", "nominal") != "nominal",
        settings=build_settings(case.get("options", {})),
    )
    reasons = {
        names[entry.rater]: entry.reason for entry in result.raters if entry.reason is not None
    }
    answers = {
        "alarms": [build_alert_fields(entry, names, case) for entry in result.alerts],
        "steps": [entry.size for entry in result.alerts],
        "reasons": reasons,
        "watched": [names[entry.rater] for entry in result.raters if entry.watched],
        "greatest": {names[entry.rater]: entry.max_evidence for entry in result.raters},
        "evidence": {names[entry.rater]: entry.evidence for entry in result.raters},
    }
    return {name: find_answer(answers, name) for name in case["expected"]}


TOPICS = {"alarm_evidence": answer_alert_evidence, "alarm": answer_alerts}


def find_answer(answers, name):
    """Return an answer by name; `reasons.rater1` is rater1's entry among the reasons, or None."""
    first, _, key = name.partition(".")
    return answers[first].get(key) if key else answers[first]


def build_alert_fields(alert, names, case):
    """Return the fields of an alert that the case's alerts have, or the usual fields."""
    expected = case["expected"].get("alarms") or [{}]
    field_names = expected[0] or dict.fromkeys(("rater", "channel", "day", "onset"))
    fields = {
        "rater": names[alert.rater],
        "raters": [names[rater] for rater in alert.raters],
        "channel": alert.channel,
        "day": str(EPOCH + datetime.timedelta(alert.day)),
        "onset": str(EPOCH + datetime.timedelta(alert.onset)),
        "earliest": str(EPOCH + datetime.timedelta(alert.earliest)),
        "latest": str(EPOCH + datetime.timedelta(alert.latest)),
        "low": alert.low,
        "high": alert.high,
        "step": alert.size,
        "size": alert.size,
        "evidence": alert.evidence,
        "reason": alert.reason,
        "n_before": alert.n_before,
        "n_since": alert.n_since,
    }
    return {name: fields[name] for name in field_names}


# --- input


def read_rows(case, folder):
    """Return rows as dicts of item, rater, label and date, one an item and rater.

    The first row counts, or the last one where the case keeps the last.
    """
    if "rows" in case:
        rows = [row if isinstance(row, dict) else name_columns(row) for row in case["rows"]]
    else:
        path = folder / case["file"]
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    if case.get("keep", "first").startswith("last"):
        rows = rows[::-1]
    current_rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        date = row.get("date") or row.get("timestamp") or row.get("rated_at")
        current_row = {
            "item": row["item"],
            "rater": row["rater"],
            "label": row["label"],
            "date": date,
        }
        current_rows.setdefault((row["item"], row["rater"]), current_row)
    return [row for row in current_rows.values() if row["label"] not in (None, "")]


def name_columns(row):
    """Return a row as a dict of item, rater, label and date."""
    return dict(zip(("item", "rater", "label", "date"), row, strict=False))


def parse_day(date):
    """Return days since 1970-01-01 of a number or of a date or time in ISO 8601.

    A time with a zone is converted to UTC.
    """
    if date is None or date == "":
        return drift.UNDATED
    if isinstance(date, int):
        return date
    time = datetime.datetime.fromisoformat(date)
    if time.tzinfo is not None:
        time = time.astimezone(datetime.UTC)
    return (time.date() - EPOCH).days


# --- options


def build_prior(channel, options):
    """Return the channel's assumptions; an option is one number, or one for each channel or score."""
    option_by_field = {
        "omega": "omega",
        "tolerance": "delta0",
        "least_before": "n0",
        "least_since": "n1",
        "pseudo": "pseudo",
        "skew_prior_items": "caution",
        "step": "step",
        "ramps": "ramps",
        "window": "window",
    }
    overrides: dict[str, Any] = {}
    for name, option in option_by_field.items():
        value = options.get(option, MISSING)
        if isinstance(value, dict):
            value = value.get(channel, value.get(drift.SCORE_OF_CHANNEL[channel], MISSING))
        if value is not MISSING:
            overrides[name] = tuple(value) if isinstance(value, list) else value
    return replace(drift.PRIORS[channel], **overrides)


def build_settings(options):
    """Return the settings of drift detection that the options give."""
    spellings_by_field = {
        "alert_level": ("A", "alarm"),
        "watch_level": ("watch",),
        "nominal": ("share_nominal",),
        "ordered": ("share_ordered",),
        "prior_day_sd": ("wobble",),
        "min_item_variance": ("floor",),
        "prior_items": ("prior_items",),
        "prior_days": ("prior_days",),
        "ridge": ("ridge",),
    }
    overrides = {}
    for name, spellings in spellings_by_field.items():
        for spelling in spellings:
            if spelling in options:
                overrides[name] = options[spelling]
    priors = {channel: build_prior(channel, options) for channel in drift.PRIORS}
    return drift.DriftSettings(priors=priors, **overrides)
