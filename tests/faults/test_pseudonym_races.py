"""Names are hidden, or shown again, while raters join, rate, and files are read: with real
transactions. Nobody stands under their own name where names are hidden."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from projects.models import Project, Question, Rater, RaterIdentity
from projects.services.raters import pseudonyms
from projects.services.raters.updates import tie_annotator
from projects.services.raters.upsert import upsert_raters
from ratings.exports import rating_files
from ratings.items import rater_pseudonyms
from ratings.models import Rating
from tests.faults.threads import Gate, finish, start, wait_until_blocked

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql_only(
        "SQLite's writers stand in one line: only PostgreSQL's can overtake each other"
    ),
]

PEOPLE = ("ann", "ben", "cleo")


@pytest.fixture
def eva(make_user: Any) -> User:
    user: User = make_user("eva")
    user.first_name = "Eva"
    user.save()
    return user


@pytest.fixture
def rated(project: Project, question: Question, rate: Any) -> Question:
    for key in PEOPLE:
        rate(question, "i1", key, "none")
    return question


def ways_to_join(project: Project, eva: User, lead: User) -> dict[str, Callable[[], Any]]:
    """What a person does who begins to rate, and what a lead sends by API."""
    row = {"key": "eva", "name": "Eva"}
    return {
        "desk": lambda: tie_annotator(project=project, user=eva),
        "api": lambda: upsert_raters(project=project, rows=[row], by=lead),
    }


def check(project: Project, *, hidden: bool) -> None:
    """Everybody under a pseudonym of their own and without a name, or nobody."""
    people = Rater.objects.filter(project=project)
    known = dict(RaterIdentity.objects.filter(project=project).values_list("rater__key", "key"))
    keys = set(people.values_list("key", flat=True))
    assert len(keys) == len(PEOPLE) + 1
    if hidden:
        assert keys == set(known)
        assert set(known.values()) == {*PEOPLE, "eva"}
        assert all(key.startswith("rater-") for key in keys)
        assert set(people.values_list("name", flat=True)) == {""}
        assert RaterIdentity.objects.get(key="eva").name == "Eva"
    else:
        assert (keys, known) == ({*PEOPLE, "eva"}, {})
        assert Rater.objects.get(project=project, key="eva").name == "Eva"


@pytest.mark.parametrize("way", ["desk", "api"])
@pytest.mark.parametrize("on", [True, False])
def test_who_joins_before_the_switch_commits_after_it(
    way: str, on: bool, rated: Question, project: Project, eva: User, lead: User
) -> None:
    """The switch waits for whoever is joining, and takes them along."""
    if not on:
        rater_pseudonyms.hide_raters(project=project, by=lead)
    gate, join = Gate(), ways_to_join(project, eva, lead)[way]

    def slowly() -> None:
        with transaction.atomic():
            join()
            gate.wait()

    futures = start(slowly)
    gate.wait_until_reached()
    switch = rater_pseudonyms.hide_raters if on else rater_pseudonyms.restore_raters
    futures += start(lambda: switch(project=project, by=lead))
    wait_until_blocked()
    gate.open()
    finish(futures)
    check(project, hidden=on)


@pytest.mark.parametrize("way", ["desk", "api"])
@pytest.mark.parametrize("on", [True, False])
def test_who_joins_while_it_is_switched(
    way: str,
    on: bool,
    rated: Question,
    project: Project,
    eva: User,
    lead: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever joins waits for the switch, and sees what it made."""
    if not on:
        rater_pseudonyms.hide_raters(project=project, by=lead)
    gate, follow = Gate(), rater_pseudonyms._rename_in_events

    def slowly(*args: Any) -> None:
        follow(*args)
        gate.wait()

    monkeypatch.setattr(rater_pseudonyms, "_rename_in_events", slowly)
    switch = rater_pseudonyms.hide_raters if on else rater_pseudonyms.restore_raters
    futures = start(lambda: switch(project=project, by=lead))
    gate.wait_until_reached()
    futures += start(ways_to_join(project, eva, lead)[way])
    wait_until_blocked()
    gate.open()
    finish(futures)
    check(project, hidden=on)


def test_two_who_join_a_hiding_project_get_pseudonyms_of_their_own(
    rated: Question, project: Project, make_user: Any, lead: User
) -> None:
    rater_pseudonyms.hide_raters(project=project, by=lead)
    users = [make_user(f"new{number}") for number in range(4)]
    finish(start(*[lambda user=user: tie_annotator(project=project, user=user) for user in users]))
    keys = list(Rater.objects.filter(project=project).values_list("key", flat=True))
    assert len(keys) == len(set(keys)) == len(PEOPLE) + 4
    assert all(key.startswith("rater-") for key in keys)
    assert pseudonyms.restore_identities(project.pk).keys() == set(keys)


def test_ratings_given_while_it_is_switched_stay_with_who_gave_them(
    rated: Question, project: Project, api_for: Any, lead: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By API, under the true key: the rating waits, or is there, and the switch takes it along."""
    ann = Rater.objects.get(project=project, key="ann")
    gate, follow = Gate(), rater_pseudonyms._rename_in_events

    def slowly(*args: Any) -> None:
        follow(*args)
        gate.wait()

    monkeypatch.setattr(rater_pseudonyms, "_rename_in_events", slowly)
    futures = start(lambda: rater_pseudonyms.hide_raters(project=project, by=lead))
    gate.wait_until_reached()
    sent = {"item": "i1", "rater": "ann", "label": "major"}
    path = f"/api/v1/projects/{project.pk}/ratings/"
    rating = start(lambda: api_for(lead).post(path, sent, format="json").status_code)
    gate.open()
    finish(futures)
    assert finish(rating)[0] in (200, 201)
    standing = Rating.objects.get(rater=ann)
    assert standing.question.categories.get(code=standing.code).label == "major"
    assert Rater.objects.filter(project=project).count() == len(PEOPLE)
    assert not Rater.objects.filter(key="ann").exists()


@pytest.mark.parametrize("on", [True, False])
def test_a_file_that_is_read_while_it_is_switched_knows_each_rater_by_one_key(
    on: bool, rated: Question, project: Project, rate: Any, lead: User
) -> None:
    """Two questions, one before and one after the switch: else the file says who is who."""
    other = Question.objects.create(project=project, key="tone", text="Tone?", scale="nominal")
    for code, label in enumerate(("none", "some")):
        other.categories.create(code=code, label=label, position=code)
    for key in PEOPLE:
        rate(other, "i1", key, "some")
    if not on:
        rater_pseudonyms.hide_raters(project=project, by=lead)
    before = set(Rater.objects.filter(project=project).values_list("key", flat=True))
    pieces = rating_files.iter_rows([rated, other])
    first = [next(pieces) for _ in PEOPLE]
    switch = rater_pseudonyms.hide_raters if on else rater_pseudonyms.restore_raters
    finish(start(lambda: switch(project=project, by=lead)))
    rate(other, "i1", "fay", "some")  # joins while it is read
    rest = list(pieces)
    assert {row[1] for row in first} == before
    assert {row[1] for row in rest} - before <= {"fay"}
    table = b"".join(rating_files.iter_csv(rating_files.iter_rows([rated]))).decode()
    now = {row["rater"] for row in csv.DictReader(io.StringIO(table))}
    assert not now & before
