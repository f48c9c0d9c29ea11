"""Who and what the tests are about, by plain functions: for fixtures of any scope."""

from __future__ import annotations

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
    return User.objects.create_user(username, password=PASSWORD, **fields)


def make_project(
    name: str = "Reviews",
    *,
    labels: tuple[str, ...] = LABELS,
    key: str = "severity",
    scale: str = "ordinal",
    **fields: Any,
) -> Project:
    """A project with one question; ``labels`` in declared order; values 0, 1, 2, ..."""
    project = Project.objects.create(name=name, **fields)
    question = Question.objects.create(project=project, key=key, text=f"Which {key}?", scale=scale)
    Category.objects.bulk_create(
        Category(
            question=question,
            code=code,
            label=label,
            position=code,
            value=code,
            hotkey=str(code + 1),
        )
        for code, label in enumerate(labels)
    )
    return project


def enter(project: Project, *users: User) -> None:
    """Members by the roles that they are named after; ``annotator`` rates as "ann"."""
    Member.objects.bulk_create(
        Member(project=project, user=user, role=user.username) for user in users
    )
    for user in users:
        if user.username == "annotator":
            Rater.objects.create(project=project, key="ann", name="Ann", user=user)


def make_cast() -> Cast:
    lead, annotator, viewer = (make_user(name) for name in ("lead", "annotator", "viewer"))
    project = make_project(created_by=lead)
    enter(project, lead, annotator, viewer)
    return Cast(lead, annotator, viewer, project, project.questions.get())


def rate(question: Question, item: str, rater: str, label: str | None, **fields: Any) -> Any:
    """By the real action, making item and rater when needed."""
    project = question.project
    known = "SELECT id FROM projects_{} WHERE project_id = %s AND key = %s"
    of_label = "SELECT code FROM projects_category WHERE question_id = %s AND label = %s"
    items, raters, codes = bulk.execute_statements(
        [
            (known.format("item"), (project.pk, item)),
            (known.format("rater"), (project.pk, rater)),
            (f"{of_label} AND NOT retired", (question.pk, label or "")),
        ]
    )
    if not items:
        made = Item.objects.get_or_create(
            project=project, key=item, defaults={"body": {"text": item}}
        )
        items = [(made[0].pk,)]
    if not raters:
        raters = [(Rater.objects.get_or_create(project=project, key=rater)[0].pk,)]
    ((item_id,),), ((rater_id,),) = items, raters
    code = NO_CODE
    if label is not None:
        ((code,),) = codes
    return record_ratings(
        {question: [Judgement(item_id, rater_id, code, **fields)]}, by=None, source="api"
    )
