"""Validate each record of a file as it is read; valid records go to the staging database."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from django.utils import timezone

from core.text import has_control_character
from projects.models import Question
from projects.services import item_upsert, question_validation, rater_changes
from ratings.imports import records
from ratings.imports.problems import ImportProblem, ProblemList, truncate_text
from ratings.imports.records import SkippedRecordCounts
from ratings.imports.values.label_interpretation import LabelOptions
from ratings.services.rating_timestamps import InvalidTime, parse_rated_at, validate_rated_at

from .database import (
    EncodedContent,
    EncodedRating,
    StagingDatabase,
    to_microseconds,
)
from .key_and_label_ids import KeyResolver, QuestionLabels, is_unicode

MAX_COMMENT_LENGTH = 10_000  # characters, as in the API
MAX_GUIDELINES_VERSION = 32_767  # the largest value of the database column
MAX_LISTED_QUESTIONS = 20
_ENCODER = json.JSONEncoder(ensure_ascii=False)


class RecordValidator:
    """Validates the records of a file.

    Problems are collected in ``problems``, skipped records in ``skipped_records``, valid records in
    ``staging``.
    """

    def __init__(
        self,
        staging: StagingDatabase,
        *,
        questions: Mapping[str, Question],
        selected_question: str | None,
        columns: Mapping[str, str],
        allow_free_text: bool = False,
        project_rater_keys: Mapping[str, str] = MappingProxyType({}),
        project_question_keys: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Create a validator.

        ``questions`` are the project's questions by key. ``selected_question`` is the key of the
        one question that all ratings answer, or None if the file names the question of each rating.
        ``columns`` has the file's names of item, rater, label, gold and so on, by role, for
        messages. ``allow_free_text``: nobody selected the column of labels, so free texts are
        skipped instead of reported. ``project_rater_keys`` and ``project_question_keys`` map keys
        of the file to the project's keys where these differ.
        """
        self.project_question_keys = project_question_keys
        self.resolved_question_keys: dict[
            str, str
        ] = {}  # question key in the file -> key in the project
        self.allow_free_text = allow_free_text
        self.problems = ProblemList()
        self.skipped_records = SkippedRecordCounts()
        self.staging = staging
        self.project_questions = questions
        self.selected_question = selected_question
        self.columns = columns
        self.labels_by_question: dict[str, QuestionLabels] = {}
        self.now = timezone.now()
        self.n_other_questions = 0
        self.n_labels = 0
        self._other_question_keys: dict[str, None] = {}
        self.validated_raters: dict[str, tuple[str, ...]] = {}  # key -> last record of the rater
        self.item_keys = KeyResolver(
            staging.items,
            columns=columns,
            max_length=item_upsert.MAX_KEY_LENGTH,
            problems=self.problems,
        )
        self.rater_keys = KeyResolver(
            staging.raters,
            columns=columns,
            max_length=rater_changes.MAX_KEY_LENGTH,
            problems=self.problems,
            project_keys=project_rater_keys,
        )
        self._handlers: dict[type, Callable[[Any], None]] = {
            records.RatingRecord: self._stage_rating,
            records.ItemRecord: self._stage_item,
            records.RaterRecord: self._stage_rater,
            records.QuestionRecord: self._add_question_labels,
            records.GoldRecord: self._stage_gold,
            records.SkippedRecord: self._count_skipped_record,
            records.ReaderProblem: self._add_problem,
        }
        if selected_question is not None:
            self._get_question_labels(selected_question, None)

    def validate_and_stage(self, record: records.Record) -> None:
        """Validate one record and stage it, count it as skipped, or add a problem."""
        self._handlers[type(record)](record)

    def interpret_labels(self, options: LabelOptions) -> None:
        """Decide which text is which label, after all records are validated.

        Texts that stand for missing values are counted as skipped records.
        """
        for question_labels in self.labels_by_question.values():
            if self.allow_free_text and question_labels.is_new:
                is_many = len(question_labels.ids) > question_validation.MAX_CATEGORIES
                problems = ProblemList() if is_many else self.problems
                question_labels.interpret_texts(options, problems)
                n_labels = len(question_labels.count_labels())
                question_labels.is_free_text |= n_labels > question_validation.MAX_CATEGORIES
            else:
                question_labels.interpret_texts(options, self.problems)
            for text in question_labels.list_missing_codes():
                lines = [line for line, _column in question_labels.places.get(text, ())]
                self.skipped_records.add_lines(lines, "missing", count=question_labels.counts[text])

    def format_other_questions(self) -> str:
        """Return the first keys of questions that are not the selected one, as one text."""
        return ", ".join(self._other_question_keys)

    # --- one method per kind of record

    def _stage_rating(self, rating: records.RatingRecord) -> None:
        """Stage a rating whose item, rater and label are valid."""
        if rating.label is None:
            self._stage_skip(rating)
            return
        if not rating.label:
            self.skipped_records.add(rating.line, "missing")
            return
        question_labels = self._get_question_labels(rating.question, rating.line)
        if question_labels is None:
            return
        line = rating.line
        item_id = self.item_keys.resolve(rating.item, line)
        rater_id = self.rater_keys.resolve(rating.rater, line)
        label_id = self._resolve_label(question_labels, rating.label, line, rating.column)
        rated_at = self._parse_time(rating.rated_at, line)
        comment = self._parse_comment(rating.comment, line)
        guidelines = self._parse_guidelines_version(rating.guidelines, line)
        if item_id is not None and rater_id is not None and label_id is not None:
            seconds = self._parse_seconds(rating.seconds)
            row = EncodedRating(
                question_labels.staged_id,
                item_id,
                rater_id,
                line,
                label_id,
                rated_at,
                comment,
                seconds,
                guidelines,
            )
            self.staging.ratings.append(row)

    def _stage_skip(self, rating: records.RatingRecord) -> None:
        """Stage that a rater skipped an item."""
        item_id = self.item_keys.resolve(rating.item, rating.line)
        rater_id = self.rater_keys.resolve(rating.rater, rating.line)
        rated_at = self._parse_time(rating.rated_at, rating.line)
        comment = self._parse_comment(rating.comment, rating.line)
        if item_id is not None and rater_id is not None:
            self.staging.skips.append(
                (item_id, rater_id, rating.line, rated_at, (comment or "")[:300])
            )

    def _resolve_label(
        self, question_labels: QuestionLabels, label: str, line: int, column: str
    ) -> int | None:
        """Return the staged id of a label; None if it is skipped, invalid, or one of too many.

        If a question of a tool's export has more labels than a question may have, its answers are
        free texts, and all of them are skipped.
        """
        if (
            self.allow_free_text
            and question_labels.is_new
            and question_labels.is_full
            and label not in question_labels.ids
        ):
            question_labels.is_free_text = True
        if question_labels.is_free_text:
            self.skipped_records.add(line, "free_text")
            return None
        return question_labels.count_and_get_id(
            label, line, column or self.columns.get("label", ""), self.problems
        )

    def _stage_item(self, item: records.ItemRecord) -> None:
        """Stage the content and attributes of an item."""
        item_id = self.item_keys.resolve(item.key, item.line)
        texts = []
        for name, value in (("body", item.body), ("attributes", item.attributes)):
            texts.append(None if value is None else self._serialize_object(name, value, item.line))
        body, attributes = texts
        if item_id is None:
            return
        body_digest = digest = None
        if body is not None:
            body_digest = _compute_digest(body)
            digest = _compute_digest(f"{body}\n{attributes}") if attributes else body_digest
        content = EncodedContent(item_id, item.line, body, attributes, digest, body_digest)
        self.staging.add_content(content)

    def _stage_rater(self, rater: records.RaterRecord) -> None:
        """Stage a rater with name, kind and model."""
        if self.validated_raters.get(rater.key) == rater[1:]:
            return  # files repeat the same rater in every record
        self.validated_raters[rater.key] = rater[1:]
        rater_id = self.rater_keys.resolve(rater.key, rater.line, rater.column)
        if rater_id is None or (rater.kind == "human" and not rater.name):
            return
        texts = (
            rater.name[: rater_changes.MAX_NAME_LENGTH],
            rater.model[: rater_changes.MAX_MODEL_LENGTH],
            rater.prompt_version[: rater_changes.MAX_VERSION_LENGTH],
        )
        if not any(has_control_character(text) or not is_unicode(text) for text in texts):
            name, model, version = texts
            self.staging.rater_details[rater_id] = (rater.kind, name, model, version)

    def _add_question_labels(self, question: records.QuestionRecord) -> None:
        """Add the text and the labels of a new question."""
        question_labels = self._get_question_labels(question.key, question.line)
        if question_labels is not None and question_labels.is_new:
            question_labels.text = question_labels.text or question.text
            question_labels.add_labels(question.labels)

    def _stage_gold(self, gold: records.GoldRecord) -> None:
        """Stage a gold answer."""
        question_labels = self._get_question_labels(gold.question, gold.line)
        if question_labels is None:
            return
        item_id = self.item_keys.resolve(gold.item, gold.line)
        counts_before = dict(question_labels.counts)
        column = gold.column or self.columns.get("gold", "")
        label_id = self._resolve_label(question_labels, gold.label, gold.line, column)
        if (
            gold.label in question_labels.counts
        ):  # a gold answer adds the label without counting a rating
            question_labels.counts[gold.label] = counts_before.get(gold.label, 0)
        if item_id is not None and label_id is not None:
            self.staging.gold_answers.append(
                (item_id, question_labels.staged_id, label_id, gold.line)
            )

    def _count_skipped_record(self, skipped: records.SkippedRecord) -> None:
        """Count a record that the reader skipped."""
        self.skipped_records.add(skipped.line, skipped.reason, skipped.value)

    def _add_problem(self, problem: records.ReaderProblem) -> None:
        """Add a problem that the reader found."""
        if problem.fatal:
            self.problems.add_fatal(
                ImportProblem(problem.kind, problem.line, problem.column, problem.values)
            )
        else:
            self.problems.add(problem.kind, problem.line, problem.column, **problem.values)

    # --- fields of records

    def _get_question_labels(self, key: str, line: int | None) -> QuestionLabels | None:
        """Return the labels of a record's question, or None.

        None means that the question is not the selected one, which is counted, or that its key is
        invalid, which is a problem.
        """
        if self.selected_question is not None and key not in ("", self.selected_question):
            self.n_other_questions += 1
            if len(self._other_question_keys) < MAX_LISTED_QUESTIONS:
                self._other_question_keys[truncate_text(key)] = None
            return None
        project_key = (
            self.selected_question
            or self.resolved_question_keys.get(key)
            or self._resolve_question_key(key)
        )
        return self.labels_by_question.get(project_key) or self._add_question(project_key, line)

    def _resolve_question_key(self, key: str) -> str:
        """Return the project's key of a question of the file."""
        file_key = key or "label"
        project_key = self.project_question_keys.get(file_key, file_key)
        if len(self.resolved_question_keys) < question_validation.MAX_QUESTIONS:
            self.resolved_question_keys[file_key] = project_key
        return project_key

    def _add_question(self, key: str, line: int | None) -> QuestionLabels | None:
        """Add a question when its key first appears; return None after adding a problem."""
        question = self.project_questions.get(key)
        if question is None and self.selected_question is None:
            problem_kind = ""
            if not question_validation.KEY_PATTERN.fullmatch(key):
                problem_kind = "question_key"
            elif len(self.labels_by_question) >= question_validation.MAX_QUESTIONS:
                problem_kind = "questions_many"
            if problem_kind:
                column = self.columns.get("question", "")
                limit = question_validation.MAX_QUESTIONS
                self.problems.add(problem_kind, line, column, value=key[:64], limit=limit)
                return None
        staged_id = len(self.labels_by_question) + 1
        question_labels = QuestionLabels(
            key, question, staged_id=staged_id, next_label_id=self._next_label_id
        )
        self.labels_by_question[key] = question_labels
        return question_labels

    def _next_label_id(self) -> int:
        """Return the next free staged id of a label."""
        self.n_labels += 1
        return self.n_labels

    def _parse_time(self, time: records.RecordTime, line: int) -> int | None:
        """Return microseconds since 1970, or None if there is no time or after adding a problem."""
        if not time:
            return None
        try:
            if isinstance(time, str):
                rated_at = parse_rated_at(time, now=self.now)
            else:
                rated_at = validate_rated_at(time, now=self.now)
        except InvalidTime as error:
            column = self.columns.get("rated_at", "")
            self.problems.add("time", line, column, why=error.reason, time=error.time)
            return None
        return to_microseconds(rated_at)

    def _parse_comment(self, text: str | None, line: int) -> str | None:
        """Return the comment; None if the file has none, or after adding a problem."""
        if text and (len(text) > MAX_COMMENT_LENGTH or "\0" in text or not is_unicode(text)):
            column = self.columns.get("comment", "")
            kind = "key_long" if len(text) > MAX_COMMENT_LENGTH else "nul"
            self.problems.add(
                kind,
                line,
                column,
                value=truncate_text(text)[:40],
                found=len(text),
                limit=MAX_COMMENT_LENGTH,
            )
            return None
        return text

    def _parse_guidelines_version(self, version: str | None, line: int) -> int | None:
        """Return the guidelines version: 0 for unknown, None for none or after adding a problem."""
        if not version:
            return None if version is None else 0
        is_number = version.isascii() and version.isdigit() and len(version) < 10
        if is_number and 0 < int(version) <= MAX_GUIDELINES_VERSION:
            return int(version)
        column = self.columns.get("guidelines", "")
        self.problems.add(
            "guidelines", line, column, value=version[:40], low=1, limit=MAX_GUIDELINES_VERSION
        )
        return None

    def _parse_seconds(self, seconds: float | None) -> float | None:
        """Return a duration in seconds; None without one, or if it is negative or not finite."""
        if seconds is None or not math.isfinite(seconds) or seconds < 0:
            return None
        return float(seconds)

    def _serialize_object(self, name: str, value: dict[str, Any], line: int) -> str | None:
        """Return a body or attributes as JSON text, or None after adding a problem."""
        if why := item_upsert.FIELDS[name].find_problem(value):
            self.problems.add("invalid_item", line, "", why=why)
            return None
        text = _ENCODER.encode(value)
        if "\\u0000" in text and _has_nul(value):
            self.problems.add("nul", line, "")
            return None
        if not is_unicode(text):
            self.problems.add("surrogate", line, "", value=name)
            return None
        return text


def _compute_digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_has_nul(key) or _has_nul(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(_has_nul, value))
