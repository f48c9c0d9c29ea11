"""Find the answers of raters in exports: columns of tables, and nested forms."""

from __future__ import annotations

import datetime
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any
from xml.etree.ElementTree import ParseError
from zoneinfo import ZoneInfo

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from ratings.imports.decoding.table_times import MONTH_FIRST, parse_table_time
from ratings.imports.readers.tables.cells import is_empty_cell
from ratings.imports.records import RecordTime

from .base import Fields, to_text

SAMPLE_RECORDS = 20_000
MAX_ANSWERS = 50  # different values; a column with more is a text


def find_answer_columns(
    records: Iterable[tuple[int, Fields]], *, item_field: str, candidates: Collection[str]
) -> list[str]:
    """Return the candidates that are answers, in their order.

    These are the columns that differ between records of the same item, whose key is in the field
    ``item_field``; without any, the columns with few different values.
    """
    first_values: dict[str, dict[str, str]] = {name: {} for name in candidates}
    values: dict[str, set[str]] = {name: set() for name in candidates}
    differing: set[str] = set()
    items: set[str] = set()
    for _line, record in itertools.islice(records, SAMPLE_RECORDS):
        item = to_text(record.get(item_field))
        items.add(item)
        for name in candidates:
            value = record.get(name)
            if is_empty_cell(value):
                continue
            text = to_text(value)
            if len(values[name]) <= MAX_ANSWERS:
                values[name].add(text)
            if first_values[name].setdefault(item, text) != text:
                differing.add(name)
    answers = [name for name in candidates if name in differing]
    if answers:
        return answers
    limit = min(MAX_ANSWERS, max(len(items) // 2, 2))
    return [name for name in candidates if 0 < len(values[name]) <= limit]


# Hours from UTC of the zone names that Java's date format writes.
ZONE_HOURS = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7, "MST": -7, "CST": -6, "EST": -5, "EDT": -4}
_JAVA_TIME = re.compile(r"\w{3} (\w{3} \d{1,2} \d\d:\d\d:\d\d) ([A-Z]{3,4}) (\d{4})")


def iter_answers(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield (question, answer) from the content that one worker submitted.

    A form writes {"tone": "calm"}, a classifier {"tone": {"label": "calm"}}, and radio buttons
    {"tone": {"calm": true, "angry": false}}. The answer of several checked boxes is a list.
    """
    if isinstance(content, list):
        for part in content:
            yield from iter_answers(part)
    elif isinstance(content, dict):
        for name, value in content.items():
            yield name, _get_answer(value)


def _get_answer(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    for name in ("label", "labels"):
        if name in value:
            return value[name]
    if len(value) > 1 and all(isinstance(checked, bool) for checked in value.values()):
        return [name for name, checked in value.items() if checked]
    if len(value) == 1:
        return _get_answer(next(iter(value.values())))
    return value


def parse_form_answers(text: str) -> Fields:
    """Return question -> answer of a QuestionFormAnswers document (XML of Mechanical Turk).

    Several selections are a list. Empty if the text is no such document.
    """
    try:
        root = ElementTree.fromstring(text) if text.startswith("<") else None
    except (ParseError, DefusedXmlException):
        root = None
    answers: Fields = {}
    for answer in root if root is not None else ():
        values = {child.tag.rpartition("}")[2]: child.text or "" for child in answer}
        selections = [child.text for child in answer if child.tag.endswith("}SelectionIdentifier")]
        question = values.pop("QuestionIdentifier", "")
        if question:
            answers[question] = (
                selections if len(selections) > 1 else next(iter(values.values()), "")
            )
    return answers


def group_options_by_question(fields: Fields) -> Fields:
    """Return question -> answer, from columns named after a question or one of its options.

    `tone.label` and `tone` have the answer itself, `tone.calm` says whether an option is selected.
    The answer to a question with a single option, such as `cat.on`, is true or false.
    """
    options: dict[str, list[str]] = {}
    n_options = Counter(name.partition(".")[0] for name in fields if "." in name)
    answers: Fields = {}
    for name, value in fields.items():
        question, _dot, option = name.partition(".")
        text = to_text(value)
        is_only_option = n_options[question] == 1 and text.casefold() in ("true", "false", "")
        if not option or option in ("label", "labels") or is_only_option:
            answers[question] = value
        elif text.casefold() in ("true", "false", ""):
            options.setdefault(question, [])
            if text.casefold() == "true":
                options[question].append(option)
        else:
            answers[name] = value
    return answers | options


def select_fields_with_prefix(fields: Fields, prefix: str) -> Fields:
    """Return the fields whose names begin with the prefix, without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in fields.items()
        if name.startswith(prefix)
    }


def parse_crowd_time(value: Any) -> RecordTime:
    """Return a crowd platform's time as a datetime, or None if it cannot be read.

    Accepts ISO 8601, `Tue Mar 03 08:14:21 PST 2026`, and `3/1/2026 10:01:00` in UTC.
    """
    text = to_text(value)
    match = _JAVA_TIME.fullmatch(text)
    if match:
        hours = ZONE_HOURS.get(match[2])
        if hours is None:
            return None
        zone = datetime.timezone(datetime.timedelta(hours=hours))
        time_text = f"{match[1]} {match[3]}"
        return datetime.datetime.strptime(time_text, "%b %d %H:%M:%S %Y").replace(tzinfo=zone)
    parsed = parse_table_time(text, zone=ZoneInfo("UTC"), date_order=MONTH_FIRST)
    return parsed if isinstance(parsed, datetime.datetime) else None
