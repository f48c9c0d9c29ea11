"""Tables with items: content, attributes and gold answers, with and without ratings, in every kind
of table."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import openpyxl
import pyarrow
import pyarrow.parquet
import pytest

from projects.models import GoldAnswer, Item, ItemVersion, Member, Project, Rater
from tests.ratings.imports.wizard_client import Wizard, said, words, world

TWEETS = [
    {"id": "t1", "text": "Great service!", "lang": "en"},
    {"id": "t2", "text": "Nie wieder.", "lang": "de"},
    {"id": "t3", "text": "Where is my parcel?", "lang": "en"},
]


@pytest.fixture
def wizard(project: Project, lead: Any, client_for: Any) -> Wizard:
    return Wizard(client_for(lead), project)


@pytest.fixture
def newcomer(lead: Any, client_for: Any) -> Wizard:
    return Wizard(client_for(lead))


def csv(rows: list[dict[str, Any]], delimiter: str = ",") -> bytes:
    lines = [delimiter.join(rows[0]), *(delimiter.join(map(str, row.values())) for row in rows)]
    return "\n".join(lines).encode()


def xlsx(rows: list[dict[str, Any]]) -> bytes:
    book = openpyxl.Workbook()
    book.active.append(list(rows[0]))
    for row in rows:
        book.active.append(list(row.values()))
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def parquet(rows: list[dict[str, Any]]) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    return file.getvalue()


TABLES = {
    "parquet": parquet,
    "csv": csv,
    "tsv": lambda rows: csv(rows, "\t"),
    "json": lambda rows: json.dumps(rows, indent=1).encode(),
    "jsonl": jsonl,
    "xlsx": xlsx,
    "csv.gz": lambda rows: gzip.compress(csv(rows)),
    "jsonl.gz": lambda rows: gzip.compress(jsonl(rows)),
    "xlsx.gz": lambda rows: gzip.compress(xlsx(rows)),
}


def bodies(project: Project) -> dict[str, Any]:
    return dict(Item.objects.filter(project=project).values_list("key", "body"))


@pytest.mark.parametrize("kind", TABLES)
def test_items_alone(wizard: Wizard, project: Project, kind: str) -> None:
    # the name says nothing: what it is stands in the file
    wizard.upload(TABLES[kind](TWEETS), "tweets.dat")
    form = wizard.page().context["form"]
    assert (form["layout"].value(), form["item"].value(), form["text"].value()) == ("items", 0, 1)
    wizard.choose()
    run = wizard.work()
    assert run.state == "checked", run.problems
    assert wizard.page().context["items"][0]["blocks"][0].value == "Great service!"
    wizard.start()
    run = wizard.work()

    assert run.summary["outcome"]["items"] == 3
    assert bodies(project) == {row["id"]: {"text": row["text"]} for row in TWEETS}
    assert Item.objects.get(key="t2").attributes == {"lang": "de"}


@pytest.mark.parametrize("kind", TABLES)
def test_same_file_twice_changes_nothing(wizard: Wizard, kind: str) -> None:
    rated = [{**row, "rater": "ann", "label": "minor", "gold": "none"} for row in TWEETS]
    content = TABLES[kind](rated)
    run = wizard.all(content)
    assert run.summary["outcome"]["gold"] == 3
    before = world(), list(GoldAnswer.objects.values_list())
    run = wizard.all(content)

    assert (world(), list(GoldAnswer.objects.values_list())) == before
    assert run.summary["outcome"]["items_unchanged"] == 3


def test_items_become_a_project_with_a_first_question(
    newcomer: Wizard, client_for: Any, annotator: Any
) -> None:
    newcomer.upload(csv(TWEETS), "tweets.csv")
    newcomer.choose()
    assert newcomer.work().state == "checked"
    refused = newcomer.start(categories="good\nbad")
    assert refused.status_code == 400 and "needs both" in words(refused)
    newcomer.start(question_text="How does it sound?", categories="good\nbad")
    assert newcomer.work().state == "done"

    project = Project.objects.get()
    question = project.questions.get()
    assert (project.name, question.text) == ("tweets", "How does it sound?")
    assert [category.label for category in question.active_categories()] == ["good", "bad"]
    # and the first text is there to be rated
    Member.objects.create(project=project, user=annotator, role=Member.Role.ANNOTATOR)
    Rater.objects.create(project=project, key="ann", user=annotator)
    page = words(client_for(annotator).get(f"/projects/{project.pk}/rate/", follow=True))
    assert "Great service!" in page


def test_items_become_a_project_without_a_question(newcomer: Wizard) -> None:
    newcomer.all(csv(TWEETS))
    project = Project.objects.get()
    assert not project.questions.exists() and project.items.count() == 3
    assert newcomer.page().status_code == 200
    assert newcomer.client.get(f"/projects/{project.pk}/").status_code == 200


def test_ratings_with_texts_bring_both(wizard: Wizard, project: Project, question: Any) -> None:
    rows = [
        {"id": "a", "text": "First", "lang": "en", "rater": "ann", "label": "minor"},
        {"id": "a", "text": "First", "lang": "en", "rater": "ben", "label": "none"},
        {"id": "b", "text": "Second", "lang": "de", "rater": "ann", "label": ""},
    ]
    run = wizard.all(csv(rows))
    assert said(question) == {("a", "ann"): "minor", ("a", "ben"): "none"}
    assert bodies(project) == {"a": {"text": "First"}, "b": {"text": "Second"}}
    assert Item.objects.get(key="b").attributes == {"lang": "de"}
    assert run.summary["left_out"]["no_label"] == {"count": 1, "lines": [4]}


def test_rating_columns_with_texts(wizard: Wizard, project: Project, question: Any) -> None:
    rows = [
        {"id": "a", "text": "First", "ann": "minor", "ben": "none"},
        {"id": "b", "text": "Second", "ann": "", "ben": ""},
    ]
    wizard.all(csv(rows))
    assert said(question) == {("a", "ann"): "minor", ("a", "ben"): "none"}
    assert bodies(project) == {"a": {"text": "First"}, "b": {"text": "Second"}}


def test_several_named_parts_html_and_media(wizard: Wizard, project: Project) -> None:
    rows = [
        {
            "id": "a",
            "source": "Guten Tag",
            "translation": "Good day",
            "html": "<b>bold</b><script>x</script>",
            "image": "https://example.org/a.png",
        }
    ]
    wizard.all(TABLES["json"](rows))
    assert bodies(project)["a"] == {key: rows[0][key] for key in rows[0] if key != "id"}
    wizard.upload(TABLES["json"]([{**rows[0], "id": "b"}]))
    wizard.choose()
    wizard.work()
    page = wizard.page().content.decode()
    assert "<b>bold</b>" in page and "<script>x" not in page
    assert "<dt>source</dt>" in page and "Guten Tag" in page


def test_uploaded_picture_is_named(wizard: Wizard, project: Project) -> None:
    address = f"/projects/{project.pk}/media/{'0' * 64}.png"
    Item.objects.create(project=project, key="cat", body={"image": address}, has_content=True)
    rows = [
        {"id": "a", "image": "cat.png"},
        {"id": "b", "image": "dog.png"},
    ]
    run = wizard.check(csv(rows))
    assert run.summary["without_media"] == 1
    wizard.start()
    wizard.work()
    assert bodies(project)["a"] == {"image": address}


def test_text_without_a_key_is_its_own_key(wizard: Wizard, project: Project, question: Any) -> None:
    rows = [
        {"text": "First", "label": "minor"},
        {"text": "Second", "label": "none"},
    ]
    content = csv(rows)
    wizard.upload(content, "admin.csv")
    wizard.choose()
    wizard.work()
    wizard.start()
    wizard.work()
    keys = {body["text"]: key for key, body in bodies(project).items()}
    assert said(question) == {(keys["First"], "admin"): "minor", (keys["Second"], "admin"): "none"}
    before = world()
    wizard.upload(content, "admin.csv")
    wizard.choose()
    wizard.work()
    wizard.start()
    wizard.work()
    assert world() == before


def test_gold_answers_come_in(wizard: Wizard, project: Project, question: Any) -> None:
    rows = [{**TWEETS[0], "gold": "major"}, {**TWEETS[1], "gold": ""}]
    run = wizard.all(csv(rows))
    assert run.summary["outcome"]["gold"] == 1
    gold = GoldAnswer.objects.get()
    labels = dict(question.categories.values_list("code", "label"))
    assert (gold.item.key, [labels[code] for code in gold.answer]) == ("t1", ["major"])
    # nobody rated
    assert said(question) == {}


def test_unknown_gold_label_is_a_problem(wizard: Wizard) -> None:
    run = wizard.check(csv([{**TWEETS[0], "gold": "mjor"}]))
    (problem,) = run.problems
    assert (problem["kind"], problem["line"], problem["column"]) == ("label_unknown", 2, "gold")


def test_doubled_key_with_another_content_is_a_problem(wizard: Wizard) -> None:
    run = wizard.check(csv([*TWEETS, {**TWEETS[0], "text": "Another"}]))
    (problem,) = run.problems
    assert (problem["kind"], problem["line"]) == ("item_differs", 5)
    assert "has another content in line 2" in words(wizard.page())


def test_doubled_content_is_told(wizard: Wizard) -> None:
    run = wizard.check(csv([*TWEETS, {**TWEETS[0], "id": "t9"}]))
    assert (run.state, run.summary["doubles"]) == ("checked", 1)
    assert run.summary["double_examples"] == [["t1", "t9"]]
    assert "t1 = t9" in words(wizard.page())


def test_other_content_is_told_and_becomes_a_version(wizard: Wizard, project: Project) -> None:
    wizard.all(csv(TWEETS))
    run = wizard.check(csv([{**TWEETS[0], "text": "Really great service!"}]))
    assert run.summary["changed_items"] == 1
    wizard.start()
    wizard.work()
    assert bodies(project)["t1"] == {"text": "Really great service!"}
    assert ItemVersion.objects.get().body == {"text": "Great service!"}


def test_items_are_not_made_when_they_may_not(wizard: Wizard, project: Project) -> None:
    before = world()
    run = wizard.check(csv(TWEETS), make_new="")
    assert run.summary["kinds"] == {"item_unknown": 3}
    assert world() == before


def test_every_question_of_a_file(newcomer: Wizard) -> None:
    rows = [
        {"item": "a", "rater": "ann", "question": "tone", "label": "kind"},
        {"item": "a", "rater": "ann", "question": "length", "label": "3"},
        {"item": "a", "rater": "ben", "question": "tone", "label": "rude"},
        {"item": "a", "rater": "ben", "question": "length", "label": "4"},
        {"item": "b", "rater": "ben", "question": "length", "label": "5"},
    ]
    run = newcomer.check(csv(rows))
    assert run.state == "checked", run.problems
    assert "Scale of length" in words(newcomer.page())
    newcomer.start(scale_1="interval")
    newcomer.work()
    tone, length = Project.objects.get().questions.all()
    assert (tone.key, length.key, length.scale) == ("tone", "length", "interval")
    assert said(length) == {("a", "ann"): "3", ("a", "ben"): "4", ("b", "ben"): "5"}
    assert newcomer.page().status_code == 200


def test_nested_fields_are_columns_and_typed_values_stay(wizard: Wizard, project: Project) -> None:
    rows = [{"id": 1, "text": "x", "meta": {"source": "a", "rank": 3, "ok": True}}]
    wizard.all(TABLES["json"](rows))
    item = Item.objects.get(key="1")
    assert item.attributes == {"meta.source": "a", "meta.rank": 3, "meta.ok": True}


def test_numbers_of_a_workbook_are_labels(newcomer: Wizard) -> None:
    rows = [
        {"item": 1, "rater": "ann", "label": 1.0},
        {"item": 1, "rater": "ben", "label": 2},
        {"item": 2, "rater": "ben", "label": 2},
    ]
    newcomer.all(xlsx(rows))
    question = Project.objects.get().questions.get()
    assert said(question) == {("1", "ann"): "1", ("1", "ben"): "2", ("2", "ben"): "2"}


# --- bad tables


def workbook(**cells: Any) -> bytes:
    book = openpyxl.Workbook()
    book.active.append(["item", "rater", "label"])
    book.active.append(["a", "ann", "minor"])
    for place, value in cells.items():
        book.active[place] = value
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


DEEP = b'{"id": "b", "text": ' + b'{"x":' * 200 + b"1" + b"}" * 200 + b"}"
REFUSED_AT_UPLOAD = {
    "cut off": (json.dumps(TWEETS).encode()[:30], "Line 1: The JSON ends in the middle"),
    "no JSON": (b"[{'id': 1}]", "Line 1: This is not valid JSON: Expecting property name"),
    "nested bomb": (b'{"a":' * 100_000, "Line 1: The record is nested too deeply"),
    "list bomb": (b"[" * 100_000, "stands where an object"),
    "doubled field": (b'{"id": 1, "id": 2}', "the field 'id' stands twice in one object"),
    "NaN": (b'[{"id": NaN}]', "NaN is no number"),
    "endless number": (b'[{"id": 1e999}]', "too large a number"),
    "record of 10 MB": (
        b'[{"id": "' + b"x" * (10 << 20) + b'"}]',
        "Line 1: The record has more than 4194304 characters",
    ),
    "NUL": (b'[{"id": "a\0"}]', "NUL character"),
    "a gzip bomb of JSON": (
        gzip.compress(b'[{"id": "' + b"x" * (30 << 20)),
        "Line 1: The record has more than 4194304 characters",
    ),
    "damaged workbook": (workbook()[:-300], "Excel workbook cannot be read"),
    "damaged Parquet": (
        parquet(TWEETS)[:50] + bytes(100) + parquet(TWEETS)[150:],
        "Parquet file cannot be read",
    ),
    "cut Parquet": (parquet(TWEETS)[:-20], "Parquet file cannot be read"),
    "spans of words": (b"JAPAN\tB-LOC\nGET\tO\n", "Line 1: This is a CoNLL file"),
}


@pytest.mark.parametrize("case", REFUSED_AT_UPLOAD)
def test_refused_at_upload(wizard: Wizard, case: str) -> None:
    content, complaint = REFUSED_AT_UPLOAD[case]
    before = world()
    response = wizard.upload(content)
    assert response.status_code == 400
    assert complaint in words(response)
    assert world() == before


GOOD = b'{"id": "a", "text": "x"}\n'
FOUND_BY_THE_CHECK = {
    "broken record": (GOOD * 30 + b'{"id": "b" "text": 1}\n', ("json", 31), "Expecting ','"),
    "cut record": (GOOD * 30 + b'{"id": "b", "te', ("json_cut", 31), "is cut off"),
    "list not closed": (
        b"[" + (GOOD.strip() + b",\n") * 30 + GOOD,
        ("json_cut", 32),
        "is cut off",
    ),
    "no object": (GOOD * 30 + b"[1, 2]\n", ("json_object", 31), "[1, 2]"),
    "wrong encoding": (
        GOOD + '{"id": "b", "text": "Straße"}'.encode("latin-1"),
        ("bytes", 2),
        "0xDF",
    ),
    "escaped NUL": (GOOD * 30 + b'{"id": "b", "text": "a\\u0000"}', ("nul_text", 31), "NUL"),
    "half a character": (
        GOOD * 30 + b'{"id": "b", "text": "\\ud800"}',
        ("surrogate", 31),
        "half of a character",
    ),
    "too deep": (GOOD + DEEP, ("item_wrong", 2), "nested deeper than 50 levels"),
    "long key": (GOOD + b'{"id": "%s", "text": "y"}' % (b"b" * 256), ("key_long", 2), "255"),
    "formula without a value": (workbook(C2="=A1"), ("xlsx_formula", 2), "holds a formula"),
    "error in a cell": (workbook(C2="#REF!"), ("xlsx_error", 2), "#REF!"),
}


@pytest.mark.parametrize("case", FOUND_BY_THE_CHECK)
def test_found_by_the_check(wizard: Wizard, case: str) -> None:
    content, place, complaint = FOUND_BY_THE_CHECK[case]
    before = world()
    wizard.upload(content)
    wizard.choose(**({"encoding": "utf-8-sig"} if case == "wrong encoding" else {}))
    run = wizard.work()
    if case == "wrong encoding" and run.state == "mapping":
        return  # named at once
    assert run.state == "refused"
    problem = run.problems[0]
    assert (problem["kind"], problem["line"]) == place
    assert complaint in words(wizard.page())
    assert world() == before


def test_a_million_doubled_keys_are_one_item(wizard: Wizard, monkeypatch: Any) -> None:
    run = wizard.check(GOOD * 100_000)
    assert run.state == "checked"
    assert (run.summary["items"], run.summary["contents"]) == (1, 1)


def test_workbook_that_unpacks_to_too_much(wizard: Wizard, settings: Any) -> None:
    content = xlsx([{"id": number, "text": "x" * 1000} for number in range(300)])
    settings.IMPORT_MAX_BYTES = 100_000
    assert len(content) < 100_000
    response = wizard.upload(content)
    assert "unpacks to more than 100000 bytes" in words(response)


def test_concords_own_parquet_comes_back(
    newcomer: Wizard, project: Project, question: Any, rate: Any
) -> None:
    for item, rater, label in [("b", "ann", "minor"), ("a", "ben", "major"), ("a", "ann", "none")]:
        rate(question, item, rater, label)

    def export(of: Project, kind: str) -> bytes:
        return newcomer.client.get(f"/projects/{of.pk}/data/export.{kind}").getvalue()

    newcomer.all(export(project, "parquet"))
    copy = Project.objects.latest("id")
    assert [one.key for one in copy.questions.all()] == ["severity"]
    before = sorted(export(project, "jsonl").splitlines())
    assert sorted(export(copy, "jsonl").splitlines()) == before


def test_a_file_of_items_alone_is_not_said_to_have_no_rows(newcomer: Wizard) -> None:
    newcomer.check(csv(TWEETS))
    page = words(newcomer.page())
    assert "none: a file of items" in page
    assert "<dt>Rows</dt>" not in page
