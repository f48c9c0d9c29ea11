"""Exports of final labels that a worker writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from projects.models import Item, Question
from quality.consensus import recomputation
from quality.labels import files, selectors, views
from quality.models import Consensus
from quality.review import decisions
from ratings.exports import documents, jobs, services
from ratings.files import export_files, parquet_file
from ratings.models import ExportRun
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_cast(rated_cast: Cast) -> Cast:
    return rated_cast


@pytest.fixture
def labelled_question(
    rated_question: Question,
    lead: User,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    settings: Any,
) -> Question:
    """Question of sixty items, one of which is decided; files have pieces of seven rows."""
    recomputation.recompute_question(rated_question.pk)
    decisions.create_decision(
        question=rated_question, item=Item.objects.get(key="i00"), code=3, by=lead, reason="see 3.1"
    )
    monkeypatch.setattr(documents, "ROWS_PER_PIECE", 7)
    settings.DATA_DIR = tmp_path
    return rated_question


def start(question: Question, kind: str, by: User, **parameters: str) -> ExportRun:
    parameters["question"] = question.key
    return services.start_export(
        project=question.project, kind="labels", file_format=kind, parameters=parameters, by=by
    )


def read_file(run: ExportRun) -> bytes:
    run.refresh_from_db()
    assert run.state == "done"
    return export_files.get_absolute_path(run.path).read_bytes()


def read_stream(question: Question, kind: str, **filters: Any) -> bytes:
    names = selectors.LabelNames.for_question(question, Consensus.objects.get(question=question))
    labels = selectors.get_labels(question, **filters)
    return b"".join(files.build_labels_document(question.project, names, kind, labels).iter_file())


@pytest.mark.parametrize("kind", files.FORMATS)
@pytest.mark.parametrize("n_pieces", [None, 0, 4])
def test_file_equals_the_direct_download(
    kind: str,
    n_pieces: int | None,
    labelled_question: Question,
    lead: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``n_pieces``: the number after which the worker is killed."""
    if kind == "parquet" and not parquet_file.has_parquet():
        pytest.skip("requirements-extra.txt is not installed")
    run = start(labelled_question, kind, lead)
    if n_pieces is not None:
        store = jobs._flush_to_disk
        n_left = iter(range(n_pieces))

        def store_or_die(file: Any) -> None:
            if next(n_left, None) is None:
                raise SystemExit
            store(file)

        with monkeypatch.context() as patch, pytest.raises(SystemExit):
            patch.setattr(jobs, "_flush_to_disk", store_or_die)
            jobs.run_export(run.pk)
        ExportRun.objects.update(leased_until=timezone.now())
    jobs.run_export(run.pk)
    assert read_file(run) == read_stream(labelled_question, kind)
    assert run.rows_total == 60


def test_filters_are_those_of_the_list(labelled_question: Question, lead: User) -> None:
    run = start(labelled_question, "jsonl", lead, source="decision", label="critical")
    jobs.run_export(run.pk)
    assert read_file(run) == read_stream(labelled_question, "jsonl", source="decision")
    assert run.rows_done == 1

    since = timezone.now().isoformat()
    cases: list[tuple[dict[str, str], dict[str, Any]]] = [
        ({"min_confidence": "0.9"}, {"at_least": 0.9}),
        ({"since": since}, {"since": timezone.now()}),
    ]
    for parameters, filters in cases:
        run = start(labelled_question, "csv", lead, **parameters)
        jobs.run_export(run.pk)
        assert read_file(run) == read_stream(labelled_question, "csv", **filters)
        assert run.rows_done < 60


def test_later_items_are_left_out(labelled_question: Question, lead: User, rate: Any) -> None:
    run = start(labelled_question, "csv", lead)
    expected = read_stream(labelled_question, "csv")
    for rater in ("ann", "ben"):
        rate(labelled_question, "a later item", rater, "major")
    recomputation.recompute_question(labelled_question.pk, at_once=True)
    jobs.run_export(run.pk)
    assert b"a later item" in read_stream(labelled_question, "csv")
    content = read_file(run)
    assert b"a later item" not in content
    assert len(content.splitlines()) == len(expected.splitlines())


def test_many_labels_are_offered_as_a_file(
    client_for: Any, labelled_question: Question, lead: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_for(lead)
    address = f"/projects/{labelled_question.project_id}/labels/"
    assert 'name="at_least"' in client.get(address).content.decode()
    monkeypatch.setattr(views, "MAX_DIRECT_ROWS", 59)
    page = client.get(address).content.decode()
    assert 'name="min_confidence"' in page and 'name="at_least"' not in page
    fields = {"kind": "labels", "format": "label_studio", "question": labelled_question.key}
    action = f"/projects/{labelled_question.project_id}/data/exports/"
    assert f'action="{action}"' in page
    client.post(action, {**fields, "min_confidence": ""})
    jobs.run_export(ExportRun.objects.get().pk)
    assert read_file(ExportRun.objects.get()) == read_stream(labelled_question, "label_studio")
