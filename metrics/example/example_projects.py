"""Create the example projects in the database by the ordinary services."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from metrics.jobs import question_updates
from metrics.results import refresh
from projects.models import Item, Project, Question, Rater
from projects.services import gold
from projects.services.projects import change_project, create_project
from projects.services.question_validation import NewCategory, NewQuestion
from ratings.models import Revision
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

from . import simulation, worked_examples
from .worked_examples import WORKED_EXAMPLES, WorkedExample

FLEISS_PROJECT = "Psychiatric diagnoses (Fleiss 1971)"
TRANSLATIONS_PROJECT = "Translation errors (simulated)"
FLEISS_PUBLISHED_AT = datetime.datetime(1971, 11, 1, 12, tzinfo=datetime.UTC)
# Neighbouring severities count as about half an agreement.
SEVERITY_MATRIX = [[1, 0.6, 0.2, 0], [0.6, 1, 0.4, 0.1], [0.2, 0.4, 1, 0.5], [0, 0.1, 0.5, 1]]
GUIDELINES = """\
# What to look for

Compare the translation with its source and choose the **worst** error in it.

| Answer | When |
|---|---|
| none | nothing that a careful reader would change |
| minor | a slip that does not change the meaning |
| major | the meaning is changed |
| critical | somebody could act on it and come to harm |

- Judge the translation, not the style of the source.
"""
# The guidelines from the fifth week on.
REVISED_GUIDELINES = (
    GUIDELINES
    + """\
- A slip is **minor**, a wrong word is **major**, a wrong number is **critical**.
"""
)


def create_missing_examples(
    *, owner: Any, count: bool = True, worked: bool = False
) -> list[Project]:
    """Create the example projects that ``owner`` does not have yet, and return them.

    ``worked``: create the small examples from texts on kappa instead. With ``count``, they are
    counted and their results refreshed before returning; otherwise a worker does so.
    """
    created = []
    creators: dict[str, Callable[[Any], Project]]
    if worked:
        creators = {
            example.name: partial(_create_worked_example, example) for example in WORKED_EXAMPLES
        }
    else:
        creators = {
            FLEISS_PROJECT: _create_fleiss_example,
            TRANSLATIONS_PROJECT: _create_translations,
        }
    for name, create_example in creators.items():
        project = _create_if_missing(owner, name, create_example)
        if project is not None:
            created.append(project)
    if count:
        for question in Question.objects.filter(project__in=created):
            question_updates.update_question(question.pk)
            refresh.recompute_deferred_cumulative_results(question.pk)
    return created


@transaction.atomic
def _create_if_missing(
    owner: Any, name: str, create_example: Callable[[Any], Project]
) -> Project | None:
    # Two simultaneous requests take turns.
    get_user_model().objects.select_for_update().get(pk=owner.pk)
    if find_example(owner, name) is not None:
        return None
    project = create_example(owner)
    project.is_example = True
    project.save(update_fields=["is_example"])
    return project


def are_examples_missing(project_names: Collection[str]) -> tuple[bool, bool]:
    """Return whether the simulated example, and whether any worked example, is missing by name."""
    return TRANSLATIONS_PROJECT not in project_names, not {
        example.name for example in WORKED_EXAMPLES
    } <= {*project_names}


def find_example(owner: Any, name: str = TRANSLATIONS_PROJECT) -> Project | None:
    """Return the example project of this name that ``owner`` created, or None."""
    # The name is not sufficient: users may give it to other projects.
    return list_examples(owner).filter(name=name).order_by("pk").first()


def list_examples(owner: Any) -> QuerySet[Project]:
    """Return the example projects that ``owner`` created."""
    return Project.objects.filter(is_example=True, created_by=owner)


def is_sample_project(project: Project) -> bool:
    """Return whether this is the simulated example project (TRANSLATIONS_PROJECT)."""
    return project.is_example and project.name == TRANSLATIONS_PROJECT


def _create_fleiss_example(owner: Any) -> Project:
    question = NewQuestion(
        key="diagnosis",
        text=_("What is the diagnosis?"),
        categories=[
            NewCategory(label, hotkey=str(hotkey_number))
            for hotkey_number, label in enumerate(worked_examples.LABELS, start=1)
        ],
    )
    project = create_project(
        by=owner,
        name=FLEISS_PROJECT,
        description=_("30 patients, 6 diagnoses each: the first Fleiss' kappa (0.430)."),
        overlap=6,
        questions=[question],
    )
    items = _create_items(
        project,
        [(f"patient-{number:02}", {"text": f"Patient {number}"}, {}) for number in range(1, 31)],
    )
    raters = _create_raters(project, [f"rater-{number}" for number in range(1, 7)])
    rng = np.random.default_rng(1971)
    ratings = []
    for item, counts in zip(items, worked_examples.COUNTS, strict=True):
        codes = rng.permutation(np.repeat(np.arange(len(counts)), counts)).tolist()
        ratings += [
            Judgement(item.pk, rater.pk, code, rated_at=FLEISS_PUBLISHED_AT)
            for rater, code in zip(raters, codes, strict=True)
        ]
    record_ratings({project.questions.get(): ratings}, by=owner, source=Revision.Source.EXAMPLE)
    return project


def _create_worked_example(example: WorkedExample, owner: Any) -> Project:
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
        description=str(example.description),
        overlap=n_raters,
        questions=[question],
    )
    attributes_by_item = [{"severity": round(score, 3)} for score in example.gold_scores] or [
        {}
    ] * len(example.codes)
    bodies: list[tuple[str, dict, dict]] = [
        (f"{number:02}", {"text": f"{number}"}, attributes)
        for number, attributes in enumerate(attributes_by_item, start=1)
    ]
    items = _create_items(project, bodies)
    raters = _create_raters(project, [chr(ord("A") + index) for index in range(n_raters)])
    ratings = [
        Judgement(item.pk, rater.pk, code)
        for item, codes in zip(items, example.codes, strict=True)
        for rater, code in zip(raters, codes, strict=True)
        if code is not None
    ]
    _record_ratings(project, owner, ratings)
    return project


def _build_severity_question() -> NewQuestion:
    return NewQuestion(
        key="severity",
        text=_("How severe is the worst error?"),
        scale="ordinal",
        weights="quadratic",
        weight_matrix=SEVERITY_MATRIX,
        categories=[
            NewCategory(label, value=float(code), hotkey=str(code + 1))
            for code, label in enumerate(simulation.SEVERITY_LABELS)
        ],
    )


def _create_translations(owner: Any) -> Project:
    simulated = simulation.simulate_project()
    project = create_project(
        by=owner,
        name=TRANSLATIONS_PROJECT,
        description=_("Simulated: eight people and a model rate 1,200 translations."),
        guidelines=GUIDELINES,
        questions=[_build_severity_question()],
    )
    rows = [
        (
            item.key,
            {"source": item.source_text, "translation": item.translation},
            _build_attributes(item),
        )
        for item in simulated.items
    ]
    items, raters = _create_items(project, rows), _create_raters(project, simulation.RATERS)
    start = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    start -= datetime.timedelta(days=simulation.N_DAYS)

    def record(ratings: Iterable[Any], start: datetime.datetime | None) -> None:
        judgements = [_build_judgement(rating, items, raters, start) for rating in ratings]
        _record_ratings(project, owner, judgements)

    change_minute = simulation.GUIDELINES_CHANGE_DAY * 24 * 60
    _backdate_guidelines(project, start)
    record((rating for rating in simulated.ratings if rating.minute < change_minute), start)
    change_project(project=project, by=owner, guidelines=REVISED_GUIDELINES)
    _backdate_guidelines(project, start + datetime.timedelta(minutes=change_minute))
    record((rating for rating in simulated.ratings if rating.minute >= change_minute), start)
    record(simulated.corrections, None)  # a correction keeps the time of the original rating
    _set_gold_answers(project, owner, items, simulated)
    return project


def _set_gold_answers(
    project: Project, owner: Any, items: Sequence[Item], simulated: simulation.Simulation
) -> None:
    """Set the simulated gold answers of the sample project, on behalf of its owner."""
    explanation = _("The simulated error.")
    answers = [
        gold.NewGoldAnswer(items[index].pk, [category], explanation)
        for index, category in simulated.list_gold_answers()
    ]
    gold.set_gold_answers(question=project.questions.get(), answers=answers, by=owner)


def _record_ratings(project: Project, owner: Any, ratings: Sequence[Judgement]) -> None:
    record_ratings({project.questions.get(): ratings}, by=owner, source=Revision.Source.EXAMPLE)


def _backdate_guidelines(project: Project, moment: datetime.datetime) -> None:
    """Set the creation time of the newest guidelines version to ``moment``."""
    project.guideline_versions.filter(number=project.guidelines_version).update(created_at=moment)


def _build_attributes(item: simulation.SimulatedItem) -> dict[str, str]:
    return {"language": item.language, "source": item.source}


def _build_judgement(
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


def _create_items(project: Project, items: Sequence[tuple[str, dict, dict]]) -> list[Item]:
    created = Item.objects.bulk_create(
        Item(project=project, key=key, body=body, attributes=attributes)
        for key, body, attributes in items
    )
    Project.objects.filter(pk=project.pk).increment_items_and_raters_version()
    return created


def _create_raters(project: Project, keys: Sequence[str]) -> list[Rater]:
    """Create the raters in the order of ``keys``, without accounts."""
    kinds = {simulation.MODEL: Rater.Kind.MODEL}
    return [
        Rater.objects.create(
            project=project,
            key=key,
            name=get_display_name(key),
            kind=kinds.get(key, Rater.Kind.HUMAN),
        )
        for key in keys
    ]


def get_display_name(key: str) -> str:
    """Return the name of an example rater, from the rater's key."""
    return "QE model" if key == simulation.MODEL else key.replace("-", " ").capitalize()
