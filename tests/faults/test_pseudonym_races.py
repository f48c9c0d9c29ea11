"""Names are hidden or shown while raters join and rate and files are read, in real transactions.

No rater keeps their own name in a project that hides names.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from projects.models import Project, Question, Rater, RaterIdentity
from projects.services import pseudonyms
from projects.services.rater_changes import get_or_link_rater
from projects.services.rater_upsert import upsert_raters
from ratings import rater_pseudonyms
from ratings.exports import rating_files
from ratings.models import Rating
from tests.faults.threads import Gate, start_threads, wait_for_results, wait_until_blocked

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql_only(
        "SQLite writes one at a time; only PostgreSQL's writers can overtake each other"
    ),
]

RATER_KEYS = ("ann", "ben", "cleo")


@pytest.fixture
def eva(make_user: Any) -> User:
    user: User = make_user("eva")
    user.first_name = "Eva"
    user.save()
    return user


@pytest.fixture
def rated_question(project: Project, question: Question, rate: Any) -> Question:
    for key in RATER_KEYS:
        rate(question, "i1", key, "none")
    return question


def get_join_functions(project: Project, eva: User, lead: User) -> dict[str, Callable[[], Any]]:
    """Return {way: function} for a person who starts to rate and for an API request of a lead."""
    row = {"key": "eva", "name": "Eva"}
    return {
        "desk": lambda: get_or_link_rater(project=project, user=eva),
        "api": lambda: upsert_raters(project=project, rows=[row], by=lead),
    }


def check_identities(project: Project, *, hidden: bool) -> None:
    """Check that all raters have pseudonyms of their own and no names, or that none has."""
    raters = Rater.objects.filter(project=project)
    original_keys = dict(
        RaterIdentity.objects.filter(project=project).values_list("rater__key", "key")
    )
    keys = set(raters.values_list("key", flat=True))
    assert len(keys) == len(RATER_KEYS) + 1
    if hidden:
        assert keys == set(original_keys)
        assert set(original_keys.values()) == {*RATER_KEYS, "eva"}
        assert all(key.startswith("rater-") for key in keys)
        assert set(raters.values_list("name", flat=True)) == {""}
        assert RaterIdentity.objects.get(key="eva").name == "Eva"
    else:
        assert (keys, original_keys) == ({*RATER_KEYS, "eva"}, {})
        assert Rater.objects.get(project=project, key="eva").name == "Eva"


@pytest.mark.parametrize("way", ["desk", "api"])
@pytest.mark.parametrize("hide", [True, False])
def test_switch_waits_for_a_rater_who_is_joining(
    way: str, hide: bool, rated_question: Question, project: Project, eva: User, lead: User
) -> None:
    """The switch waits for the joining rater, and includes them."""
    if not hide:
        rater_pseudonyms.hide_raters(project=project, by=lead)
    gate, join = Gate(), get_join_functions(project, eva, lead)[way]

    def join_and_wait() -> None:
        with transaction.atomic():
            join()
            gate.wait()

    futures = start_threads(join_and_wait)
    gate.wait_until_reached()
    switch = rater_pseudonyms.hide_raters if hide else rater_pseudonyms.restore_raters
    futures += start_threads(lambda: switch(project=project, by=lead))
    wait_until_blocked()
    gate.open()
    wait_for_results(futures)
    check_identities(project, hidden=hide)


@pytest.mark.parametrize("way", ["desk", "api"])
@pytest.mark.parametrize("hide", [True, False])
def test_rater_who_joins_during_the_switch_waits_for_it(
    way: str,
    hide: bool,
    rated_question: Question,
    project: Project,
    eva: User,
    lead: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The joining rater waits for the switch, and sees its result."""
    if not hide:
        rater_pseudonyms.hide_raters(project=project, by=lead)
    gate, follow = Gate(), rater_pseudonyms._rename_in_events

    def follow_and_wait(*args: Any) -> None:
        follow(*args)
        gate.wait()

    monkeypatch.setattr(rater_pseudonyms, "_rename_in_events", follow_and_wait)
    switch = rater_pseudonyms.hide_raters if hide else rater_pseudonyms.restore_raters
    futures = start_threads(lambda: switch(project=project, by=lead))
    gate.wait_until_reached()
    futures += start_threads(get_join_functions(project, eva, lead)[way])
    wait_until_blocked()
    gate.open()
    wait_for_results(futures)
    check_identities(project, hidden=hide)


def test_raters_who_join_at_once_get_different_pseudonyms(
    rated_question: Question, project: Project, make_user: Any, lead: User
) -> None:
    rater_pseudonyms.hide_raters(project=project, by=lead)
    users = [make_user(f"new{number}") for number in range(4)]
    wait_for_results(
        start_threads(
            *[lambda user=user: get_or_link_rater(project=project, user=user) for user in users]
        )
    )
    keys = list(Rater.objects.filter(project=project).values_list("key", flat=True))
    assert len(keys) == len(set(keys)) == len(RATER_KEYS) + 4
    assert all(key.startswith("rater-") for key in keys)
    assert pseudonyms.restore_identities(project.pk).keys() == set(keys)


def test_rating_during_the_switch_stays_with_its_rater(
    rated_question: Question,
    project: Project,
    api_for: Any,
    lead: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sent through the API under the original key: the rating waits for the switch or precedes it."""
    ann = Rater.objects.get(project=project, key="ann")
    gate, follow = Gate(), rater_pseudonyms._rename_in_events

    def follow_and_wait(*args: Any) -> None:
        follow(*args)
        gate.wait()

    monkeypatch.setattr(rater_pseudonyms, "_rename_in_events", follow_and_wait)
    futures = start_threads(lambda: rater_pseudonyms.hide_raters(project=project, by=lead))
    gate.wait_until_reached()
    row = {"item": "i1", "rater": "ann", "label": "major"}
    path = f"/api/v1/projects/{project.pk}/ratings/"
    rating_futures = start_threads(lambda: api_for(lead).post(path, row, format="json").status_code)
    gate.open()
    wait_for_results(futures)
    assert wait_for_results(rating_futures)[0] in (200, 201)
    stored_rating = Rating.objects.get(rater=ann)
    assert stored_rating.question.categories.get(code=stored_rating.code).label == "major"
    assert Rater.objects.filter(project=project).count() == len(RATER_KEYS)
    assert not Rater.objects.filter(key="ann").exists()


@pytest.mark.parametrize("hide", [True, False])
def test_export_during_the_switch_uses_one_key_for_each_rater(
    hide: bool, rated_question: Question, project: Project, rate: Any, lead: User
) -> None:
    """Two questions, one before and one after the switch: otherwise the file reveals who is who."""
    other_question = Question.objects.create(
        project=project, key="tone", text="Tone?", scale="nominal"
    )
    for code, label in enumerate(("none", "some")):
        other_question.categories.create(code=code, label=label, position=code)
    for key in RATER_KEYS:
        rate(other_question, "i1", key, "some")
    if not hide:
        rater_pseudonyms.hide_raters(project=project, by=lead)
    old_keys = set(Rater.objects.filter(project=project).values_list("key", flat=True))
    questions = [rated_question, other_question]
    row_iterator = rating_files.build_ratings_document(project, questions, "csv").iter_rows()
    first_rows = [next(row_iterator) for _ in RATER_KEYS]
    switch = rater_pseudonyms.hide_raters if hide else rater_pseudonyms.restore_raters
    wait_for_results(start_threads(lambda: switch(project=project, by=lead)))
    rate(other_question, "i1", "fay", "some")  # joins during the export
    other_rows = list(row_iterator)
    assert {row[1] for row in first_rows} == old_keys
    assert {row[1] for row in other_rows} - old_keys <= {"fay"}
    document = rating_files.build_ratings_document(project, [rated_question], "csv")
    table = b"".join(document.iter_file()).decode()
    current_keys = {row["rater"] for row in csv.DictReader(io.StringIO(table))}
    assert not current_keys & old_keys
