"""Putting the example projects into the database, by the same actions as everything else."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np
from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from metrics.jobs import question_updates
from metrics.results import refresh as readings
from projects.models import Item, Member, Project, Question, Rater
from projects.services.items import gold
from projects.services.projects import change_project, create_project
from projects.services.question_validation import NewCategory, NewQuestion
from ratings.models import Revision
from ratings.services.judgement import Judgement
from ratings.services.record import record

from . import fleiss1971, simulation
from .worked_examples import WORKED, Worked

FLEISS = "Psychiatric diagnoses (Fleiss 1971)"
TRANSLATIONS = "Translation errors (simulated)"
PUBLISHED = datetime.datetime(1971, 11, 1, 12, tzinfo=datetime.UTC)
# Half an agreement for neighbours below 'major', little above it.
SEVERITY_MATRIX = [[1, 0.6, 0.2, 0], [0.6, 1, 0.4, 0.1], [0.2, 0.4, 1, 0.5], [0, 0.1, 0.5, 1]]
GUIDELINES = """\
# What to look for

Compare the translation with its source and choose the **worst** error in it.

| Answer | When |
|---|---|
| none | nothing that a careful reader would change |
| minor | a slip that does not change the meaning |
| major | the meaning is changed |
| critical | somebody could act on it and come to harm: wrong numbers, lost negations |

- Judge the translation, not the style of the source.
"""
# What the team agreed on in the sixth week.
GUIDELINES_REWRITTEN = (
    GUIDELINES
    + """\
- In doubt between two answers, take the *milder* one and leave a comment.
"""
)
REWRITTEN_ON = 35


def load(*, owner: Any, count: bool = True, worked: bool = False) -> list[Project]:
    """Give ``owner`` the example projects that they do not have yet; ``worked``: the small ones, as
    texts on kappa print them. Returns the ones that were made.

    ``count`` brings the numbers up to date before returning; else the worker does it, as after any
    rating.
    """
    made = []
    wanted: dict[str, Callable[[Any], Project]]
    if worked:
        wanted = {one.name: partial(_load_worked, one) for one in WORKED}
    else:
        wanted = {FLEISS: _load_fleiss, TRANSLATIONS: _load_translations}
    for name, make in wanted.items():
        project = _load_once(owner, name, make)
        if project is not None:
            made.append(project)
    if count:
        for question in Question.objects.filter(project__in=made):
            question_updates.bring_up_to_date(question.pk)
            readings.finish(question.pk)
    return made


@transaction.atomic
def _load_once(owner: Any, name: str, make: Callable[[Any], Project]) -> Project | None:
    # Two presses of the button at the same moment take turns.
    get_user_model().objects.select_for_update().get(pk=owner.pk)
    if own_example(owner, name) is not None:
        return None
    return make(owner)


def missing(led: Collection[str]) -> tuple[bool, bool]:
    """Whether who leads projects of these names lacks the example, or a worked one."""
    return TRANSLATIONS not in led, not {one.name for one in WORKED} <= {*led}


def own_example(owner: Any, name: str = TRANSLATIONS) -> Project | None:
    """The example project of this name that ``owner`` leads."""
    led = Project.objects.filter(name=name, members__user=owner, members__role=Member.Role.LEAD)
    # The name alone is not enough: somebody may have given it to a project of their own.
    return (
        led.filter(questions__ratings__revisions__source=Revision.Source.EXAMPLE)
        .order_by("pk")
        .first()
    )


def _load_fleiss(owner: Any) -> Project:
    question = NewQuestion(
        key="diagnosis",
        text=_("Which diagnosis does the patient have?"),
        categories=[
            NewCategory(label, hotkey=str(place))
            for place, label in enumerate(fleiss1971.LABELS, start=1)
        ],
    )
    project = create_project(
        by=owner,
        name=FLEISS,
        description=_(
            "30 patients, 6 diagnoses each; "
            "the example of the paper that introduced Fleiss' kappa (0.430)."
        ),
        overlap=6,
        questions=[question],
    )
    items = _make_items(
        project,
        [(f"patient-{number:02}", {"text": f"Patient {number}"}, {}) for number in range(1, 31)],
    )
    raters = _make_raters(project, [f"rater-{number}" for number in range(1, 7)])
    rng = np.random.default_rng(1971)
    ratings = []
    for item, counts in zip(items, fleiss1971.COUNTS, strict=True):
        dealt = rng.permutation(np.repeat(np.arange(len(counts)), counts)).tolist()
        ratings += [
            Judgement(item.pk, rater.pk, code, rated_at=PUBLISHED)
            for rater, code in zip(raters, dealt, strict=True)
        ]
    record({project.questions.get(): ratings}, by=owner, source=Revision.Source.EXAMPLE)
    return project


def _load_worked(example: Worked, owner: Any) -> Project:
    values: Sequence[float | None] = example.values or [None] * len(example.labels)
    categories = [
        NewCategory(label, value=value) for label, value in zip(example.labels, values, strict=True)
    ]
    question = NewQuestion(
        key="answer",
        text=str(example.question),
        scale=example.scale,
        weights=example.weights,
        weight_matrix=None if example.matrix is None else [list(row) for row in example.matrix],
        categories=categories,
    )
    n_raters = len(example.codes[0])
    project = create_project(
        by=owner,
        name=example.name,
        description=str(example.says),
        overlap=n_raters,
        questions=[question],
    )
    known = [{"severity": round(score, 3)} for score in example.gold] or [{}] * len(example.codes)
    bodies: list[tuple[str, dict, dict]] = [
        (f"{n:02}", {"text": f"{n}"}, attributes) for n, attributes in enumerate(known, start=1)
    ]
    items = _make_items(project, bodies)
    raters = _make_raters(project, [chr(ord("A") + place) for place in range(n_raters)])
    ratings = [
        Judgement(item.pk, rater.pk, code)
        for item, codes in zip(items, example.codes, strict=True)
        for rater, code in zip(raters, codes, strict=True)
    ]
    _say(project, owner, ratings)
    return project


def _load_translations(owner: Any) -> Project:
    simulated = simulation.simulate()
    question = NewQuestion(
        key="severity",
        text=_("How severe is the worst error in this translation?"),
        scale="ordinal",
        weights="quadratic",
        weight_matrix=SEVERITY_MATRIX,
        categories=[
            NewCategory(label, value=float(code), hotkey=str(code + 1))
            for code, label in enumerate(simulation.LABELS)
        ],
    )
    project = create_project(
        by=owner,
        name=TRANSLATIONS,
        description=_(
            "Eight people and a model rate 1,500 translations over ten weeks. "
            "Made by a seeded generator."
        ),
        guidelines=GUIDELINES,
        questions=[question],
    )
    items = _make_items(
        project,
        [
            (
                item.key,
                {"source": item.source_text, "translation": item.translation},
                _attributes(item),
            )
            for item in simulated.items
        ],
    )
    raters = _make_raters(project, simulation.RATERS)
    start = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    start -= datetime.timedelta(days=simulation.DAYS)
    rewritten = REWRITTEN_ON * 24 * 60
    early, late = (
        [rating for rating in simulated.ratings if (rating.minute >= rewritten) is end]
        for end in (False, True)
    )
    _date_guidelines(project, start)
    _say(project, owner, [_new(rating, items, raters, start) for rating in early])
    change_project(project=project, by=owner, guidelines=GUIDELINES_REWRITTEN)
    _date_guidelines(project, start + datetime.timedelta(minutes=rewritten))
    _say(project, owner, [_new(rating, items, raters, start) for rating in late])
    # A correction keeps the time of its rating.
    _say(project, owner, [_new(rating, items, raters, None) for rating in simulated.corrections])
    _set_gold(project, owner, items, simulated)
    return project


def _set_gold(
    project: Project, owner: Any, items: Sequence[Item], simulated: simulation.Simulation
) -> None:
    """What is true of every so-manieth item that was rated."""
    explanation = _("What the generator made of it.")
    answers = [
        gold.New(item.pk, [made.true], explanation)
        for item, made in list(zip(items, simulated.items, strict=True))[: -simulation.UNRATED]
    ]
    gold.set_many(
        question=project.questions.get(), answers=answers[:: simulation.GOLD_EVERY], by=owner
    )


def _say(project: Project, owner: Any, ratings: Sequence[Judgement]) -> None:
    record({project.questions.get(): ratings}, by=owner, source=Revision.Source.EXAMPLE)


def _date_guidelines(project: Project, moment: datetime.datetime) -> None:
    """The newest version as if it had been written then."""
    project.guideline_versions.filter(number=project.guidelines_version).update(made_at=moment)


def _attributes(item: simulation.SimulatedItem) -> dict[str, str]:
    return {"language": item.language, "source": item.source}


def _new(
    rating: simulation.SimulatedRating,
    items: Sequence[Item],
    raters: Sequence[Rater],
    start: datetime.datetime | None,
) -> Judgement:
    return Judgement(
        items[rating.item].pk,
        raters[rating.rater].pk,
        rating.code,
        rated_at=None if start is None else start + datetime.timedelta(minutes=rating.minute),
        comment=rating.comment or None,
        seconds=rating.seconds,
    )


def _make_items(project: Project, items: Sequence[tuple[str, dict, dict]]) -> list[Item]:
    made = Item.objects.bulk_create(
        Item(project=project, key=key, body=body, attributes=attributes)
        for key, body, attributes in items
    )
    Project.objects.filter(pk=project.pk).catalogue_changed()
    return made


def _make_raters(project: Project, keys: Sequence[str]) -> list[Rater]:
    """The raters in the order of ``keys``; no account is tied to any of them."""
    kinds = {simulation.MODEL: Rater.Kind.MODEL}
    return [
        Rater.objects.create(
            project=project,
            key=key,
            name=shown_name(key),
            kind=kinds.get(key, Rater.Kind.HUMAN),
        )
        for key in keys
    ]


def shown_name(key: str) -> str:
    return "QE model" if key == simulation.MODEL else key.replace("-", " ").capitalize()
