"""Steps of tests: connect, confirm, pull, and what is recorded here."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from projects.models import Project
from ratings.imports import jobs
from ratings.imports import services as imports
from ratings.imports.services import NewQuestionScale
from ratings.label_studio import pull, services
from ratings.models import LabelStudioConnection, LabelStudioObject, Rating

from .fake_server import LEGACY_TOKEN, PROJECT, FakeLabelStudio, choose, give_stars

LABELS = ("pos", "neg", "neutral")


def add_sample_tasks(fake: FakeLabelStudio) -> list[int]:
    """Add two tasks, rated by two people and a model; return their IDs."""
    first, second = fake.add_task("Fine", meta={"lang": "en"}), fake.add_task("Awful")
    fake.annotate(first, 1, choose("pos"), give_stars(4))
    fake.annotate(first, 2, choose("neg"))
    fake.annotate(second, 1, choose("neg"), ground_truth=True)
    fake.predict(second, "m-1", choose("neutral"))
    return [first, second]


def create(
    fake: FakeLabelStudio, project: Project, by: Any, token: str = LEGACY_TOKEN
) -> LabelStudioConnection:
    return services.create_connection(
        project=project, address=fake.url, remote_project=PROJECT, token=token, by=by
    )


def run(connection: LabelStudioConnection) -> LabelStudioConnection:
    """Let a worker read the connection now, and return it as it is then."""
    LabelStudioConnection.objects.filter(pk=connection.pk).update(next_at=timezone.now())
    pull.pull_connection(connection.pk)
    return LabelStudioConnection.objects.select_related("import_run", "project").get(
        pk=connection.pk
    )


def confirm(connection: LabelStudioConnection, by: Any) -> None:
    """Check and confirm the import of a connection, as the wizard does."""
    assert connection.import_run is not None
    jobs.run_import(connection.import_run.pk)
    connection.import_run.refresh_from_db()
    assert connection.import_run.problems == []
    scales = {
        "sentiment": NewQuestionScale("nominal", LABELS),
        "stars": NewQuestionScale("ordinal", ("1", "2", "3", "4", "5")),
    }
    new = imports.list_new_question_keys(connection.import_run)
    imports.start_writing(
        run=connection.import_run,
        duplicate_policy="last",
        new_scales={key: scales[key] for key in new},
        by=by,
    )
    jobs.run_import(connection.import_run.pk)


def connect(fake: FakeLabelStudio, project: Project, by: Any) -> LabelStudioConnection:
    """Connect with the sample tasks, confirm, and read them for the first time."""
    add_sample_tasks(fake)
    connection = run(create(fake, project, by))
    confirm(connection, by)
    connection = run(connection)
    assert connection.error == {}, connection.error
    return connection


def list_ratings(project: Project) -> list[tuple[str, str, str, int, str]]:
    """Return (question, item, rater, code, comment) of all ratings, withdrawn ones too."""
    rows = Rating.objects.filter(question__project=project)
    fields = ("question__key", "item__key", "rater__key", "code", "comment")
    return sorted(rows.values_list(*fields))


def list_current(project: Project) -> dict[tuple[str, str, str], str]:
    """Return {(question, task, rater): label} of the current ratings."""
    rows = Rating.objects.current().filter(question__project=project)
    labels = {
        (category.question_id, category.code): category.label
        for question in project.questions.all()
        for category in question.categories.all()
    }
    return {
        (row.question.key, row.item.key.rpartition(":")[2], row.rater.key): labels[
            row.question_id, row.code
        ]
        for row in rows.select_related("question", "item", "rater")
    }


def list_objects(connection: LabelStudioConnection) -> list[tuple[str, int]]:
    rows = LabelStudioObject.objects.filter(connection=connection)
    return sorted(rows.values_list("kind", "remote_id"))


def list_expected(fake: FakeLabelStudio) -> dict[tuple[str, str, str], str]:
    """Return what `list_current` has to be, by a separate and simple reading of the tasks there."""
    expected: dict[tuple[str, str, str], str] = {}
    for kind in ("annotations", "predictions"):
        for row in sorted(fake.rows[kind].values(), key=lambda row: row["created_at"]):
            if row.get("was_cancelled"):
                continue
            user = fake.users.get(row.get("completed_by", 0), {})
            rater = str(user.get("email") or row["model_version"])
            for part in row["result"]:
                value = part["value"]
                label = value["choices"][0] if "choices" in value else str(value["rating"])
                expected[part["from_name"], str(row["task"]), rater] = label
    return expected
