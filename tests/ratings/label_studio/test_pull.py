"""Reading Label Studio: the first import, changes, deletions, overlap and kills."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from projects.models import Category, Item, Project, Rater
from projects.services.question_validation import NewCategory, NewQuestion
from projects.services.questions import add_question
from ratings.imports import jobs
from ratings.imports import services as imports
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.label_studio import client, pull, recording, remote_tasks
from ratings.label_studio.client import format_error
from ratings.models import (
    NO_CODE,
    Assignment,
    ImportRun,
    LabelStudioConnection,
    LabelStudioObject,
    Rating,
    Revision,
)
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import make_project

from .fake_server import REFRESH_TOKEN, FakeLabelStudio, choose, give_stars
from .steps import (
    LABELS,
    add_sample_tasks,
    confirm,
    create,
    list_current,
    list_expected,
    list_objects,
    list_ratings,
    run,
)

State = LabelStudioConnection.State
SPAN = {
    "id": "r",
    "from_name": "span",
    "to_name": "text",
    "type": "labels",
    "value": {"start": 0, "end": 2, "labels": ["A"]},
}


def count_revisions() -> int:
    return Revision.objects.count()


def make_comparison_due(connection: LabelStudioConnection) -> None:
    long_ago = timezone.now() - datetime.timedelta(days=2)
    LabelStudioConnection.objects.filter(pk=connection.pk).update(compared_at=long_ago)


def list_rows(project: Project) -> dict[str, Any]:
    """Return everything that an import or a pull stores in a project."""
    codes = {
        (row.question.key, row.code): row.label
        for row in Category.objects.filter(question__project=project).select_related("question")
    }
    ratings = Rating.objects.current().filter(question__project=project)
    fields = ("question__key", "item__key", "rater__key", "code", "rated_at", "seconds", "comment")
    skips = Assignment.objects.filter(item__project=project, state=Assignment.State.SKIPPED)
    return {
        "items": sorted(
            (item.key, json.dumps(item.body), json.dumps(item.attributes))
            for item in project.items.all()
        ),
        "ratings": sorted(
            (question, item, rater, codes[question, code], *rest)
            for question, item, rater, code, *rest in ratings.values_list(*fields)
        ),
        "raters": sorted(project.raters.values_list("key", "name", "kind", "model")),
        "skips": sorted(skips.values_list("item__key", "rater__key", "closed_at")),
        "gold": sorted(
            (gold.question.key, gold.item.key, [codes[gold.question.key, c] for c in gold.answer])
            for question in project.questions.all()
            for gold in question.gold_answers.select_related("item", "question")
        ),
    }


def test_nothing_is_stored_before_the_lead_confirms(
    fake: FakeLabelStudio, project: Project, lead: Any
) -> None:
    add_sample_tasks(fake)
    connection = run(create(fake, project, lead))
    file_run = ImportRun.objects.get()
    jobs.run_import(file_run.pk)
    connection = run(connection)
    assert (connection.state, connection.import_run) == (State.MAPPING, file_run)
    assert connection.title == "Moods"
    file_run.refresh_from_db()
    summary = file_run.summary
    assert (summary["items"], summary["raters"], summary["rows"]) == (2, 3, 5)
    assert summary["questions"]["sentiment"]["labels"] == {"pos": 1, "neg": 2, "neutral": 1}
    # Also what nobody has answered yet.
    stars = {"1": 0, "2": 0, "3": 0, "4": 1}
    assert summary["questions"]["stars"]["labels"] == stars
    assert not project.items.exists()
    assert not Rating.objects.exists()
    assert not LabelStudioObject.objects.exists()
    # The import is discarded instead: an error with the next step, until the project is read again.
    assert imports.discard_run(run=file_run)
    assert "Read the project again" in format_error(run(connection).error)


def test_a_pull_stores_what_an_import_of_the_same_tasks_stores(
    fake: FakeLabelStudio, connection: LabelStudioConnection, project: Project, lead: Any
) -> None:
    """The tasks arrive by pulls in one project, and as one file in another."""
    assert list_current(project) == list_expected(fake)
    task = fake.add_task("Read me", meta={"source": {"name": "web"}})
    fake.annotate(task, 3, choose("neutral"), SPAN)
    fake.annotate(task, 2, was_cancelled=True)
    run(connection)
    fake.annotate(task, 1, choose("pos", part_id="a"), choose("neg", part_id="b"))
    fake.annotate(task, None, choose("neg"))
    fake.predict(task, "m-2", choose("pos"), give_stars(5))
    fake.predict(task, "m-1", choose("pos"))
    run(connection)

    other = make_project("Other", created_by=lead)
    details = fake.users
    tasks = [remote_tasks.expand_raters(fake.build_task(task), details) for task in fake.tasks]
    file_run = imports.create_run(
        file=io.BytesIO(json.dumps(tasks).encode()),
        name="Label Studio 12.json",
        project=other,
        by=lead,
        source="label_studio",
    )
    mapping = ImportMapping.from_run(file_run)
    mapping.key_prefix = "ls:12:"
    imports.start_check(run=file_run, mapping=mapping)
    confirm(LabelStudioConnection(import_run=file_run), lead)
    file_run.refresh_from_db()
    assert file_run.state == ImportRun.State.DONE
    rows = list_rows(project)
    rows["raters"] = [row for row in rows["raters"] if row[0] != "ann"]  # from the fixture
    assert rows == list_rows(other)
    assert len(rows["ratings"]) == 10
    assert len(rows["skips"]) == len(rows["gold"]) == 1


def test_reading_again_changes_nothing(
    fake: FakeLabelStudio, connection: LabelStudioConnection, project: Project
) -> None:
    rating = Rating.objects.get(
        question__key="sentiment", item__key="ls:12:101", rater__key="ben@example.org"
    )
    # Ben corrects his answer here; it differs from what is there.
    judgement = Judgement(rating.item_id, rating.rater_id, 0)
    record_ratings({rating.question: [judgement]}, by=None, source="form")
    before, revisions = list_ratings(project), count_revisions()
    objects = list_objects(connection)
    for _ in range(3):
        make_comparison_due(connection)
        assert run(connection).error == {}
    assert (list_ratings(project), count_revisions()) == (before, revisions)
    assert list_objects(connection) == objects
    # The overlap: the tasks that changed shortly before are read with each pull, then not any more.
    fake.tick(1000)
    run(connection)
    fake.requests.clear()
    run(connection)
    assert len(fake.requests) == 1
    assert "updated_at" in fake.requests[0][1]


def test_changes_there_become_changed_ratings_with_history(
    fake: FakeLabelStudio, connection: LabelStudioConnection, project: Project
) -> None:
    [first, second] = fake.tasks
    anna, ben = 103, 104
    fake.change("annotations", anna, result=[choose("neg")])  # other label, no stars any more
    fake.change("annotations", ben, was_cancelled=True, result=[])
    later = fake.annotate(second, 1, choose("pos"))  # a second annotation by Anna
    fake.change("predictions", 106, model_version="m-2")
    run(connection)
    assert list_current(project) == list_expected(fake) | {
        ("sentiment", str(second), "anna@example.org"): "pos"
    }
    rating = Rating.objects.get(
        question__key="sentiment", item__key=f"ls:12:{first}", rater__key__startswith="anna"
    )
    history = rating.revisions.values_list("code", "source")
    assert list(history) == [(0, "import"), (1, "import")]
    withdrawn = Rating.objects.filter(code=NO_CODE)
    assert {(row.rater.key, row.comment) for row in withdrawn} == {
        ("anna@example.org", recording.REASON_DELETED),
        ("ben@example.org", recording.REASON_DELETED),
        ("m-1", recording.REASON_DELETED),
    }
    counts = LabelStudioConnection.objects.get().counts
    assert counts == {"created": 1, "changed": 2, "withdrawn": 3}
    # Given again, without the reason of the withdrawal; Anna's later annotation is deleted.
    fake.change("annotations", ben, was_cancelled=False, result=[choose("neutral")])
    fake.delete("annotations", later)
    fake.tasks[second]["updated_at"] = fake.tick()
    run(connection)
    assert list_current(project) == list_expected(fake)
    assert {row[4] for row in list_ratings(project) if row[3] != NO_CODE} == {""}


def test_the_nightly_comparison_finds_deletions(
    fake: FakeLabelStudio,
    connection: LabelStudioConnection,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "PAGE_SIZE", 2)
    monkeypatch.setattr(pull, "MAX_MISSING_TASKS", 2)
    tasks = [fake.add_task(f"Text {number}") for number in range(8)]
    for task in tasks:
        fake.annotate(task, 3, choose("pos"))
    run(connection)
    assert len(list_current(project)) == 13
    fake.tick(1000)
    run(connection)  # what follows has times that no pull reads any more
    fake.delete("annotations", 104)
    fake.delete("predictions", 106)
    for task in (*tasks[1:6], tasks[7]):
        fake.delete_task(task)
    run(connection)
    assert len(list_current(project)) == 13
    make_comparison_due(connection)
    # Only what Label Studio itself does not know by its ID is gone.
    fake.intercept = lambda _method, path: (
        (200, {"id": 104}, {}) if path == "/api/annotations/104/" else None
    )
    run(connection)
    ben = ("sentiment", "101", "ben@example.org")
    assert list_current(project) == list_expected(fake) | {ben: "neg"}
    fake.intercept = lambda *_: None
    make_comparison_due(connection)
    connection = run(connection)
    assert list_current(project) == list_expected(fake)
    assert connection.counts["withdrawn"] == 8
    assert project.items.count() == 10  # items stay
    assert ("task", tasks[1]) not in list_objects(connection)
    # Once a night.
    fake.requests.clear()
    run(connection)
    assert len(fake.requests) == 1


class Killed(BaseException):
    """The end of a worker's process."""


def work_there(fake: FakeLabelStudio, rng: random.Random) -> None:
    """Let a person or a model do anything in Label Studio."""
    kind = rng.choice(["annotations", "annotations", "predictions"])
    row = rng.choice([0, *fake.rows[kind]])
    result = [choose(rng.choice(LABELS)), give_stars(rng.randint(1, 5))][: rng.randint(1, 2)]
    match rng.randint(0, 6):
        case 0:
            fake.add_task("New")
        case 1 if row and kind == "annotations":
            fake.delete(kind, row)
        case 2 if row:
            fake.change(kind, row, result=result)
        case 3 if row and kind == "annotations":
            fake.change(kind, row, was_cancelled=rng.random() < 0.5)
        case 4:
            fake.predict(rng.choice(list(fake.tasks)), rng.choice(["m-1", "m-2"]), *result)
        case 5 if len(fake.tasks) > 2:
            fake.delete_task(rng.choice(list(fake.tasks)))
        case _:
            fake.annotate(rng.choice(list(fake.tasks)), rng.randint(1, 3), *result)


@pytest.mark.parametrize("seed", range(4))
def test_kills_lose_and_double_nothing(
    seed: int,
    fake: FakeLabelStudio,
    connection: LabelStudioConnection,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """People work there in any order while workers are killed at requests and before commits."""
    rng = random.Random(seed)
    n_kills = 0

    def kill_at_times(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal n_kills
            value = function(*args, **kwargs)
            if rng.random() < 0.15:
                n_kills += 1
                raise Killed
            return value

        return call

    with monkeypatch.context() as patches:
        patches.setattr(client, "PAGE_SIZE", 3)
        patches.setattr(client.Client, "_request", kill_at_times(client.Client._request))
        patches.setattr(recording._Recorder, "write", kill_at_times(recording._Recorder.write))
        for _ in range(12):
            for _ in range(rng.randint(1, 4)):
                work_there(fake, rng)
            if rng.random() < 0.3:
                make_comparison_due(connection)
            with contextlib.suppress(Killed):
                run(connection)
    assert n_kills
    make_comparison_due(connection)
    assert run(connection).error == {}
    assert list_current(project) == list_expected(fake)
    kinds = {"annotations": "annotation", "predictions": "prediction"}
    there = {(kinds[kind], row) for kind, rows in fake.rows.items() for row in rows}
    there |= {("task", task) for task in fake.tasks}
    assert {row for row in list_objects(connection) if row[0] != "user"} == there
    revisions = count_revisions()
    make_comparison_due(connection)
    run(connection)
    assert count_revisions() == revisions


def test_an_unknown_label_stops_the_cursor_until_it_is_a_category(
    fake: FakeLabelStudio, connection: LabelStudioConnection, project: Project
) -> None:
    task = fake.add_task("Odd")
    fake.annotate(task, 1, choose("mixed"))
    before = list_ratings(project)
    failed = run(connection)
    assert format_error(failed.error).startswith(f"Task {task}: ")
    assert "mixed" in format_error(failed.error)
    assert "pos, neg, neutral" in format_error(failed.error)
    assert failed.failures == 1
    assert list_ratings(project) == before
    question = project.questions.get(key="sentiment")
    Category.objects.create(question=question, code=3, label="mixed", position=3)
    assert run(connection).error == {}
    assert list_current(project) == list_expected(fake)


def test_answers_to_an_unknown_question_follow_once_it_exists(
    fake: FakeLabelStudio, connection: LabelStudioConnection, project: Project, lead: Any
) -> None:
    fake.annotate(101, 3, choose("yes", name="useful"), choose("pos"))
    assert run(connection).error == {}
    useful = ("useful", "101", "cleo@example.org")
    assert useful not in list_current(project)
    categories = [NewCategory("yes"), NewCategory("no")]
    question = NewQuestion(key="useful", text="Useful?", scale="nominal", categories=categories)
    add_question(project=project, question=question, by=lead)
    make_comparison_due(connection)
    run(connection)
    assert list_current(project) == list_expected(fake)
    assert list_current(project)[useful] == "yes"


def test_what_was_deleted_here_for_good_does_not_return(
    fake: FakeLabelStudio, connection: LabelStudioConnection, project: Project
) -> None:
    for model in (Revision, Rating):
        rows = model._default_manager.all()
        rows._raw_delete(rows.db)
    Rater.objects.filter(key="anna@example.org").delete()
    Item.objects.filter(key="ls:12:102").delete()
    fake.annotate(101, 1, choose("pos"))
    fake.annotate(102, 2, choose("pos"))
    make_comparison_due(connection)
    assert run(connection).error == {}
    assert not Rater.objects.filter(key="anna@example.org").exists()
    assert not Rating.objects.exists()
    assert project.items.count() == 1


def test_an_annotator_keeps_the_rater_when_the_address_there_changes(
    fake: FakeLabelStudio, connection: LabelStudioConnection, project: Project
) -> None:
    fake.users[1]["email"] = "anna.new@example.org"
    fake.annotate(102, 1, choose("pos"))
    fake.change("annotations", 104, completed_by=None)  # Ben's account was deleted there
    run(connection)
    raters = set(project.raters.values_list("key", flat=True)) - {"ann"}
    assert raters == {"anna@example.org", "ben@example.org", "m-1"}
    assert list_current(project)["sentiment", "102", "anna@example.org"] == "pos"


def test_a_personal_token_gets_access_tokens(
    fake: FakeLabelStudio, project: Project, lead: Any
) -> None:
    add_sample_tasks(fake)
    connection = create(fake, project, lead, token=REFRESH_TOKEN)
    assert REFRESH_TOKEN not in connection.token
    assert run(connection).state == State.MAPPING
    # The access token ends in the middle of the work.
    answers: Iterator[Any] = iter([None, None, (401, {}, {})])
    fake.intercept = lambda *_: next(answers, None)
    LabelStudioConnection.objects.update(state=State.READING)
    assert run(connection).error == {}
    assert [path for _method, path in fake.requests].count("/api/token/refresh/") == 4


@pytest.mark.parametrize(
    ("answer", "kind", "seconds"),
    [
        ((429, {}, {"Retry-After": "600"}), "busy", 600),
        ((502, b"<html>", {}), "busy", 60),
        ((401, {}, {}), "token", 60),
        ((403, {}, {}), "forbidden", 60),
        ((404, {}, {}), "no_project", 60),
        ((302, b"", {"Location": "https://example.org/"}), "redirect", 60),
        ((200, b"<html>", {}), "no_json", 60),
        ((200, [1], {}), "no_json", 60),
        ((200, {"tasks": [{"id": "1"}]}, {}), "no_json", 60),
        ((200, {"tasks": [{"id": 5, "annotations": None}]}, {}), "no_json", 60),
        ((200, b"[" * 100_000, {}), "no_json", 60),
    ],
)
def test_every_other_response_is_an_error_in_plain_words(
    answer: Any,
    kind: str,
    seconds: int,
    fake: FakeLabelStudio,
    connection: LabelStudioConnection,
    project: Project,
) -> None:
    before = list_ratings(project)
    fake.intercept = lambda *_: answer
    failed = run(connection)
    assert failed.error["kind"] == kind
    assert format_error(failed.error)
    wait = (failed.next_at - timezone.now()).total_seconds()
    assert seconds - 30 < wait <= seconds
    assert run(connection).failures == 2
    assert list_ratings(project) == before
    fake.intercept = lambda *_: None
    assert run(connection).error == {}


def test_a_repeated_page_does_not_read_for_ever(
    fake: FakeLabelStudio, connection: LabelStudioConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy, or a server that ignores the query, returns the same tasks again and again."""
    page = {"total": 9, "tasks": [fake.build_task(101), fake.build_task(102)]}
    fake.intercept = lambda *_: (200, page, {})
    assert run(connection).error["kind"] == "no_json"


def test_a_task_reached_by_two_workers_is_read_by_one(
    connection: LabelStudioConnection, fake: FakeLabelStudio
) -> None:
    LabelStudioConnection.objects.update(
        leased_until=timezone.now() + datetime.timedelta(seconds=30), lease="other"
    )
    fake.requests.clear()
    run(connection)
    assert fake.requests == []
