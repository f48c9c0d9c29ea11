"""Gold answers in rows of items, by the labels of the project's questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.api.errors import RowProblem
from core.api.parameters import build_rows_error
from core.db import bulk
from projects.models import Project, Question
from projects.services.row_validation import RowData

from . import gold

# question -> key of an item -> its answer, None to retire it
GoldAnswers = dict[Question, dict[str, gold.Answer | None]]


def parse_gold_rows(project: Project, items: Sequence[RowData]) -> GoldAnswers:
    """Return {question: {item key: answer, None to retire it}} of validated rows.

    Raises BadRequest with the errors of each row. Call it in the transaction that writes the
    answers, before items are locked: locks are always taken in this order.
    """
    used_keys = {key for row in items for key in row.get("gold", {})}
    if not used_keys:
        return {}
    questions = {question.key: question for question in project.questions.order_by("pk")}
    for question in questions.values():
        if question.key in used_keys:
            gold.lock_gold_answers(question)
    codes = {
        key: get_codes_by_label(question) for key, question in questions.items() if key in used_keys
    }
    answers: GoldAnswers = {questions[key]: {} for key in codes}
    errors: dict[int, list[RowProblem]] = {}
    for index, row in enumerate(items):
        for key, value in row.get("gold", {}).items():
            try:
                if key not in codes:
                    raise gold.InvalidGoldAnswer(f"unknown question; one of {', '.join(questions)}")
                answer = None if value is None else gold.parse_answer(value, codes[key])
                answers[questions[key]][row["key"]] = answer
            except gold.InvalidGoldAnswer as error:
                message = f"'gold' of '{key[:64]}': {error}"
                errors.setdefault(index, []).append(RowProblem("invalid", "gold", message))
    if errors:
        raise build_rows_error("item", errors)
    return answers


def get_codes_by_label(question: Question) -> dict[str, int]:
    """Return {label: code} of the active categories, in declared order."""
    return {category.label: category.code for category in question.active_categories()}


def apply_gold_rows(
    project: Project, answers: GoldAnswers, states: dict[str, str], *, by: Any
) -> None:
    """Set and retire the gold answers that ``parse_gold_rows`` returned; their items must exist.

    ``states``: {item key: state}; "unchanged" becomes "changed" if an answer changed.
    """
    for question, answers_by_key in answers.items():
        ids = bulk.get_ids_by_key("projects_item", project.pk, list(answers_by_key))
        new_answers = [
            gold.NewGoldAnswer(ids[key], answer)
            for key, answer in answers_by_key.items()
            if answer is not None
        ]
        ids_to_retire = [ids[key] for key, answer in answers_by_key.items() if answer is None]
        set_states = gold.set_gold_answers(question=question, answers=new_answers, by=by)
        retired = set(gold.retire_gold_answers(question=question, item_ids=ids_to_retire, by=by))
        for key in answers_by_key:
            is_changed = set_states.get(ids[key], "unchanged") != "unchanged" or ids[key] in retired
            if is_changed and states[key] == "unchanged":
                states[key] = "changed"


def get_gold_by_item(
    questions: Iterable[Question], item_ids: Sequence[int]
) -> Mapping[int, dict[str, object]]:
    """Return {item: {question key: answer by label}} of the current gold answers."""
    gold_by_item: dict[int, dict[str, object]] = {}
    for question in questions:
        labels = {category.code: category.label for category in question.categories.all()}
        for gold_answer in gold.get_gold_in_force(question, item_ids):
            gold_by_item.setdefault(gold_answer.item_id, {})[question.key] = gold.format_answer(
                gold_answer.answer, labels
            )
    return gold_by_item
