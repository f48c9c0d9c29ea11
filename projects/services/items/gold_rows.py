"""The gold answers that come with items, by the labels of the project's questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.api.parameters import rows_error
from core.db import bulk
from projects.models import Project, Question
from projects.services.row_validation import Row

from . import gold

# question -> key of an item -> its answer, None for none
Answers = dict[Question, dict[str, gold.Answer | None]]


def read(project: Project, items: Sequence[Row]) -> Answers:
    """The answers that checked rows bring; 400 names each row with one that cannot be.

    To be called inside the transaction that writes them, before items are locked: locks go in one
    order."""
    named = {key for row in items for key in row.get("gold", {})}
    if not named:
        return {}
    questions = {question.key: question for question in project.questions.order_by("pk")}
    for question in questions.values():
        if question.key in named:
            gold.hold(question)
    codes = {key: codes_of(question) for key, question in questions.items() if key in named}
    answers: Answers = {questions[key]: {} for key in codes}
    wrong: dict[int, list[str]] = {}
    for place, row in enumerate(items):
        for key, said in row.get("gold", {}).items():
            try:
                if key not in codes:
                    raise gold.InvalidGold(f"unknown question; one of {', '.join(questions)}")
                answer = None if said is None else gold.read_answer(said, codes[key])
                answers[questions[key]][row["key"]] = answer
            except gold.InvalidGold as error:
                wrong.setdefault(place, []).append(f"'gold' of '{key[:64]}': {error}")
    if wrong:
        raise rows_error("item", wrong)
    return answers


def codes_of(question: Question) -> dict[str, int]:
    """label -> code of the active categories, in declared order."""
    return {category.label: category.code for category in question.active_categories()}


def write(project: Project, answers: Answers, states: dict[str, str], *, by: Any) -> None:
    """Set and retire the answers of items that stand by now. In ``states``, what was not changed
    otherwise becomes "changed" where its answers did."""
    for question, said in answers.items():
        ids = bulk.ids_by_key("projects_item", project.pk, list(said))
        new = [gold.New(ids[key], answer) for key, answer in said.items() if answer is not None]
        none = [ids[key] for key, answer in said.items() if answer is None]
        done = gold.set_many(question=question, answers=new, by=by)
        retired = set(gold.retire_many(question=question, item_ids=none, by=by))
        for key in said:
            other = done.get(ids[key], "unchanged") != "unchanged" or ids[key] in retired
            if other and states[key] == "unchanged":
                states[key] = "changed"


def by_item(questions: Iterable[Question], item_ids: Sequence[int]) -> Mapping[int, dict[str, Any]]:
    """item -> {question: its answer by labels} of the gold answers in force."""
    found: dict[int, dict[str, Any]] = {}
    for question in questions:
        labels = {category.code: category.label for category in question.categories.all()}
        for one in gold.in_force(question, item_ids):
            found.setdefault(one.item_id, {})[question.key] = gold.shown(one.answer, labels)
    return found
