"""Users, project and ratings that tests begin with, as plain functions for fixtures of any scope."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from core.db import bulk
from projects.models import Category, Item, Member, Project, Question, Rater
from ratings.models import NO_CODE
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

PASSWORD = "a long password"
LABELS = ("none", "minor", "major", "critical")


@dataclass
class Cast:
    """The project of ``lead``, with ``annotator`` (rater "ann") and ``viewer``."""

    lead: User
    annotator: User
    viewer: User
    project: Project
    question: Question


def make_user(username: str, **fields: Any) -> User:
    """Create a user with the password of the tests."""
    return User.objects.create_user(username, password=PASSWORD, **fields)


def make_project(
    name: str = "Reviews",
    *,
    labels: tuple[str, ...] = LABELS,
    key: str = "severity",
    scale: str = "ordinal",
    **fields: Any,
) -> Project:
    """Create a project with one question; ``labels`` in declared order have values 0, 1, 2, ..."""
    project = Project.objects.create(name=name, **fields)
    question = Question.objects.create(project=project, key=key, text=f"Which {key}?", scale=scale)
    Category.objects.bulk_create(
        Category(
            question=question,
            code=code,
            label=label,
            position=code,
            value=code,
            hotkey=str(code + 1) if code < 9 else "",
        )
        for code, label in enumerate(labels)
    )
    return project


def add_members(project: Project, *users: User) -> None:
    """Add users as members with the role of their username; ``annotator`` rates as "ann"."""
    Member.objects.bulk_create(
        Member(project=project, user=user, role=user.username) for user in users
    )
    for user in users:
        if user.username == "annotator":
            Rater.objects.create(project=project, key="ann", name="Ann", user=user)


def make_cast() -> Cast:
    """Create the three users and the project."""
    lead, annotator, viewer = (make_user(name) for name in ("lead", "annotator", "viewer"))
    project = make_project(created_by=lead)
    add_members(project, lead, annotator, viewer)
    return Cast(lead, annotator, viewer, project, project.questions.get())


def rate(question: Question, item: str, rater: str, label: str | None, **fields: Any) -> Any:
    """Record a rating with the real service, and create the item and the rater when needed."""
    project = question.project
    key_sql = "SELECT id FROM projects_{} WHERE project_id = %s AND key = %s"
    label_sql = "SELECT code FROM projects_category WHERE question_id = %s AND label = %s"
    items, raters, codes = bulk.execute_statements(
        [
            (key_sql.format("item"), (project.pk, item)),
            (key_sql.format("rater"), (project.pk, rater)),
            (f"{label_sql} AND NOT retired", (question.pk, label or "")),
        ]
    )
    if not items:
        new_item = Item.objects.get_or_create(
            project=project, key=item, defaults={"body": {"text": item}}
        )
        items = [(new_item[0].pk,)]
    if not raters:
        raters = [(Rater.objects.get_or_create(project=project, key=rater)[0].pk,)]
    ((item_id,),), ((rater_id,),) = items, raters
    code = NO_CODE
    if label is not None:
        ((code,),) = codes
    return record_ratings(
        {question: [Judgement(item_id, rater_id, code, **fields)]}, by=None, source="api"
    )


def rate_many(
    question: Question,
    ratings: Iterable[tuple[str, str, str | None] | tuple[str, str, str | None, datetime.datetime]],
    **fields: Any,
) -> None:
    """Record ratings as one batch, with the items and raters they need.

    A rating is (item, rater, label), or (item, rater, label, time). A pair of item and rater may
    occur once.
    """
    rows = list(ratings)
    project = question.project
    Item.objects.bulk_create(
        (
            Item(project=project, key=key, body={"text": key})
            for key in {row[0]: None for row in rows}
        ),
        ignore_conflicts=True,
    )
    Rater.objects.bulk_create(
        (Rater(project=project, key=key) for key in {row[1]: None for row in rows}),
        ignore_conflicts=True,
    )
    items = dict(project.items.values_list("key", "pk"))
    raters = dict(project.raters.values_list("key", "pk"))
    codes = dict(question.categories.filter(retired=False).values_list("label", "code"))
    judgements = [
        Judgement(
            items[item],
            raters[rater],
            NO_CODE if label is None else codes[label],
            **(fields | {"rated_at": rated_at[0]} if rated_at else fields),
        )
        for item, rater, label, *rated_at in rows
    ]
    record_ratings({question: judgements}, by=None, source="api")


def build_question_data(question: Question, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form data of a question's page as a browser sends it, with these changes."""
    categories = question.active_categories()
    data: dict[str, Any] = {
        "text": question.text,
        "initial-text": question.text,
        "scale": question.scale,
        "weights": question.weights,
        "seen_version": question.scale_version,
        "c-TOTAL_FORMS": len(categories),
        "c-INITIAL_FORMS": len(categories),
    }
    for number, category in enumerate(categories):
        row = {"code": category.code, "label": category.label, "hotkey": category.hotkey}
        row |= {"value": "" if category.value is None else category.value, "ORDER": number + 1}
        data |= {f"c-{number}-{name}": value for name, value in row.items()}
    return data | dict(changes)
