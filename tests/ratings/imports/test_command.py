"""`manage.py import_file`."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from projects.models import GoldAnswer, Item, Project
from ratings.models import ImportRun, Rating
from tests.ratings.imports.wizard_client import said, stored, world

pytestmark = pytest.mark.django_db

LONG = "doc,who,verdict,at,body,right\n" + "".join(
    f"d{n},r{r},{'abc'[(n + r) % 3]},2026-03-0{n + 1}T10:00:00Z,Text {n},a\n"
    for n in range(3)
    for r in range(2)
)


def run(*files: Path, **options: Any) -> tuple[int, dict[str, Any]]:
    out = io.StringIO()
    try:
        call_command("import_file", *map(str, files), stdout=out, **options)
    except SystemExit as end:
        return int(str(end.code)), json.loads(out.getvalue())
    return 0, json.loads(out.getvalue())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "long.csv"
    path.write_text(LONG)
    return path


MAP = ["item=doc", "rater=who", "label=verdict", "rated_at=at", "text=body", "gold=right"]


def test_new_project_from_a_table(file: Path, lead: Any) -> None:
    files = stored()
    status, told = run(
        file, name="Made", owner=lead.username, map=MAP, scale="ordinal", order="c,b,a,d"
    )
    project = Project.objects.get(name="Made")
    assert status == 0
    assert told == {
        "project": project.pk,
        "items": 3,
        "raters": 2,
        "ratings": 6,
        "gold": 3,
        "left_out": {},
        "problems": [],
        "notes": [],
        "skipped": 0,
        "sources": {str(file): "csv"},
    }
    question = project.questions.get()
    assert (question.key, question.scale) == ("verdict", "ordinal")
    assert [one.label for one in question.active_categories()] == ["c", "b", "a", "d"]
    assert said(question)["d1", "r1"] == "c"
    assert Item.objects.get(key="d2").body == {"text": "Text 2"}
    assert {moment.day for moment in Rating.objects.values_list("rated_at", flat=True)} == {1, 2, 3}
    assert GoldAnswer.objects.count() == 3
    assert project.members.get().user == lead
    assert stored() == files


def test_same_file_twice_changes_nothing(file: Path, lead: Any) -> None:
    _status, told = run(file, name="Made", owner=lead.username, map=MAP)
    before = world()
    status, again = run(file, project=told["project"], map=MAP)
    assert (status, again["ratings"]) == (0, 6)
    assert world() == before


def test_dry_run_stores_nothing(file: Path, lead: Any) -> None:
    before, files = world(), stored()
    status, told = run(file, name="Made", owner=lead.username, map=MAP, dry_run=True)
    assert (status, told["project"], told["items"], told["ratings"]) == (0, None, 3, 6)
    assert world() == before
    assert stored() == files
    assert not ImportRun.objects.exists()


def test_several_files_into_one_project(tmp_path: Path, lead: Any) -> None:
    items = tmp_path / "items.csv.gz"
    items.write_bytes(gzip.compress(b"id,text\na,First\nb,Second\n"))
    ratings = tmp_path / "ratings.jsonl"
    rows = [("a", "ann", "x"), ("b", "ann", "y"), ("a", "ben", "y")]
    ratings.write_text(
        "".join(json.dumps({"item": i, "rater": r, "label": la}) + "\n" for i, r, la in rows)
    )
    status, told = run(items, ratings, name="Made", owner=lead.username)
    assert (status, told["problems"]) == (0, [])
    project = Project.objects.get()
    assert said(project.questions.get()) == {(item, rater): label for item, rater, label in rows}
    assert Item.objects.get(key="a").body == {"text": "First"}


def test_problem_names_file_line_and_what_is_allowed(
    tmp_path: Path, project: Project, question: Any
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("item,rater,label\na,ann,minor\nb,ann,mjor\n")
    before = world()
    status, told = run(path, project=project.pk)
    assert status == 1
    (problem,) = told["problems"]
    assert [told[name] for name in ("items", "raters", "ratings", "gold")] == [0, 0, 0, 0]
    assert (problem["file"], problem["line"], problem["column"]) == (str(path), 3, "label")
    assert "one of none, minor, major, critical" in problem["message"]
    assert world() == before
    assert not ImportRun.objects.exists()


def test_label_that_order_does_not_name_is_refused(file: Path, lead: Any) -> None:
    status, told = run(file, name="Made", owner=lead.username, map=MAP, order="a,b")
    assert status == 1
    assert told["problems"][0]["message"] == "--order does not name the labels c"
    assert not Project.objects.exists()


def test_one_label_alone_loses_no_rating(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "one.csv"
    path.write_text("item,rater,label\na,ann,yes\nb,ann,yes\n")
    status, told = run(path, name="Made", owner=lead.username)
    assert (status, told["ratings"]) == (0, 2)
    assert "'other' was added" in told["notes"][0]
    question = Project.objects.get().questions.get()
    assert [one.label for one in question.active_categories()] == ["yes", "other"]


def test_every_question_of_a_file(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "two.csv"
    path.write_text(
        "item,rater,question,label\na,ann,tone,kind\na,ben,tone,rude\na,ann,size,3\na,ben,size,4\n"
    )
    _status, told = run(path, name="Made", owner=lead.username)
    project = Project.objects.get(pk=told["project"])
    assert [question.key for question in project.questions.all()] == ["tone", "size"]
    status, told = run(path, project=project.pk, question="tone")
    assert (status, told["left_out"]) == (0, {"other_question": 2})


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"name": "X"}, "--owner USER"),
        ({"name": "X", "owner": "nobody"}, "no active user 'nobody'"),
        ({"project": 99}, "no project 99"),
        ({"project": None, "name": None}, "one of the arguments"),
        ({"project": 1, "map": ["colour=doc"]}, "with a role of item"),
    ],
)
def test_wrong_options(
    file: Path, project: Project, options: dict[str, Any], complaint: str
) -> None:
    given = []
    for name, wished in options.items():
        if wished is not None:
            value = project.pk if wished == 1 else wished
            given += [f"--{name}", *(value if isinstance(value, list) else [str(value)])]
    with pytest.raises(CommandError, match=complaint):
        call_command("import_file", str(file), *given)


def test_unknown_column_is_named(file: Path, project: Project) -> None:
    status, told = run(file, project=project.pk, map=["item=document"])
    assert status == 1
    assert "no column 'document'; one of doc, who" in told["problems"][0]["message"]


def test_missing_file_is_named(tmp_path: Path, project: Project) -> None:
    with pytest.raises(CommandError, match="there is no such file"):
        call_command("import_file", str(tmp_path / "x.csv"), "--project", str(project.pk))
