"""The export of ratings through HTTP, and its import through the wizard."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.text import classify_key_problem
from core.web.tables import escape_formula, unescape_formula
from projects.models import Category, Item, Project, Question, Rater
from ratings.exports import documents
from ratings.files import parquet_file
from ratings.models import NO_CODE, Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.ratings.imports.wizard_client import WizardClient, get_labels
from tests.tools.full_run import choose_number

COLUMN_NAMES = ["item", "rater", "question", "label", "rated_at", "changed_at", "comment"]
COLUMN_NAMES += ["guidelines", "item_version", "model", "prompt_version", "group", "seconds"]


def read_body(response: Any) -> str:
    assert response.status_code == 200
    return b"".join(response.streaming_content).decode()


def read_rows(response: Any) -> list[list[str]]:
    return list(csv.reader(io.StringIO(read_body(response), newline="")))


def test_csv_has_current_ratings(
    client_for: Any, lead: Any, project: Project, question: Any, rate: Any, utc: Any
) -> None:
    moment = utc(2026, 3, 1, 9, 30)
    rate(question, "i1", "ann", "major", rated_at=moment)
    rate(question, "i1", "ann", "minor", comment='so, "so"')
    rate(question, "i2", "ben", "none", rated_at=moment)
    rate(question, "i2", "ben", None)  # withdrawn
    response = client_for(lead).get(f"/projects/{project.pk}/data/export.csv")

    names, row = read_rows(response)
    assert names == COLUMN_NAMES
    changed_at = Rating.objects.get(comment='so, "so"').changed_at.isoformat()
    assert row == [
        *("i1", "ann", "severity", "minor", "2026-03-01T09:30:00Z"),
        *(changed_at.replace("+00:00", "Z"), 'so, "so"', "", "1", "", "", "", ""),
    ]
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"] == f'attachment; filename="reviews-{project.pk}.csv"'
    assert response["X-Content-Type-Options"] == "nosniff"


def test_json_lines_have_unescaped_texts(
    client_for: Any, lead: Any, project: Project, question: Any, rate: Any, utc: Any
) -> None:
    moment = utc(2026, 3, 1, 9, 30, 0, 5)
    rate(question, "=i1", "an\u00e4", "major", rated_at=moment, comment="=1+1", seconds=2.5)
    Rating.objects.update(changed_at=moment)
    Rater.objects.update(group="vendor")
    lines = read_body(
        client_for(lead).get(f"/projects/{project.pk}/data/export.jsonl")
    ).splitlines()

    assert [json.loads(line) for line in lines] == [
        {
            "item": "=i1",
            "rater": "an\u00e4",
            "question": "severity",
            "label": "major",
            "rated_at": "2026-03-01T09:30:00.000005Z",
            "changed_at": "2026-03-01T09:30:00.000005Z",
            "comment": "=1+1",
            "guidelines": None,
            "item_version": 1,
            "model": "",
            "prompt_version": "",
            "group": "vendor",
            "seconds": 2.5,
        }
    ]


@pytest.mark.parametrize("microsecond", [0, 5, 500_000, 999_999])
def test_times_are_in_iso_8601_format(
    client_for: Any,
    lead: Any,
    project: Project,
    question: Any,
    rate: Any,
    utc: Any,
    microsecond: int,
) -> None:
    moments = [utc(1970, 1, 2, 0, 0, 0, microsecond), utc(2026, 3, 1, 9, 30, 59, microsecond)]
    for number, moment in enumerate(moments):
        rate(question, f"i{number}", "ann", "major", rated_at=moment)
    expected = [moment.isoformat().replace("+00:00", "Z") for moment in moments]
    client, address = client_for(lead), f"/projects/{project.pk}/data/export"
    assert [row[4] for row in read_rows(client.get(f"{address}.csv"))[1:]] == expected
    lines = read_body(client.get(f"{address}.jsonl")).splitlines()
    assert [json.loads(line)["rated_at"] for line in lines] == expected


def test_parquet_has_unescaped_values(
    client_for: Any,
    lead: Any,
    project: Project,
    question: Any,
    rate: Any,
    utc: Any,
    monkeypatch: Any,
) -> None:
    parquet = pytest.importorskip(
        "pyarrow.parquet", reason="requirements-extra.txt is not installed"
    )
    monkeypatch.setattr(parquet_file, "ROWS_PER_GROUP", 2)
    moment = utc(2026, 3, 1, 9, 30, 0, 5)
    rate(question, "=i1", "an\u00e4", "major", rated_at=moment, comment="=1+1")
    for item in ("i2", "i3"):
        rate(question, item, "ben", "none", rated_at=moment)
    rate(question, "i4", "ben", "none")
    rate(question, "i4", "ben", None)  # withdrawn
    response = client_for(lead).get(f"/projects/{project.pk}/data/export.parquet")
    chunks = list(response.streaming_content)
    table = parquet.read_table(io.BytesIO(b"".join(chunks)))

    assert len(chunks) == 3 and all(chunks)  # row groups of 2 and 1 rows, and the footer
    assert table.column_names == COLUMN_NAMES
    names = ["item", "rater", "question", "label", "rated_at", "comment", "item_version"]
    assert [[row[name] for name in names] for row in table.to_pylist()] == [
        ["=i1", "an\u00e4", "severity", "major", moment, "=1+1", 1],
        ["i2", "ben", "severity", "none", moment, "", 1],
        ["i3", "ben", "severity", "none", moment, "", 1],
    ]
    assert table.schema.field("changed_at").type == table.schema.field("rated_at").type
    assert response["Content-Type"] == "application/vnd.apache.parquet"
    assert response["Content-Disposition"] == f'attachment; filename="reviews-{project.pk}.parquet"'


def test_parquet_without_ratings_is_a_valid_file(
    client_for: Any, lead: Any, project: Project
) -> None:
    parquet = pytest.importorskip(
        "pyarrow.parquet", reason="requirements-extra.txt is not installed"
    )
    response = client_for(lead).get(f"/projects/{project.pk}/data/export.parquet")
    assert parquet.read_table(io.BytesIO(b"".join(response.streaming_content))).num_rows == 0


def test_without_pyarrow_the_response_says_what_to_install(
    client_for: Any, lead: Any, project: Project, monkeypatch: Any
) -> None:
    page = f"/projects/{project.pk}/data/"
    client = client_for(lead)
    monkeypatch.setattr(parquet_file, "has_parquet", lambda: True)
    assert "export.parquet" in client.get(page).content.decode()
    monkeypatch.setattr(parquet_file, "has_parquet", lambda: False)
    assert "export.parquet" not in client.get(page).content.decode()
    response = client.get(page + "export.parquet")
    assert response.status_code == 501
    assert "install pyarrow for Parquet" in response.content.decode()
    assert client.get(page + "export.csv").status_code == 200


def test_one_question_can_be_exported(
    client_for: Any, lead: Any, project: Project, question: Any, rate: Any
) -> None:
    client = client_for(lead)
    assert "All questions" not in client.get(f"/projects/{project.pk}/data/").text  # only one
    other_question = Question.objects.create(project=project, key="tone", text="Tone?")
    Category.objects.create(question=other_question, code=0, label="kind", position=0)
    rate(question, "i1", "ann", "major")
    rate(other_question, "i1", "ann", "kind")
    address = f"/projects/{project.pk}/data/export.csv"
    assert "All questions" in client.get(f"/projects/{project.pk}/data/").text
    assert [row[2] for row in read_rows(client.get(address))[1:]] == ["severity", "tone"]
    assert [row[2] for row in read_rows(client.get(address, {"question": "tone"}))[1:]] == ["tone"]
    assert client.get(address, {"question": "none"}).status_code == 404


def test_other_projects_are_not_exported(
    client_for: Any, lead: Any, project: Project, make_project: Any, rate: Any
) -> None:
    rate(make_project("Other").questions.get(), "secret", "eve", "major")
    assert read_rows(client_for(lead).get(f"/projects/{project.pk}/data/export.csv")) == [
        COLUMN_NAMES
    ]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("name", "status"), [("lead", 200), ("viewer", 200), ("annotator", 403), ("stranger", 404)]
)
def test_export_permissions(
    client_for: Any, project: Project, request: Any, kind: str, name: str, status: int
) -> None:
    client = client_for(request.getfixturevalue(name))
    address = f"/projects/{project.pk}/data/export.{kind}"
    needs_extra = kind == "parquet" and status == 200 and not parquet_file.has_parquet()
    assert client.get(address).status_code == (501 if needs_extra else status)
    assert client.post(address).status_code == 405


@pytest.mark.parametrize(
    "text",
    [
        "=cmd|'/c calc'!A1",
        "+1+1",
        "-x",
        "@x",
        "\tx",
        "\rx",
        "\nx",
        "＝x",
        "＋x",
        "－x",
        "＠x",
        "'=x",
        "''+x",
        "-1-1",
        "+-1",
        "-",
        "=1",
    ],
)
def test_formulas_get_an_apostrophe(text: str) -> None:
    assert escape_formula(text) == f"'{text}"
    assert unescape_formula(escape_formula(text)) == text


@pytest.mark.parametrize(
    "text", ["-1", "+1.5", "-.5", "-1e-3", "x=1", "'x", "a@b.c", "", "'", "ok", "1-1"]
)
def test_numbers_and_plain_texts_are_not_escaped(text: str) -> None:
    assert escape_formula(text) == text
    assert unescape_formula(text) == text


def test_formulas_are_escaped_in_the_file(
    client_for: Any, lead: Any, project: Project, question: Any, rate: Any
) -> None:
    rate(question, "=1+1", "-1", "major", comment="@x")
    text = read_body(client_for(lead).get(f"/projects/{project.pk}/data/export.csv"))
    assert '"\'=1+1",-1,severity,major,' in text
    assert text.endswith(',"\'@x",,1,,,,\r\n')


def test_queries_do_not_grow_with_the_rows(
    client_for: Any,
    lead: Any,
    project: Project,
    question: Any,
    rate: Any,
    django_assert_max_num_queries: Any,
) -> None:
    for number in range(30):
        rate(question, f"i{number}", f"r{number % 4}", "major")
    client = client_for(lead)
    with django_assert_max_num_queries(9):
        assert len(read_rows(client.get(f"/projects/{project.pk}/data/export.csv"))) == 31


@given(st.text(alphabet="'=+-@\t\r\n＝1a ,", max_size=6))
def test_guard_is_reversed_exactly(text: str) -> None:
    assert unescape_formula(escape_formula(text)) == text
    if escape_formula(text)[:1] in tuple("=+-@\t\r\n＝"):
        float(escape_formula(text))  # only a plain number may begin so


# --- export and import -----------------------------------------------------------------------------

KEYS = (
    st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=12)
    .map(str.strip)
    # Invisible characters are no part of a key.
    .filter(lambda key: not classify_key_problem(key, max_length=12))
)
AWKWARD_TEXTS = st.sampled_from(
    [
        "=1",
        "'=1",
        "+x",
        "-1",
        "a,b",
        'a"b',
        "a;b",
        "a|b",
        "＝",
        "@",
        "'",
        '"',
        "NA",
        "0",
        "1e3",
        "item",
    ]
)
COMMENTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@pytest.fixture
def lead_client(client_for: Any, lead: Any) -> Any:
    return client_for(lead)


@settings(
    max_examples=choose_number(15, full=40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    labels=st.lists(KEYS | AWKWARD_TEXTS, min_size=2, max_size=4, unique=True),
    ratings_by_pair=st.dictionaries(
        st.tuples(KEYS | AWKWARD_TEXTS, KEYS | AWKWARD_TEXTS),
        st.tuples(st.integers(0, 3), COMMENTS, st.integers(0, 1_700_000_000_000_000)),
        min_size=1,
        max_size=12,
    ),
)
@example(labels=["0", "1"], ratings_by_pair={("0", "{"): (0, "", 10**12)})  # no JSON object
def test_imported_export_has_equal_ratings(
    lead_client: Any, lead: Any, labels: list[str], ratings_by_pair: dict[Any, Any]
) -> None:
    project = _create_project(lead, labels, ratings_by_pair)
    address = f"/projects/{project.pk}/data/export.csv"
    text = read_body(lead_client.get(address))
    wizard = WizardClient(lead_client)
    assert wizard.upload(text.encode()).status_code == 302
    assert wizard.choose_columns(project_name="Back").status_code == 302
    run = wizard.run_worker()
    if run.state == "invalid":
        # "label" as a label is what a file without column names looks like.
        assert set(run.summary["problem_counts"]) == {"no_names"} and "label" in labels
        return
    wizard.start_import(categories="\n".join(labels))
    assert wizard.run_worker().state == "done"

    question = wizard.run.question
    assert question and _get_ratings(question) == _get_ratings(project.questions.get())
    second_export = read_body(lead_client.get(f"/projects/{wizard.run.project_id}/data/export.csv"))
    assert _read_imported_columns(second_export) == _read_imported_columns(text)


def _read_imported_columns(text: str) -> list[dict[str, str]]:
    """Return the rows without the time of the last change, which is that of the import."""
    rows = csv.DictReader(io.StringIO(text, newline=""))
    return sorted(({**row, "changed_at": ""} for row in rows), key=json.dumps)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_labels_of_an_export_are_no_missing_values(
    lead_client: Any, lead: Any, tmp_path: Path, kind: str
) -> None:
    """Texts that stand for missing values in other files are labels here, in both commands."""
    labels = ["NA", "-99", "1", "1.0", "yes", "Yes"]
    ratings = {
        (f"i{number}", rater): (number, "", number)
        for number in range(len(labels))
        for rater in ("ann", "bea")
    }
    project = _create_project(lead, labels, ratings)
    path = tmp_path / f"export.{kind}"
    path.write_text(read_body(lead_client.get(f"/projects/{project.pk}/data/export.{kind}")))
    output = io.StringIO()
    call_command("import_file", str(path), name="Back", owner=lead.username, stdout=output)
    imported = Project.objects.get(name="Back").questions.get()
    assert _get_ratings(imported) == _get_ratings(project.questions.get())
    output = io.StringIO()
    call_command("agreement", str(path), "--json", stdout=output)
    assert set(json.loads(output.getvalue())["categories"]) == set(labels)


def _create_project(lead: Any, labels: list[str], ratings_by_pair: dict[Any, Any]) -> Project:
    from projects.services.projects import create_project
    from projects.services.question_validation import NewCategory, NewQuestion
    from ratings.imports.staging.database import to_datetime

    question = NewQuestion("q", "Q?", categories=[NewCategory(label) for label in labels])
    project = create_project(by=lead, name="There", questions=[question])
    items = {
        key: Item.objects.create(project=project, key=key).pk
        for key in {item for item, _ in ratings_by_pair}
    }
    raters = {
        key: Rater.objects.create(project=project, key=key).pk
        for key in {rater for _, rater in ratings_by_pair}
    }
    judgements = [
        Judgement(
            items[item],
            raters[rater],
            code % len(labels),
            rated_at=to_datetime(timestamp + 10**12),
            comment=comment,
        )
        for (item, rater), (code, comment, timestamp) in ratings_by_pair.items()
    ]
    record_ratings({project.questions.get(): judgements}, by=lead, source="api")
    return project


def _get_ratings(question: Question) -> dict[Any, Any]:
    labels = get_labels(question)
    ratings = Rating.objects.exclude(code=NO_CODE).filter(question=question)
    values = ratings.values_list("item__key", "rater__key", "rated_at", "comment")
    return {
        (item, rater): (labels[item, rater], rated_at, comment)
        for item, rater, rated_at, comment in values
    }


def test_csv_is_streamed_in_chunks(
    client_for: Any, lead: Any, project: Project, question: Any, rate: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(documents, "ROWS_PER_CHUNK", 2)
    for number in range(5):
        rate(question, f"i{number}", "r", "major")
    response = client_for(lead).get(f"/projects/{project.pk}/data/export.csv")
    chunks: Iterator[bytes] = iter(response.streaming_content)
    assert next(chunks).count(b"\r\n") == 2
    assert b"".join(chunks).count(b"\r\n") == 4
