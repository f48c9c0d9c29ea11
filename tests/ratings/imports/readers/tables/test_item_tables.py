"""Tables with items: content, attributes and gold answers.

With and without ratings, in every supported table format.
"""

from __future__ import annotations

import datetime
import gzip
import io
import json
from typing import Any

import openpyxl
import pyarrow
import pyarrow.parquet
import pytest

from projects.models import GoldAnswer, Item, ItemVersion, Member, Project, Rater
from ratings.models import Rating
from tests.ratings.imports.wizard_client import (
    WizardClient,
    get_labels,
    get_page_text,
    snapshot_import_tables,
)
from tests.tools.full_run import choose_number

TWEETS = [
    {"id": "t1", "text": "Great service!", "lang": "en"},
    {"id": "t2", "text": "Nie wieder.", "lang": "de"},
    {"id": "t3", "text": "Where is my parcel?", "lang": "en"},
]


@pytest.fixture
def wizard(project: Project, lead: Any, client_for: Any) -> WizardClient:
    return WizardClient(client_for(lead), project)


@pytest.fixture
def new_project_wizard(lead: Any, client_for: Any) -> WizardClient:
    return WizardClient(client_for(lead))


def build_csv(rows: list[dict[str, Any]], delimiter: str = ",") -> bytes:
    lines = [delimiter.join(rows[0]), *(delimiter.join(map(str, row.values())) for row in rows)]
    return "\n".join(lines).encode()


def build_xlsx(rows: list[dict[str, Any]]) -> bytes:
    workbook_file = openpyxl.Workbook()
    workbook_file.active.append(list(rows[0]))
    for row in rows:
        workbook_file.active.append(list(row.values()))
    file = io.BytesIO()
    workbook_file.save(file)
    return file.getvalue()


def build_jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def build_parquet(rows: list[dict[str, Any]]) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    return file.getvalue()


TABLE_BUILDERS = {
    "parquet": build_parquet,
    "csv": build_csv,
    "tsv": lambda rows: build_csv(rows, "\t"),
    "json": lambda rows: json.dumps(rows, indent=1).encode(),
    "jsonl": build_jsonl,
    "xlsx": build_xlsx,
    "csv.gz": lambda rows: gzip.compress(build_csv(rows)),
    "jsonl.gz": lambda rows: gzip.compress(build_jsonl(rows)),
    "xlsx.gz": lambda rows: gzip.compress(build_xlsx(rows)),
}


def get_bodies(project: Project) -> dict[str, Any]:
    return dict(Item.objects.filter(project=project).values_list("key", "body"))


@pytest.mark.parametrize("kind", TABLE_BUILDERS)
def test_file_with_items_only(wizard: WizardClient, project: Project, kind: str) -> None:
    # The format is detected from the content, not from the file name.
    wizard.upload(TABLE_BUILDERS[kind](TWEETS), "tweets.dat")
    form = wizard.get_page().context["form"]
    assert (form["layout"].value(), form["item"].value(), form["text"].value()) == ("items", 0, 1)
    wizard.choose_columns()
    run = wizard.run_worker()
    assert run.state == "checked", run.problems
    assert wizard.get_page().context["items"][0]["blocks"][0].value == "Great service!"
    wizard.start_import()
    run = wizard.run_worker()

    assert run.summary["outcome"]["items"] == 3
    assert get_bodies(project) == {row["id"]: {"text": row["text"]} for row in TWEETS}
    assert Item.objects.get(key="t2").attributes == {"lang": "de"}


@pytest.mark.parametrize("kind", TABLE_BUILDERS)
def test_same_file_twice_changes_nothing(wizard: WizardClient, kind: str) -> None:
    rows = [{**row, "rater": "ann", "label": "minor", "gold": "none"} for row in TWEETS]
    content = TABLE_BUILDERS[kind](rows)
    run = wizard.import_file(content)
    assert run.summary["outcome"]["gold"] == 3
    before = snapshot_import_tables(), list(GoldAnswer.objects.values_list())
    run = wizard.import_file(content)

    assert (snapshot_import_tables(), list(GoldAnswer.objects.values_list())) == before
    assert run.summary["outcome"]["items_unchanged"] == 3


def test_items_become_a_project_with_a_first_question(
    new_project_wizard: WizardClient, client_for: Any, annotator: Any
) -> None:
    new_project_wizard.upload(build_csv(TWEETS), "tweets.csv")
    new_project_wizard.choose_columns()
    assert new_project_wizard.run_worker().state == "checked"
    response = new_project_wizard.start_import(categories="good\nbad")
    assert response.status_code == 400 and "Enter a question and" in get_page_text(response)
    new_project_wizard.start_import(question_text="How does it sound?", categories="good\nbad")
    assert new_project_wizard.run_worker().state == "done"

    project = Project.objects.get()
    question = project.questions.get()
    assert (project.name, question.text) == ("tweets", "How does it sound?")
    assert [category.label for category in question.active_categories()] == ["good", "bad"]
    # The first text can be rated.
    Member.objects.create(project=project, user=annotator, role=Member.Role.ANNOTATOR)
    Rater.objects.create(project=project, key="ann", user=annotator)
    page = get_page_text(client_for(annotator).get(f"/projects/{project.pk}/rate/", follow=True))
    assert "Great service!" in page


def test_items_become_a_project_without_a_question(new_project_wizard: WizardClient) -> None:
    new_project_wizard.import_file(build_csv(TWEETS))
    project = Project.objects.get()
    assert not project.questions.exists() and project.items.count() == 3
    assert new_project_wizard.get_page().status_code == 200
    assert new_project_wizard.client.get(f"/projects/{project.pk}/").status_code == 200


def test_ratings_with_texts_import_both(
    wizard: WizardClient, project: Project, question: Any
) -> None:
    rows = [
        {"id": "a", "text": "First", "lang": "en", "rater": "ann", "label": "minor"},
        {"id": "a", "text": "First", "lang": "en", "rater": "ben", "label": "none"},
        {"id": "b", "text": "Second", "lang": "de", "rater": "ann", "label": ""},
    ]
    run = wizard.import_file(build_csv(rows))
    assert get_labels(question) == {("a", "ann"): "minor", ("a", "ben"): "none"}
    assert get_bodies(project) == {"a": {"text": "First"}, "b": {"text": "Second"}}
    assert Item.objects.get(key="b").attributes == {"lang": "de"}
    assert run.summary["skipped_records"]["no_label"] == {"count": 1, "lines": [4]}


def test_rating_columns_with_texts(wizard: WizardClient, project: Project, question: Any) -> None:
    rows = [
        {"id": "a", "text": "First", "ann": "minor", "ben": "none"},
        {"id": "b", "text": "Second", "ann": "", "ben": ""},
    ]
    wizard.import_file(build_csv(rows))
    assert get_labels(question) == {("a", "ann"): "minor", ("a", "ben"): "none"}
    assert get_bodies(project) == {"a": {"text": "First"}, "b": {"text": "Second"}}


def test_several_named_parts_html_and_media(wizard: WizardClient, project: Project) -> None:
    rows = [
        {
            "id": "a",
            "source": "Guten Tag",
            "translation": "Good day",
            "html": "<b>bold</b><script>x</script>",
            "image": "https://example.org/a.png",
        }
    ]
    wizard.import_file(TABLE_BUILDERS["json"](rows))
    assert get_bodies(project)["a"] == {key: rows[0][key] for key in rows[0] if key != "id"}
    wizard.upload(TABLE_BUILDERS["json"]([{**rows[0], "id": "b"}]))
    wizard.choose_columns()
    wizard.run_worker()
    page = wizard.get_page().content.decode()
    assert "<b>bold</b>" in page and "<script>x" not in page
    assert "<dt>source</dt>" in page and "Guten Tag" in page


def test_uploaded_image_is_referenced_by_name(wizard: WizardClient, project: Project) -> None:
    address = f"/projects/{project.pk}/media/{'0' * 64}.png"
    Item.objects.create(project=project, key="cat", body={"image": address}, has_content=True)
    rows = [
        {"id": "a", "image": "cat.png"},
        {"id": "b", "image": "dog.png"},
    ]
    run = wizard.upload_and_validate(build_csv(rows))
    assert run.summary["n_missing_media"] == 1
    wizard.start_import()
    wizard.run_worker()
    assert get_bodies(project)["a"] == {"image": address}


def test_text_without_a_key_gets_a_key_from_its_text(
    wizard: WizardClient, project: Project, question: Any
) -> None:
    rows = [
        {"text": "First", "label": "minor"},
        {"text": "Second", "label": "none"},
    ]
    content = build_csv(rows)
    wizard.upload(content, "admin.csv")
    wizard.choose_columns()
    wizard.run_worker()
    wizard.start_import()
    wizard.run_worker()
    keys = {body["text"]: key for key, body in get_bodies(project).items()}
    assert get_labels(question) == {
        (keys["First"], "admin"): "minor",
        (keys["Second"], "admin"): "none",
    }
    before = snapshot_import_tables()
    wizard.upload(content, "admin.csv")
    wizard.choose_columns()
    wizard.run_worker()
    wizard.start_import()
    wizard.run_worker()
    assert snapshot_import_tables() == before


def test_gold_answers_are_imported(wizard: WizardClient, project: Project, question: Any) -> None:
    rows = [{**TWEETS[0], "gold": "major"}, {**TWEETS[1], "gold": ""}]
    run = wizard.import_file(build_csv(rows))
    assert run.summary["outcome"]["gold"] == 1
    gold = GoldAnswer.objects.get()
    labels = dict(question.categories.values_list("code", "label"))
    assert (gold.item.key, [labels[code] for code in gold.answer]) == ("t1", ["major"])
    # There are no ratings.
    assert get_labels(question) == {}


def test_unknown_gold_label_is_an_error(wizard: WizardClient) -> None:
    run = wizard.upload_and_validate(build_csv([{**TWEETS[0], "gold": "mjor"}]))
    (problem,) = run.problems
    assert (problem["kind"], problem["line"], problem["column"]) == ("label_unknown", 2, "gold")


def test_repeated_key_with_different_content_is_an_error(wizard: WizardClient) -> None:
    run = wizard.upload_and_validate(build_csv([*TWEETS, {**TWEETS[0], "text": "Another"}]))
    (problem,) = run.problems
    assert (problem["kind"], problem["line"]) == ("conflicting_item", 5)
    page = get_page_text(wizard.get_page())
    assert "'Another' in 'text', but '" in page
    assert "Ignore 'text'" in page


def test_repeated_content_is_reported(wizard: WizardClient) -> None:
    run = wizard.upload_and_validate(build_csv([*TWEETS, {**TWEETS[0], "id": "t9"}]))
    assert (run.state, run.summary["n_duplicates"]) == ("checked", 1)
    assert run.summary["duplicate_examples"] == [["t1", "t9"]]
    assert "t1 = t9" in get_page_text(wizard.get_page())


def test_changed_content_is_reported_and_becomes_a_version(
    wizard: WizardClient, project: Project
) -> None:
    wizard.import_file(build_csv(TWEETS))
    run = wizard.upload_and_validate(build_csv([{**TWEETS[0], "text": "Really great service!"}]))
    assert run.summary["changed_items"] == 1
    wizard.start_import()
    wizard.run_worker()
    assert get_bodies(project)["t1"] == {"text": "Really great service!"}
    assert ItemVersion.objects.get().body == {"text": "Great service!"}


def test_items_are_not_created_unless_allowed(wizard: WizardClient, project: Project) -> None:
    before = snapshot_import_tables()
    run = wizard.upload_and_validate(build_csv(TWEETS), create_missing="")
    assert run.summary["problem_counts"] == {"item_unknown": 3}
    assert snapshot_import_tables() == before


def test_all_questions_of_a_file_are_imported(new_project_wizard: WizardClient) -> None:
    rows = [
        {"item": "a", "rater": "ann", "question": "tone", "label": "kind"},
        {"item": "a", "rater": "ann", "question": "length", "label": "3"},
        {"item": "a", "rater": "ben", "question": "tone", "label": "rude"},
        {"item": "a", "rater": "ben", "question": "length", "label": "4"},
        {"item": "b", "rater": "ben", "question": "length", "label": "5"},
    ]
    run = new_project_wizard.upload_and_validate(build_csv(rows))
    assert run.state == "checked", run.problems
    assert "Scale of length" in get_page_text(new_project_wizard.get_page())
    new_project_wizard.start_import(scale_1="interval")
    new_project_wizard.run_worker()
    tone_question, length_question = Project.objects.get().questions.all()
    assert (tone_question.key, length_question.key, length_question.scale) == (
        "tone",
        "length",
        "interval",
    )
    assert get_labels(length_question) == {("a", "ann"): "3", ("a", "ben"): "4", ("b", "ben"): "5"}
    assert new_project_wizard.get_page().status_code == 200


def test_nested_fields_become_columns_and_keep_their_types(
    wizard: WizardClient, project: Project
) -> None:
    rows = [{"id": 1, "text": "x", "meta": {"source": "a", "rank": 3, "ok": True}}]
    wizard.import_file(TABLE_BUILDERS["json"](rows))
    item = Item.objects.get(key="1")
    assert item.attributes == {"meta.source": "a", "meta.rank": 3, "meta.ok": True}


def test_numbers_of_a_workbook_are_labels(new_project_wizard: WizardClient) -> None:
    rows = [
        {"item": 1, "rater": "ann", "label": 1.0},
        {"item": 1, "rater": "ben", "label": 2},
        {"item": 2, "rater": "ben", "label": 2},
    ]
    new_project_wizard.import_file(build_xlsx(rows))
    question = Project.objects.get().questions.get()
    assert get_labels(question) == {("1", "ann"): "1", ("1", "ben"): "2", ("2", "ben"): "2"}


# --- invalid tables


def build_workbook(**cells: Any) -> bytes:
    workbook_file = openpyxl.Workbook()
    workbook_file.active.append(["item", "rater", "label"])
    workbook_file.active.append(["a", "ann", "minor"])
    for cell, value in cells.items():
        workbook_file.active[cell] = value
    file = io.BytesIO()
    workbook_file.save(file)
    return file.getvalue()


DEEPLY_NESTED_RECORD = b'{"id": "b", "text": ' + b'{"x":' * 200 + b"1" + b"}" * 200 + b"}"
INVALID_UPLOADS = {
    "cut off": (json.dumps(TWEETS).encode()[:30], "Line 1: The JSON ends"),
    "no JSON": (b"[{'id': 1}]", "Line 1: Invalid JSON: Expecting property name"),
    "nested bomb": (b'{"a":' * 100_000, "Line 1: The record exceeds 100 levels"),
    "list bomb": (b"[" * 100_000, "Expected an object"),
    "doubled field": (b'{"id": 1, "id": 2}', "the field 'id' stands twice in one object"),
    "NaN": (b'[{"id": NaN}]', "NaN is not a JSON number"),
    "endless number": (b'[{"id": 1e999}]', "is too large"),
    "record of 10 MB": (
        b'[{"id": "' + b"x" * (10 << 20) + b'"}]',
        "Line 1: A cell, line or record exceeds 4194304 characters",
    ),
    "NUL": (b'[{"id": "a\0"}]', "NUL character"),
    "a gzip bomb of JSON": (
        gzip.compress(b'[{"id": "' + b"x" * (30 << 20)),
        "Line 1: A cell, line or record exceeds 4194304 characters",
    ),
    "damaged workbook": (build_workbook()[:-300], "file is damaged"),
    "damaged Parquet": (
        build_parquet(TWEETS)[:50] + bytes(100) + build_parquet(TWEETS)[150:],
        "file is damaged",
    ),
    "cut Parquet": (build_parquet(TWEETS)[:-20], "file is damaged"),
    "spans of words": (
        b"JAPAN\tB-LOC\nGET\tO\n",
        "Line 1: This CoNLL file has no ratings of whole items",
    ),
}


@pytest.mark.parametrize("case", INVALID_UPLOADS)
def test_invalid_file_is_refused_at_upload(wizard: WizardClient, case: str) -> None:
    content, complaint = INVALID_UPLOADS[case]
    before = snapshot_import_tables()
    response = wizard.upload(content)
    assert response.status_code == 400
    assert complaint in get_page_text(response)
    assert snapshot_import_tables() == before


VALID_RECORD = b'{"id": "a", "text": "x"}\n'
INVALID_RECORDS = {
    "broken record": (
        VALID_RECORD * 30 + b'{"id": "b" "text": 1}\n',
        ("json", 31),
        "Expecting ','",
    ),
    "cut record": (VALID_RECORD * 30 + b'{"id": "b", "te', ("json_cut", 31), "ends"),
    "list not closed": (
        b"[" + (VALID_RECORD.strip() + b",\n") * 30 + VALID_RECORD,
        ("json_cut", 32),
        "ends",
    ),
    "no object": (VALID_RECORD * 30 + b"[1, 2]\n", ("json_object", 31), "[1, 2]"),
    "wrong encoding": (
        VALID_RECORD + '{"id": "b", "text": "Straße"}'.encode("latin-1"),
        ("bytes", 2),
        "0xDF",
    ),
    "escaped NUL": (
        VALID_RECORD * 30 + b'{"id": "b", "text": "a\\u0000"}',
        ("nul", 31),
        "NUL",
    ),
    "half a character": (
        VALID_RECORD * 30 + b'{"id": "b", "text": "\\ud800"}',
        ("surrogate", 31),
        "half a character",
    ),
    "too deep": (
        VALID_RECORD + DEEPLY_NESTED_RECORD,
        ("invalid_item", 2),
        "nested deeper than 50 levels",
    ),
    "long key": (
        VALID_RECORD + b'{"id": "%s", "text": "y"}' % (b"b" * 256),
        ("key_long", 2),
        "255",
    ),
    "formula without a value": (build_workbook(C2="=A1"), ("xlsx_formula", 2), "This formula"),
    "error in a cell": (build_workbook(C2="#REF!"), ("xlsx_error", 2), "#REF!"),
}


@pytest.mark.parametrize("case", INVALID_RECORDS)
def test_invalid_record_is_found_by_validation(wizard: WizardClient, case: str) -> None:
    content, kind_and_line, complaint = INVALID_RECORDS[case]
    before = snapshot_import_tables()
    wizard.upload(content)
    wizard.choose_columns(**({"encoding": "utf-8-sig"} if case == "wrong encoding" else {}))
    run = wizard.run_worker()
    if case == "wrong encoding" and run.state == "mapping":
        return  # the upload page reports it already
    assert run.state == "invalid"
    problem = run.problems[0]
    assert (problem["kind"], problem["line"]) == kind_and_line
    assert complaint in get_page_text(wizard.get_page())
    assert snapshot_import_tables() == before


def test_many_repeated_keys_are_one_item(wizard: WizardClient, monkeypatch: Any) -> None:
    run = wizard.upload_and_validate(VALID_RECORD * choose_number(20_000, full=100_000))
    assert run.state == "checked"
    assert (run.summary["items"], run.summary["contents"]) == (1, 1)


def test_workbook_that_decompresses_to_too_much_is_refused(
    wizard: WizardClient, settings: Any
) -> None:
    content = build_xlsx([{"id": number, "text": "x" * 1000} for number in range(300)])
    settings.IMPORT_MAX_BYTES = 100_000
    assert len(content) < 100_000
    response = wizard.upload(content)
    assert "exceeds 100000 bytes" in get_page_text(response)


def test_own_parquet_export_can_be_imported_again(
    new_project_wizard: WizardClient, project: Project, question: Any, rate: Any
) -> None:
    for item, rater, label in [("b", "ann", "minor"), ("a", "ben", "major"), ("a", "ann", "none")]:
        rate(question, item, rater, label)

    def export_project(source: Project, kind: str) -> bytes:
        Rating.objects.update(changed_at=datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
        return new_project_wizard.client.get(f"/projects/{source.pk}/data/export.{kind}").getvalue()

    new_project_wizard.import_file(export_project(project, "parquet"))
    copy = Project.objects.latest("id")
    assert [question_of_copy.key for question_of_copy in copy.questions.all()] == ["severity"]
    before = sorted(export_project(project, "jsonl").splitlines())
    assert sorted(export_project(copy, "jsonl").splitlines()) == before


def test_file_of_items_only_shows_no_row_count(new_project_wizard: WizardClient) -> None:
    new_project_wizard.upload_and_validate(build_csv(TWEETS))
    page = get_page_text(new_project_wizard.get_page())
    assert "none (items only)" in page
    assert "<dt>Rows</dt>" not in page
