"""What a question and its categories must be, whoever brings them: the API, the forms, an
import."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from core.text import has_control, has_unseen, likeness
from projects.models import Scale, Weights

from . import weight_matrix

MOST_QUESTIONS = 50  # of a project
MOST_CATEGORIES = 50  # of a question
KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
# What these keys do at the desk: undo, skip, comment, flag, guidelines, the list of keys. One key
# has one meaning.
DESK_KEYS = frozenset("uscfg?")
FREE_KEYS = "1234567890abdehijklmnopqrtvwxyz"  # of categories that declare none, in this order
NUMERIC = [scale for scale in Scale if scale.numeric]
FROM_ZERO = [scale for scale in Scale if scale.from_zero]


@dataclass(frozen=True, slots=True)
class NewCategory:
    label: str
    value: float | None = None
    hotkey: str = ""


@dataclass(frozen=True, slots=True)
class NewQuestion:
    """A question as it is to be; ``categories`` in their declared order."""

    key: str
    text: str
    scale: str = Scale.NOMINAL
    weights: str = Weights.NONE
    weight_matrix: list[list[float]] | None = None
    categories: Sequence[NewCategory] = field(default_factory=tuple)


class InvalidQuestions(ValueError):
    """``problems`` maps the place of each question to its problems (see ``problems_of``)."""

    def __init__(self, problems: dict[str, Any]) -> None:
        super().__init__("The questions have problems.")
        self.problems = problems


def problems_of(question: NewQuestion) -> dict[str, Any]:
    """Field name -> message; of ``categories`` either one message or place (from 0) -> field name
    -> message."""
    found: dict[str, Any] = {}
    if not KEY.fullmatch(question.key):
        found["key"] = _(
            "Letters, digits, '_', '.' and '-' are allowed, 64 at most, beginning with a "
            "letter or digit."
        )
    for name, choices in (("scale", Scale), ("weights", Weights)):
        value = getattr(question, name)
        if value not in choices.values:
            found[name] = f"unknown {name} {value!r}; one of {', '.join(choices.values)}."
    if categories := categories_problems(question.categories, scale=question.scale):
        found["categories"] = categories
    if matrix := _matrix_problem(question):
        found["weight_matrix"] = matrix
    return found


def categories_problems(
    categories: Sequence[NewCategory], *, scale: str
) -> dict[str, Any] | str | None:
    if len(categories) < 2:
        return _("A question needs two categories at least.")
    if len(categories) > MOST_CATEGORIES:
        return _("A question may have %(most)s categories at most; there are %(found)s.") % {
            "most": MOST_CATEGORIES,
            "found": len(categories),
        }
    found: dict[str, dict[str, str]] = {}
    for place, category in enumerate(categories):
        if wrong := _category_problems(category, scale):
            found[str(place)] = wrong
    for name, of in _UNIQUE.items():
        for place, first in _doubled([of(category) for category in categories]):
            shown = getattr(categories[place], name)
            found.setdefault(str(place), {}).setdefault(
                name, f"{shown!r} stands at {first} already (counted from 0)."
            )
    if not found and len({category.value is None for category in categories}) == 2:
        place = next(place for place, category in enumerate(categories) if category.value is None)
        found[str(place)] = {"value": _("Either all categories have a value or none.")}
    return found or None


_UNIQUE: dict[str, Callable[[NewCategory], Any]] = {
    "label": lambda category: likeness(category.label),
    "hotkey": lambda category: category.hotkey.casefold() or None,
}


def _category_problems(category: NewCategory, scale: str) -> dict[str, str]:
    found = {}
    if not category.label or category.label != category.label.strip() or len(category.label) > 200:
        found["label"] = _("A label of 1 to 200 characters is needed, without blanks at its ends.")
    elif has_control(category.label) or has_unseen(category.label):
        found["label"] = _("A label must not have control characters or line ends.")
    if category.hotkey and (
        len(category.hotkey) != 1 or category.hotkey.isspace() or has_control(category.hotkey)
    ):
        found["hotkey"] = _("A hotkey is one visible character.")
    elif category.hotkey and is_desk_key(category.hotkey):
        found["hotkey"] = _(
            "'%(key)s' is a key of the desk itself. Take any other than U (undo), S (skip), "
            "C (comment), F (flag), G (guidelines) and ? (list of keys), or none."
        ) % {"key": category.hotkey}
    if category.value is None:
        if scale in NUMERIC:
            found["value"] = _("Each category needs a value on this scale (%(scale)s).") % {
                "scale": Scale(scale).label
            }
    elif not math.isfinite(category.value):
        found["value"] = _("A finite number is needed.")
    elif scale in FROM_ZERO and category.value < 0:
        found["value"] = _("On a ratio scale values are 0 or more.")
    return found


def keys_at_the_desk(declared: Sequence[str]) -> list[str]:
    """The key of each category of a question: the declared one, or the next that no other declares
    ("" for none); "" when there are no more."""
    taken = {key.casefold() for key in declared if key}
    free = iter([key for key in FREE_KEYS if key not in taken])
    return [key or next(free, "") for key in declared]


def is_desk_key(hotkey: str) -> bool:
    """Whether the desk itself listens to this key, in either case."""
    return hotkey.casefold() in DESK_KEYS


def _doubled(values: list[Any]) -> list[tuple[int, int]]:
    """(place, first place) of each value that stood before."""
    first: dict[Any, int] = {}
    return [
        (place, first[value])
        for place, value in enumerate(values)
        if value is not None and first.setdefault(value, place) != place
    ]


def _matrix_problem(question: NewQuestion) -> str | None:
    if question.weight_matrix is None:
        return (
            _("Custom weights need a weight_matrix.")
            if question.weights == Weights.CUSTOM
            else None
        )
    if len(question.categories) > MOST_CATEGORIES:
        return None
    return weight_matrix.problem(question.weight_matrix, len(question.categories))


def check(questions: Sequence[NewQuestion]) -> None:
    """Raises InvalidQuestions when a question has a problem or two have the same key."""
    found = {
        str(place): wrong
        for place, question in enumerate(questions)
        if (wrong := problems_of(question))
    }
    for place, first in _doubled([question.key for question in questions]):
        found.setdefault(str(place), {}).setdefault(
            "key", f"This key stands at {first} already (counted from 0)."
        )
    if found:
        raise InvalidQuestions(found)
