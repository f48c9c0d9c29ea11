"""The management command ``import_file``."""

from __future__ import annotations

import gc
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from projects.models import GoldAnswer, Item, Project, Rater
from ratings.models import ImportRun, Rating
from tests.ratings.imports.wizard_client import (
    get_labels,
    list_stored_files,
    snapshot_import_tables,
)

pytestmark = pytest.mark.django_db

LONG_FILE = "doc,who,verdict,at,body,right\n" + "".join(
    f"d{n},r{r},{'abc'[(n + r) % 3]},2026-03-0{n + 1}T10:00:00Z,Text {n},a\n"
    for n in range(3)
    for r in range(2)
)


def run_import_command(*files: Path, **options: Any) -> tuple[int, dict[str, Any]]:
    """Run the command; return its exit status and its JSON report."""
    output = io.StringIO()
    try:
        call_command("import_file", *map(str, files), stdout=output, **options)
    except SystemExit as exit_error:
        return int(str(exit_error.code)), json.loads(output.getvalue())
    return 0, json.loads(output.getvalue())


def import_with_scale(*files: Path, **options: Any) -> tuple[int, dict[str, Any]]:
    """Run the command; if only the scale of bare numbers is open, run it again with ordinal."""
    status, report = run_import_command(*files, **options)
    if not options.get("scale") and {problem["kind"] for problem in report["problems"]} == {
        "scale"
    }:
        return run_import_command(*files, **options, scale="ordinal")
    return status, report


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "long.csv"
    path.write_text(LONG_FILE)
    return path


COLUMN_ROLES = ["item=doc", "rater=who", "label=verdict", "rated_at=at", "text=body", "gold=right"]


def test_new_project_from_a_table(file: Path, lead: Any) -> None:
    stored_files = list_stored_files()
    status, report = run_import_command(
        file, name="Made", owner=lead.username, map=COLUMN_ROLES, scale="ordinal", order="c,b,a,d"
    )
    project = Project.objects.get(name="Made")
    assert status == 0
    understood = report.pop("understood")[str(file)]
    assert [column["role"] for column in understood["columns"]] == [
        "item",
        "rater",
        "label",
        "rated_at",
        "text",
        "gold",
    ]
    assert {column["why"] for column in understood["columns"]} == {"as you chose"}
    assert report == {
        "project": project.pk,
        "items": 3,
        "raters": 2,
        "ratings": 6,
        "gold": 3,
        "left_out": {},
        "problems": [],
        "notes": [],
        "skips": 0,
        "sources": {str(file): "csv"},
        "labels": {
            str(file): {
                "verdict": {
                    "labels": {"a": 2, "b": 2, "c": 2},
                    "notes": [],
                    "scale": "ordinal",
                    "order": ["c", "b", "a", "d"],
                    "order_basis": "option",
                }
            }
        },
    }
    question = project.questions.get()
    assert (question.key, question.scale) == ("verdict", "ordinal")
    assert [category.label for category in question.active_categories()] == ["c", "b", "a", "d"]
    assert get_labels(question)["d1", "r1"] == "c"
    assert Item.objects.get(key="d2").body == {"text": "Text 2"}
    assert {rated_at.day for rated_at in Rating.objects.values_list("rated_at", flat=True)} == {
        1,
        2,
        3,
    }
    assert GoldAnswer.objects.count() == 3
    assert project.members.get().user == lead
    assert list_stored_files() == stored_files


def test_garbage_is_collected_as_before_after_an_import(file: Path, lead: Any) -> None:
    thresholds = gc.get_threshold()
    assert run_import_command(file, name="Made", owner=lead.username, map=COLUMN_ROLES)[0] == 0
    assert gc.get_threshold() == thresholds


def test_same_file_twice_changes_nothing(file: Path, lead: Any) -> None:
    _status, report = run_import_command(file, name="Made", owner=lead.username, map=COLUMN_ROLES)
    before = snapshot_import_tables()
    status, second_report = run_import_command(file, project=report["project"], map=COLUMN_ROLES)
    assert (status, second_report["ratings"]) == (0, 6)
    assert snapshot_import_tables() == before


def test_dry_run_stores_nothing(file: Path, lead: Any) -> None:
    before, stored_files = snapshot_import_tables(), list_stored_files()
    status, report = run_import_command(
        file, name="Made", owner=lead.username, map=COLUMN_ROLES, dry_run=True
    )
    assert (status, report["project"], report["items"], report["ratings"]) == (0, None, 3, 6)
    assert snapshot_import_tables() == before
    assert list_stored_files() == stored_files
    assert not ImportRun.objects.exists()


def test_several_files_into_one_project(tmp_path: Path, lead: Any) -> None:
    items = tmp_path / "items.csv.gz"
    items.write_bytes(gzip.compress(b"id,text\na,First\nb,Second\n"))
    ratings = tmp_path / "ratings.jsonl"
    rows = [("a", "ann", "x"), ("b", "ann", "y"), ("a", "ben", "y")]
    ratings.write_text(
        "".join(json.dumps({"item": i, "rater": r, "label": la}) + "\n" for i, r, la in rows)
    )
    status, report = run_import_command(items, ratings, name="Made", owner=lead.username)
    assert (status, report["problems"]) == (0, [])
    project = Project.objects.get()
    assert get_labels(project.questions.get()) == {
        (item, rater): label for item, rater, label in rows
    }
    assert Item.objects.get(key="a").body == {"text": "First"}


def test_error_names_file_line_and_allowed_labels(
    tmp_path: Path, project: Project, question: Any
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("item,rater,label\na,ann,minor\nb,ann,mjor\n")
    before = snapshot_import_tables()
    status, report = run_import_command(path, project=project.pk)
    assert status == 1
    (problem,) = report["problems"]
    assert [report[name] for name in ("items", "raters", "ratings", "gold")] == [0, 0, 0, 0]
    assert (problem["file"], problem["line"], problem["column"]) == (str(path), 3, "label")
    assert "Allowed: none, minor, major, critical" in problem["message"]
    assert snapshot_import_tables() == before
    assert not ImportRun.objects.exists()


def test_label_missing_from_the_order_is_refused(file: Path, lead: Any) -> None:
    status, report = run_import_command(
        file, name="Made", owner=lead.username, map=COLUMN_ROLES, order="a,b"
    )
    assert status == 1
    assert report["problems"][0]["message"] == (
        "question 'verdict': --order does not name the labels c"
    )
    assert not Project.objects.exists()


def test_single_label_gets_a_second_category(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "one.csv"
    path.write_text("item,rater,label\na,ann,yes\nb,ann,yes\n")
    status, report = run_import_command(path, name="Made", owner=lead.username)
    assert (status, report["ratings"]) == (0, 2)
    assert "'other' was added" in report["notes"][0]
    question = Project.objects.get().questions.get()
    assert [category.label for category in question.active_categories()] == ["yes", "other"]


def test_all_questions_of_a_file_are_imported(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "two.csv"
    path.write_text(
        "item,rater,question,label\na,ann,tone,kind\na,ben,tone,rude\na,ann,size,3\na,ben,size,4\n"
    )
    _status, report = run_import_command(path, name="Made", owner=lead.username)
    project = Project.objects.get(pk=report["project"])
    assert [question.key for question in project.questions.all()] == ["tone", "size"]
    status, report = run_import_command(path, project=project.pk, question="tone")
    assert (status, report["left_out"]) == (0, {"other_question": 2})


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"name": "X"}, "--owner USER"),
        ({"name": "X", "owner": "nobody"}, "no active user 'nobody'"),
        ({"project": 99}, "no project 99"),
        ({"project": None, "name": None}, "one of the arguments"),
        ({"project": 1, "map": ["colour=doc"]}, "with one of the roles item"),
    ],
)
def test_invalid_options_are_refused(
    file: Path, project: Project, options: dict[str, Any], complaint: str
) -> None:
    arguments = []
    for name, option in options.items():
        if option is not None:
            value = project.pk if option == 1 else option
            arguments += [f"--{name}", *(value if isinstance(value, list) else [str(value)])]
    with pytest.raises(CommandError, match=complaint):
        call_command("import_file", str(file), *arguments)


def test_unknown_column_is_reported(file: Path, project: Project) -> None:
    status, report = run_import_command(file, project=project.pk, map=["item=document"])
    assert status == 1
    assert "no column 'document'; one of doc, who" in report["problems"][0]["message"]


def test_missing_file_is_reported(tmp_path: Path, project: Project) -> None:
    with pytest.raises(CommandError, match="there is no such file"):
        call_command("import_file", str(tmp_path / "x.csv"), "--project", str(project.pk))


MODEL_FILE = "item,{},label\n" + "".join(f"d{n},gpt-judge,{'ab'[n % 2]}\n" for n in range(4))


@pytest.mark.parametrize("name", ["model", "model_name", "LLM", "system", "judge_model"])
def test_raters_of_a_column_that_names_models_are_models(
    tmp_path: Path, lead: Any, name: str
) -> None:
    path = tmp_path / "judge.csv"
    path.write_text(MODEL_FILE.format(name))
    roles = {"name": "N", "owner": lead.username, "map": [f"rater={name}"]}
    assert run_import_command(path, **roles)[0] == 0
    columns = ("key", "kind", "model")
    assert list(Rater.objects.values_list(*columns)) == [("gpt-judge", "model", "gpt-judge")]


def test_only_rater_of_content_by_models_is_a_person(tmp_path: Path, lead: Any) -> None:
    """A model beside its response wrote what is rated; elsewhere, the option names the rater."""
    path = tmp_path / "answers.csv"
    path.write_text(MODEL_FILE.format("model"))
    options = {"name": "N", "owner": lead.username, "rater": "ann"}
    assert run_import_command(path, **options)[0] == 0
    path.write_text("id,response,model,label\n1,One,gpt,a\n2,Two,gpt,b\n3,Three,gpt,a\n")
    assert run_import_command(path, **(options | {"name": "M"}))[0] == 0
    assert set(Rater.objects.values_list("key", "kind")) == {("ann", "human")}
