"""Exports that a worker writes: the same bytes as the direct download, also after a killed worker."""

from __future__ import annotations

import datetime
import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import override_settings
from django.utils import timezone

from agreement_site import housekeeping
from projects.models import Deletion, Item, Project, Question, Rater
from ratings import personal_data, rater_pseudonyms, tasks
from ratings.exports import documents, jobs, rating_files, services
from ratings.files import export_files, parquet_file, shared_folders
from ratings.items import removal
from ratings.models import ExportRun
from tests.cast import rate_many

pytestmark = pytest.mark.django_db

FORMATS = ["csv", "jsonl", "parquet"]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> None:
    """Make pieces of three rows, in a data folder of the test."""
    monkeypatch.setattr(documents, "ROWS_PER_PIECE", 3)
    settings.DATA_DIR = tmp_path


@pytest.fixture
def rated_project(project: Project, question: Question) -> Project:
    """Return a project with two questions, items of one to four ratings, and all kinds of texts."""
    other_question = Question.objects.create(
        project=project, key="tone", text="Tone?", scale="nominal"
    )
    for code, label in enumerate(("good", "bad, or worse")):
        other_question.categories.create(code=code, label=label, position=code)
    for rated_question in (question, other_question):
        labels = list(rated_question.categories.values_list("label", flat=True))
        ratings = []
        for number in range(11):
            for rater in ("zoe", "ann", "=ben", "mia, or may")[: 1 + number % 4]:
                ratings.append((f"i{number}", rater, labels[number % len(labels)]))
        rate_many(rated_question, ratings, comment="=1+1", seconds=0.1)
    rate_many(question, [("i3", "ann", None)])
    return project


def start(project: Project, by: User, kind: str = "csv", **parameters: str) -> ExportRun:
    return services.start_export(
        project=project, kind="ratings", file_format=kind, parameters=parameters, by=by
    )


def read_file(run: ExportRun) -> bytes:
    run.refresh_from_db()
    assert run.state == "done"
    content = export_files.get_absolute_path(run.path).read_bytes()
    assert len(content) == run.bytes_written
    return content


def read_stream(project: Project, kind: str) -> bytes:
    questions = list(project.questions.all())
    return b"".join(rating_files.build_ratings_document(project, questions, kind).iter_file())


def list_files() -> list[str]:
    """Return the names of the files of exports on the disk."""
    folder = Path(settings.DATA_DIR) / export_files.FOLDER
    return [file.name for file in folder.iterdir() if not file.name.startswith(".")]


def kill_worker_after(monkeypatch: pytest.MonkeyPatch, run: ExportRun, n_pieces: int) -> None:
    """Run the export with a worker that ends without a word after some pieces."""
    store = jobs._flush_to_disk
    n_left = n_pieces

    def store_or_die(file: Any) -> None:
        nonlocal n_left
        if not n_left:
            file.write(b"a piece that is not complete")
            file.close()
            raise SystemExit
        n_left -= 1
        store(file)

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(jobs, "_flush_to_disk", store_or_die)
        jobs.run_export(run.pk)
    run.refresh_from_db()


def expire_lease(run: ExportRun) -> None:
    ExportRun.objects.filter(pk=run.pk).update(leased_until=timezone.now())


def skip_without_parquet(kind: str) -> None:
    if kind == "parquet" and not parquet_file.has_parquet():
        pytest.skip("requirements-extra.txt is not installed")


@pytest.mark.parametrize("kind", FORMATS)
def test_file_equals_the_direct_download(kind: str, rated_project: Project, lead: User) -> None:
    skip_without_parquet(kind)
    run = start(rated_project, lead, kind)
    jobs.run_export(run.pk)
    assert read_file(run) == read_stream(rated_project, kind)
    assert run.rows_done == run.rows_total == 2 * 26 - 1
    assert (run.percent, len(list_files())) == (100, 1)


def test_file_of_one_question(rated_project: Project, lead: User) -> None:
    run = start(rated_project, lead, question="tone")
    jobs.run_export(run.pk)
    questions = [rated_project.questions.get(key="tone")]
    document = rating_files.build_ratings_document(rated_project, questions, "csv")
    assert read_file(run) == b"".join(document.iter_file())


def test_file_without_ratings_has_a_header(project: Project, lead: User) -> None:
    run = start(project, lead)
    jobs.run_export(run.pk)
    assert read_file(run) == rating_files.CSV_HEADER.encode()
    assert run.percent == 100


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("n_pieces", [0, 1, 4, 11])
def test_export_of_a_killed_worker_is_resumed(
    kind: str,
    n_pieces: int,
    rated_project: Project,
    lead: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    skip_without_parquet(kind)
    run = start(rated_project, lead, kind)
    kill_worker_after(monkeypatch, run, n_pieces)
    n_rows = run.rows_done
    assert run.state == "writing" and (n_rows > 0) == (n_pieces > 0)
    assert run.percent < 100

    assert tasks.resume_stalled() == 0  # its lease has not expired
    expire_lease(run)
    reads: list[Any] = []
    iter_pieces = documents.iter_pieces

    def note_position(*args: Any, **kwargs: Any) -> Any:
        reads.append(kwargs)
        return iter_pieces(*args, **kwargs)

    monkeypatch.setattr(jobs, "iter_pieces", note_position)
    assert tasks.resume_stalled() == 1
    assert read_file(run) == read_stream(rated_project, kind)
    assert bool(reads[0]["n_sections_done"] or reads[0]["last_item_id"]) == (n_pieces > 0)
    assert len(list_files()) == 1


def test_worker_killed_while_encoding_is_resumed(
    rated_project: Project, lead: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_parquet("parquet")
    run = start(rated_project, lead, "parquet")
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(jobs, "_mark_done", lambda *_args: (_ for _ in ()).throw(SystemExit()))
        jobs.run_export(run.pk)
    expire_lease(run)
    jobs.resume_stalled_exports()
    assert read_file(run) == read_stream(rated_project, "parquet")
    assert len(list_files()) == 1


@pytest.mark.parametrize("loss", ["deleted", "truncated"])
def test_export_starts_again_without_its_file(
    loss: str, rated_project: Project, lead: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(rated_project, lead)
    kill_worker_after(monkeypatch, run, 3)
    path = export_files.get_absolute_path(run.path)
    path.unlink() if loss == "deleted" else path.write_bytes(b"item,")
    expire_lease(run)
    jobs.run_export(run.pk)
    assert read_file(run) == read_stream(rated_project, "csv")
    assert run.rows_done == 51


def test_worker_that_lost_its_lease_changes_nothing(
    rated_project: Project, lead: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was taken for dead goes on writing; the file of the next one is not touched."""
    run = start(rated_project, lead)
    store = jobs._flush_to_disk
    calls = []

    def store_after_the_other(file: Any) -> None:
        calls.append(file)
        if len(calls) == 3:
            expire_lease(run)
            jobs.run_export(run.pk)
        store(file)

    monkeypatch.setattr(jobs, "_flush_to_disk", store_after_the_other)
    jobs.run_export(run.pk)
    assert len({id(file) for file in calls}) == 2
    assert read_file(run) == read_stream(rated_project, "csv")


def test_only_one_worker_writes(rated_project: Project, lead: User) -> None:
    run = start(rated_project, lead)
    ExportRun.objects.update(leased_until=timezone.now() + datetime.timedelta(minutes=1))
    jobs.run_export(run.pk)
    run.refresh_from_db()
    assert run.state == "pending"
    jobs.run_export(0)  # deleted meanwhile


def test_rows_are_those_that_exist_at_the_start(
    rated_project: Project, question: Question, lead: User, rate: Any, monkeypatch: Any
) -> None:
    """Later ratings are left out; one that changes meanwhile is read as it is at its turn."""
    run = start(rated_project, lead, question="severity")
    rate(question, "i10", "late", "none")  # a new rating of an old item
    rate(question, "new item", "ann", "none")
    kill_worker_after(monkeypatch, run, 1)  # i0 and i1 are written
    rate(question, "i1", "ann", "critical")  # no longer seen
    rate(question, "i9", "ann", "critical")
    rate(question, "i8", "zoe", None)
    expire_lease(run)
    jobs.run_export(run.pk)
    rows = [line.split(",")[:4] for line in read_file(run).decode().splitlines()[1:]]
    labels = {(item, rater): label for item, rater, _question, label in rows}
    assert len(labels) == len(rows) == run.rows_total == 24
    assert labels["i1", "ann"] == "minor"
    assert labels["i9", "ann"] == "critical"
    assert ("i8", "zoe") not in labels
    assert not {key for key in labels if "late" in key or "new item" in key}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_is_an_error_and_leaves_no_file(
    number: int, rated_project: Project, lead: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(rated_project, lead)

    def fail(_file: Any) -> None:
        raise OSError(number, "full")

    monkeypatch.setattr(jobs, "_flush_to_disk", fail)
    jobs.run_export(run.pk)
    run.refresh_from_db()
    assert (run.state, run.error, run.path) == ("failed", "disk_full", "")
    assert list_files() == []
    assert tasks.resume_stalled() == 0


def test_other_errors_are_retried_a_few_times(
    rated_project: Project, lead: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(rated_project, lead)

    def fail(_file: Any) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(jobs, "_flush_to_disk", fail)
    for _attempt in range(jobs.MAX_ATTEMPTS):
        assert tasks.resume_stalled() == 1
        run.refresh_from_db()
        assert run.state == "writing"
    assert tasks.resume_stalled() == 1
    run.refresh_from_db()
    assert (run.state, run.error) == ("failed", "error")
    assert list_files() == []


def test_export_that_is_deleted_while_written_leaves_no_file(
    rated_project: Project,
    lead: User,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    run = start(rated_project, lead)
    store = jobs._flush_to_disk

    def store_and_delete(file: Any) -> None:
        with django_capture_on_commit_callbacks(execute=True):
            services.delete_export(run=run)
        store(file)

    monkeypatch.setattr(jobs, "_flush_to_disk", store_and_delete)
    jobs.run_export(run.pk)
    assert not ExportRun.objects.exists()
    assert list_files() == []


def hide_raters(project: Project, by: User) -> None:
    rater_pseudonyms.hide_raters(project=project, by=by)


def forget_rater(project: Project, by: User) -> None:
    personal_data.pseudonymize_rater(rater=project.raters.get(key="ann"), by=by, comments=False)


def delete_item(project: Project, by: User) -> None:
    item = project.items.get(key="unrated")
    deletion = removal.start_deletion(kind=Deletion.Kind.ITEM, target=item, by=by)
    assert removal.delete_target_row(deletion)


def delete_project(project: Project, by: User) -> None:
    other_project = Project.objects.create(name="other", created_by=by)
    ExportRun.objects.update(project=other_project)
    deletion = removal.start_deletion(kind=Deletion.Kind.PROJECT, target=other_project, by=by)
    assert removal.delete_target_row(deletion)


@pytest.mark.parametrize("remove", [hide_raters, forget_rater, delete_item, delete_project])
def test_files_are_deleted_with_the_data_that_they_show(
    remove: Callable[[Project, User], None],
    rated_project: Project,
    lead: User,
    django_capture_on_commit_callbacks: Any,
) -> None:
    Item.objects.create(project=rated_project, key="unrated", body={"text": "x"})
    run = start(rated_project, lead)
    jobs.run_export(run.pk)
    with django_capture_on_commit_callbacks(execute=True):
        remove(rated_project, lead)
    assert not ExportRun.objects.exists()
    assert list_files() == []


def test_hidden_raters_have_pseudonyms_in_the_file(rated_project: Project, lead: User) -> None:
    hide_raters(rated_project, lead)
    run = start(rated_project, lead)
    jobs.run_export(run.pk)
    assert read_file(run) == read_stream(rated_project, "csv")
    assert b"zoe" not in read_file(run)
    assert not Rater.objects.filter(key="zoe").exists()


def test_removed_account_leaves_its_exports_without_a_name(
    rated_project: Project, make_user: Any
) -> None:
    user = make_user("leaves")
    run = start(rated_project, user)
    user.delete()
    run.refresh_from_db()
    assert run.by is None


@pytest.mark.parametrize(("days", "is_left"), [(7, False), (8, True), (0, True)])
def test_files_expire(
    days: int,
    is_left: bool,
    rated_project: Project,
    lead: User,
    django_capture_on_commit_callbacks: Any,
) -> None:
    run = start(rated_project, lead)
    jobs.run_export(run.pk)
    unfinished_run = start(rated_project, lead)
    old = timezone.now() - datetime.timedelta(days=7, hours=1)
    ExportRun.objects.filter(pk=run.pk).update(finished_at=old, created_at=old)
    with override_settings(KEEP_EXPORTS_DAYS=days):
        run.refresh_from_db()
        assert (run.expires_at is None) == (days == 0)
        with django_capture_on_commit_callbacks(execute=True):
            housekeeping.apply_retention_rules()
    assert ExportRun.objects.filter(pk=run.pk).exists() == is_left
    assert len(list_files()) == is_left
    assert ExportRun.objects.filter(pk=unfinished_run.pk).exists()


def test_old_files_without_an_export_are_deleted(
    rated_project: Project, lead: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(rated_project, lead)
    jobs.run_export(run.pk)
    abandoned = export_files.get_absolute_path(export_files.generate_path())
    abandoned.write_bytes(b"x")
    export_files.delete_abandoned_exports()
    assert abandoned.exists()  # a worker may have just created it
    monkeypatch.setattr(shared_folders, "ABANDONED_SECONDS", -1)
    export_files.delete_abandoned_exports()
    assert not abandoned.exists()
    assert read_file(run)


def test_number_of_exports_is_limited(
    rated_project: Project, lead: User, django_capture_on_commit_callbacks: Any
) -> None:
    runs = []
    for _number in range(services.MAX_FINISHED):
        runs.append(start(rated_project, lead))
        jobs.run_export(runs[-1].pk)
    with django_capture_on_commit_callbacks(execute=True):
        for _number in range(services.MAX_UNFINISHED):
            start(rated_project, lead)
    with pytest.raises(services.TooManyExports):
        start(rated_project, lead)
    first_left = runs[1]  # the oldest was deleted for the first new one
    assert ExportRun.objects.filter(state="done").order_by("pk").first() == first_left
    assert len(list_files()) == services.MAX_FINISHED - 1


def test_worker_of_another_host_leaves_an_export(rated_project: Project, lead: User) -> None:
    run = start(rated_project, lead)
    ExportRun.objects.update(folder="of another host")
    assert tasks.resume_stalled() == 0
    jobs.run_export(run.pk)
    run.refresh_from_db()
    assert run.state == "pending"
