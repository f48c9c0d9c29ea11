"""Each record of a file is judged as it comes: it gets its numbers in the staging, or is a
problem."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from django.utils import timezone

from core.text import has_control
from projects.models import Question
from projects.services import question_validation
from projects.services.items import upsert
from projects.services.raters import fields
from ratings.imports import records
from ratings.imports.problems import Found, Problem, shown
from ratings.imports.skipped_rows import LeftOutCounts
from ratings.imports.staging.database import Content, Row, Staging
from ratings.imports.staging.key_ids import Answers, KeyColumn, is_unicode
from ratings.imports.staging.timestamps import microseconds_of
from ratings.services.days import WrongTime, check_rated_at, parse_rated_at

MAX_COMMENT = 10_000  # characters, as in the API
MOST_GUIDELINES = 32_767  # versions: what the column holds
OTHER_QUESTIONS_NAMED = 20


class Judge:
    """Judges what a file says. Problems collect in ``found``, what is right in the staging."""

    def __init__(
        self,
        staging: Staging,
        *,
        questions: Mapping[str, Question],
        chosen: str | None,
        columns: Mapping[str, str],
        lenient: bool = False,
        raters_here: Mapping[str, str] = MappingProxyType({}),
        questions_here: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """``questions`` are those of the project by key. ``chosen`` is the key of the one question
        that all answers are of, or None where the file names the question of each. ``columns`` is
        what the file calls item, rater, label, rated_at, comment and question, for messages.
        ``lenient``: nobody chose what the labels are, so that free texts are no mistake.
        ``raters_here`` and ``questions_here``: the file's keys to those of the project, where these
        are others."""
        self.questions_here = questions_here
        self.named: dict[str, str] = {}  # the file's keys of questions to those of the project
        self.lenient = lenient
        self.found = Found()
        self.left_out = LeftOutCounts()
        self.staging = staging
        self.known = questions
        self.chosen = chosen
        self.columns = columns
        self.questions: dict[str, Answers] = {}
        self.now = timezone.now()
        self.of_other_questions = 0
        self.n_labels = 0
        self._other_questions: dict[str, None] = {}
        self.items = KeyColumn(
            staging.items, columns=columns, longest=upsert.LONGEST_KEY, found=self.found
        )
        self.raters = KeyColumn(
            staging.raters,
            columns=columns,
            longest=fields.LONGEST_KEY,
            found=self.found,
            others=raters_here,
        )
        self._take: dict[type, Callable[[Any], None]] = {
            records.Judgement: self._judgement,
            records.Item: self._item,
            records.Rater: self._rater,
            records.Question: self._question,
            records.Gold: self._gold,
            records.LeftOut: self._left_out,
            records.Wrong: self._wrong,
        }
        if chosen is not None:
            self._answers(chosen, None)

    def take(self, record: records.Record) -> None:
        self._take[type(record)](record)

    def other_questions(self) -> str:
        """The first keys that are not the chosen question's, for a message."""
        return ", ".join(self._other_questions)

    # --- kinds of records

    def _judgement(self, said: records.Judgement) -> None:
        if said.label is None:
            self._skip(said)
            return
        answers = self._answers(said.question, said.line)
        if answers is None:
            return
        line = said.line
        item = self.items.number(said.item, line)
        rater = self.raters.number(said.rater, line)
        label = self._label(answers, said.label, line, said.column)
        rated_at = self._moment(said.rated_at, line)
        comment = self._comment(said.comment, line)
        guidelines = self._guidelines(said.guidelines, line)
        if item is not None and rater is not None and label is not None:
            seconds = self._seconds(said.seconds)
            row = Row(
                answers.number, item, rater, line, label, rated_at, comment, seconds, guidelines
            )
            self.staging.rows.append(row)

    def _skip(self, said: records.Judgement) -> None:
        item = self.items.number(said.item, said.line)
        rater = self.raters.number(said.rater, said.line)
        rated_at = self._moment(said.rated_at, said.line)
        comment = self._comment(said.comment, said.line)
        if item is not None and rater is not None:
            self.staging.skips.append((item, rater, said.line, rated_at, (comment or "")[:300]))

    def _label(self, answers: Answers, label: str, line: int, column: str) -> int | None:
        """The number of a label. Where a tool's question has more labels than one may have, they
        are free texts: all of them are left out."""
        full = len(answers.numbers) >= question_validation.MOST_CATEGORIES
        if self.lenient and answers.learning and full and label not in answers.numbers:
            answers.free_text = True
        if answers.free_text:
            self.left_out.add(line, "free_text")
            return None
        return answers.label(label, line, column or self.columns.get("label", ""), self.found)

    def _item(self, item: records.Item) -> None:
        number = self.items.number(item.key, item.line)
        texts = []
        for name, value in (("body", item.body), ("attributes", item.attributes)):
            texts.append(None if value is None else self._object(name, value, item.line))
        body, attributes = texts
        if number is None:
            return
        body_digest = None if body is None else _digest(body)
        digest = None if body is None else _digest(f"{body}\n{attributes}")
        content = Content(number, item.line, body, attributes, digest, body_digest)
        self.staging.describe(content)

    def _rater(self, rater: records.Rater) -> None:
        number = self.raters.number(rater.key, rater.line, rater.column)
        if number is None or (rater.kind == "human" and not rater.name):
            return
        said = (
            rater.name[: fields.LONGEST_NAME],
            rater.model[: fields.LONGEST_MODEL],
            rater.prompt_version[: fields.LONGEST_VERSION],
        )
        if not any(has_control(text) or not is_unicode(text) for text in said):
            name, model, version = said
            self.staging.kinds[number] = (rater.kind, name, model, version)

    def _question(self, question: records.Question) -> None:
        answers = self._answers(question.key, question.line)
        if answers is not None and answers.learning:
            answers.text = answers.text or question.text
            answers.declare(question.labels)

    def _gold(self, gold: records.Gold) -> None:
        answers = self._answers(gold.question, gold.line)
        if answers is None:
            return
        item = self.items.number(gold.item, gold.line)
        counts = dict(answers.counts)
        column = gold.column or self.columns.get("gold", "")
        label = self._label(answers, gold.label, gold.line, column)
        if gold.label in answers.counts:  # it is known now, but nobody has given it
            answers.counts[gold.label] = counts.get(gold.label, 0)
        if item is not None and label is not None:
            self.staging.golds.append((item, answers.number, label, gold.line))

    def _left_out(self, left: records.LeftOut) -> None:
        self.left_out.add(left.line, left.reason)

    def _wrong(self, wrong: records.Wrong) -> None:
        if wrong.fatal:
            self.found.add_fatal(Problem(wrong.kind, wrong.line, wrong.column, wrong.values))
        else:
            self.found.add(wrong.kind, wrong.line, wrong.column, **wrong.values)

    # --- parts of them

    def _answers(self, key: str, line: int | None) -> Answers | None:
        """The question of a record; None where it is another than the chosen one, which is
        counted, or cannot be a question."""
        if self.chosen is not None and key not in ("", self.chosen):
            self.of_other_questions += 1
            if len(self._other_questions) < OTHER_QUESTIONS_NAMED:
                self._other_questions[shown(key)] = None
            return None
        wanted = self.chosen or self.named.get(key) or self._here(key)
        return self.questions.get(wanted) or self._meet(wanted, line)

    def _here(self, key: str) -> str:
        """The project's key of a question of the file."""
        own = key or "label"
        wanted = self.questions_here.get(own, own)
        if len(self.named) < question_validation.MOST_QUESTIONS:
            self.named[own] = wanted
        return wanted

    def _meet(self, key: str, line: int | None) -> Answers | None:
        known = self.known.get(key)
        if known is None and self.chosen is None:
            trouble = ""
            if not question_validation.KEY.fullmatch(key):
                trouble = "question_key"
            elif len(self.questions) >= question_validation.MOST_QUESTIONS:
                trouble = "questions_many"
            if trouble:
                column = self.columns.get("question", "")
                limit = question_validation.MOST_QUESTIONS
                self.found.add(trouble, line, column, value=key[:64], limit=limit)
                return None
        number = len(self.questions) + 1
        answers = Answers(key, known, number=number, next_label=self._next_label)
        self.questions[key] = answers
        return answers

    def _next_label(self) -> int:
        self.n_labels += 1
        return self.n_labels

    def _moment(self, time: records.Time, line: int) -> int | None:
        """Microseconds since 1970; None where there is no time or a problem."""
        if not time:
            return None
        try:
            if isinstance(time, str):
                moment = parse_rated_at(time, now=self.now)
            else:
                moment = check_rated_at(time, now=self.now)
        except WrongTime as error:
            column = self.columns.get("rated_at", "")
            self.found.add("time", line, column, why=error.why, time=error.time)
            return None
        return microseconds_of(moment)

    def _comment(self, text: str | None, line: int) -> str | None:
        if text and (len(text) > MAX_COMMENT or "\0" in text or not is_unicode(text)):
            column = self.columns.get("comment", "")
            kind = "key_long" if len(text) > MAX_COMMENT else "nul_text"
            self.found.add(
                kind, line, column, value=shown(text)[:40], found=len(text), limit=MAX_COMMENT
            )
            return None
        return text

    def _guidelines(self, version: str | None, line: int) -> int | None:
        """0 where the file says that nobody knows."""
        if not version:
            return None if version is None else 0
        if version.isascii() and version.isdigit() and 0 < int(version[:9]) <= MOST_GUIDELINES:
            return int(version)
        column = self.columns.get("guidelines", "")
        self.found.add("guidelines", line, column, value=version[:40], limit=MOST_GUIDELINES)
        return None

    def _seconds(self, seconds: float | None) -> float | None:
        if seconds is None or not math.isfinite(seconds) or seconds < 0:
            return None
        return float(seconds)

    def _object(self, name: str, value: dict[str, Any], line: int) -> str | None:
        """A body or attributes as JSON text; None where there is a problem."""
        if why := upsert.FIELDS[name].problem(value):
            self.found.add("item_wrong", line, "", why=why)
            return None
        text = json.dumps(value, ensure_ascii=False)
        if "\\u0000" in text and _has_nul(value):
            self.found.add("nul_text", line, "")
            return None
        if not is_unicode(text):
            self.found.add("surrogate", line, "", value=name)
            return None
        return text


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_has_nul(key) or _has_nul(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(_has_nul, value))
