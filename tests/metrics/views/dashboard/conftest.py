"""Fixtures of the tests of sentences on the overview and the statistics."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from projects.models import Question
from tests import cast

FIRST = datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.UTC)


@pytest.fixture
def client(client_for: Any, admin: Any) -> Any:
    return client_for(admin)


@pytest.fixture
def make_question(make_project: Any) -> Any:
    def create_question(labels: tuple[str, ...], scale: str = "nominal") -> Question:
        question: Question = make_project("Cases", labels=labels, scale=scale).questions.get()
        return question

    return create_question


@pytest.fixture
def rate_items(db: None) -> Any:
    """Return a function that stores rows of labels, one a rater; None for no rating."""

    def create_ratings(
        question: Question,
        rows: list[list[str | None]],
        *,
        start: datetime.datetime = FIRST,
        prefix: str = "i",
        keys: str = "abcdefgh",
    ) -> None:
        ratings = [
            (f"{prefix}{number}", key, label)
            for number, labels in enumerate(rows)
            for key, label in zip(keys, labels, strict=False)
            if label is not None
        ]
        cast.rate_many(question, ratings, rated_at=start)

    return create_ratings
