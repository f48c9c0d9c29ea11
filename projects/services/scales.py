"""What changes the scale of a question: its categories, their weights, what is read first. Under
its lock, and its version rises with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core import security_log
from core.text import has_control
from projects import hooks, locks
from projects.models import Category, Question, Scale, ScaleVersion, Weights

from . import question_validation, weight_matrix
from .project_validation import Refused
from .question_validation import NewCategory

MOST_NOTE = 500  # characters of why a coefficient is read first


@transaction.atomic
def change_categories(
    *,
    question: Question,
    scale: str,
    categories: Sequence[tuple[int | None, NewCategory]],
    by: Any,
    seen_version: int | None = None,
) -> Question:
    """Make ``categories`` (code, or None for a new one, and what it is to be) the question's scale,
    in this order.

    A category that is left out is retired, unless ratings or gold answers use it. Raises Refused,
    and then has changed nothing. ``seen_version`` is the scale_version that ``by`` looked at: a
    change made meanwhile by somebody else is not overwritten.
    """
    question = _locked(question, seen_version, by=by)
    standing = {category.code: category for category in question.active_categories()}
    _check_categories(scale, [category for _code, category in categories])
    codes = [code for code, _category in categories if code is not None]
    if len(set(codes)) != len(codes) or not set(codes) <= set(standing):
        raise Refused(
            {
                "categories": _(
                    "A category of this list does not exist any more; load the page again."
                )
            }
        )
    removed = [category for code, category in standing.items() if code not in codes]
    _refuse_used(question, removed)
    stood = {"categories": [as_told(one) for one in standing.values()]}
    _retire(removed)
    _write_categories(question, standing, categories)
    fields: dict[str, Any] = {"scale": scale}
    stands = {"categories": [as_told(one) for _code, one in categories]}
    if question.weight_matrix is not None:
        places = {code: place for place, code in enumerate(standing)}
        sources = [None if code is None else places[code] for code, _category in categories]
        fields["weight_matrix"] = weight_matrix.rearranged(question.weight_matrix, sources)
    return _set_scale(question, by=by, told=(stood, stands), **fields)


@transaction.atomic
def change_weights(
    *,
    question: Question,
    weights: str,
    matrix: Any,
    by: Any,
    seen_version: int | None = None,
    reason: str = "",
) -> Question:
    """Choose the weights; ``matrix`` (rows in declared order) may be kept beside a choice other
    than custom. ``reason`` is kept with what they were before.

    Raises Refused naming the row and the column that is wrong, and then has changed nothing.
    """
    reason = _line("reason", reason)
    question = _locked(question, seen_version, by=by, reason=reason)
    labels = [category.label for category in question.active_categories()]
    if weights not in Weights.values:
        raise Refused({"weights": _choice_problem(weights, Weights.values)})
    if matrix is None and weights == Weights.CUSTOM:
        raise Refused(
            {
                "weight_matrix": _(
                    "Custom weights need a matrix with a row and a column for each category."
                )
            }
        )
    if matrix is not None and (wrong := weight_matrix.problem(matrix, len(labels), labels)):
        raise Refused({"weight_matrix": wrong})
    return _set_scale(question, by=by, weights=weights, weight_matrix=matrix)


@transaction.atomic
def change_headline(
    *, question: Question, headline: str, note: str, pooled: bool, by: Any
) -> Question:
    """Choose what is read first of a question and say why, or leave it to the table with an empty
    ``headline``; ``pooled``: people and models together.

    The caller knows which coefficients there are. Raises Refused, and then has changed nothing.
    """
    if headline and not note.strip():
        raise Refused({"note": _("Say in a sentence why another coefficient is to be read first.")})
    note = _line("note", note)
    question = _locked(question, None, by=by)
    fields: dict[str, Any] = {
        "headline": headline,
        "headline_note": note,
        "headline_pooled": pooled,
    }
    return _set_scale(question, by=by, **fields)


def _line(name: str, text: str) -> str:
    """A text of one line; Refused where it is none."""
    if len(text) > MOST_NOTE or has_control(text):
        raise Refused({name: _("A line of %(most)s characters at most.") % {"most": MOST_NOTE}})
    return text.strip()


def _locked(question: Question, seen_version: int | None, *, by: Any, reason: str = "") -> Question:
    """The question as it stands, locked to be changed; what it declared so far is kept."""
    locks.change_categories(question.pk)
    question = Question.objects.select_for_update().get(pk=question.pk)
    if seen_version not in (None, question.scale_version):
        raise Refused(
            {
                "__all__": _(
                    "Somebody else changed this scale meanwhile. Look at it as it stands, "
                    "then change it again."
                )
            }
        )
    ScaleVersion.objects.create(
        question=question,
        number=question.scale_version,
        declared=question.declared(),
        until=timezone.now(),
        reason=reason,
        by=by,
    )
    return question


def as_told(category: Category | NewCategory) -> dict[str, Any]:
    return {"label": category.label, "value": category.value, "hotkey": category.hotkey}


def _set_scale(
    question: Question,
    *,
    by: Any,
    told: tuple[dict[str, Any], dict[str, Any]] = ({}, {}),
    **fields: Any,
) -> Question:
    """``told``: what the trail says beside the fields, before and after."""
    before = {name: getattr(question, name) for name in fields}
    Question.objects.filter(pk=question.pk).update(scale_version=F("scale_version") + 1, **fields)
    hooks.scale_changed(question.pk)
    security_log.event(
        "scale_changed",
        project_id=question.project_id,
        by=by.pk,
        question=question.key,
        before=told[0] | before,
        after=told[1] | fields,
    )
    return Question.objects.get(pk=question.pk)


def _choice_problem(found: Any, allowed: Sequence[str]) -> str:
    return _("'%(found)s' is not known; one of %(allowed)s.") % {
        "found": str(found)[:40],
        "allowed": ", ".join(allowed),
    }


def _check_categories(scale: str, categories: Sequence[NewCategory]) -> None:
    if scale not in Scale.values:
        raise Refused({"scale": _choice_problem(scale, Scale.values)})
    if problems := question_validation.categories_problems(categories, scale=scale):
        raise Refused({"categories": problems})


def _refuse_used(question: Question, removed: Sequence[Category]) -> None:
    used = hooks.in_use(question.pk, [category.code for category in removed])
    messages = [
        ngettext(
            "'%(label)s' cannot be removed: %(count)s rating or gold answer uses it. Change "
            "that one first, or rename it.",
            "'%(label)s' cannot be removed: %(count)s ratings or gold answers use it. Change "
            "those first, or rename it.",
            used[category.code],
        )
        % {"label": category.label, "count": used[category.code]}
        for category in removed
        if used.get(category.code)
    ]
    if messages:
        raise Refused({"categories": " ".join(messages)})


def _retire(categories: Sequence[Category]) -> None:
    Category.objects.filter(pk__in=[category.pk for category in categories]).update(retired=True)


def _write_categories(
    question: Question,
    standing: dict[int, Category],
    categories: Sequence[tuple[int | None, NewCategory]],
) -> None:
    highest = Category.objects.filter(question=question).aggregate(highest=Max("code"))["highest"]
    next_code = -1 if highest is None else highest
    kept, added = [], []
    for position, (code, new) in enumerate(categories):
        if code is None:
            next_code += 1
            category = Category(question=question, code=next_code)
            added.append(category)
        else:
            category = standing[code]
            kept.append(category)
        category.position = position
        category.label, category.value, category.hotkey = new.label, new.value, new.hotkey
    # Two categories may swap labels or keys: each name is let go before anybody takes it.
    for category in kept:
        Category.objects.filter(pk=category.pk).update(label=f"\x1f{category.code}", hotkey="")
    Category.objects.bulk_update(kept, ["position", "label", "value", "hotkey"])
    Category.objects.bulk_create(added)
