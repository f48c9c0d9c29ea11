"""Tables as people have them: what is understood and stored, or why nothing is.

The files are small examples of tables from R, pandas, spreadsheets and survey tools. The values of
kappa were computed with other programs (scikit-learn, irrCAC) or by hand.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import pytest
from django.core.management import CommandError, call_command

from projects.models import Item, Project
from ratings.models import Rating
from tests.ratings.imports.test_command import import_with_scale
from tests.ratings.imports.wizard_client import (
    WizardClient,
    get_labels,
    get_page_text,
    list_stored_files,
    snapshot_import_tables,
)

pytestmark = pytest.mark.django_db
FILES = Path(__file__).parent / "files"


class Expected(NamedTuple):
    """Numbers of a file, roles of some of its columns, and coefficients of its questions."""

    items: int
    raters: int
    ratings: int
    roles: dict[str, str]
    coefficients: dict[str, float]
    left_out: dict[str, int] = {}
    question: str = ""


READABLE_FILES = {
    "label_column_of_another_name.csv": Expected(
        4, 2, 8, {"doc_id": "item", "sentiment": "label"}, {"cohen_kappa": 0.5}
    ),
    "label_column_of_another_name_text.csv": Expected(
        4, 2, 8, {"text": "text", "stance": "label"}, {"cohen_kappa": 0.5}
    ),
    "majority_beside_raters.csv": Expected(
        12,
        3,
        36,
        {"rater1": "rater_column", "majority_vote": "ignored"},
        {"fleiss_kappa": 0.4375},
    ),
    "column_about_the_item.csv": Expected(
        12, 2, 24, {"sex": "ignored", "rater_2": "rater_column"}, {"cohen_kappa": 0.5}
    ),
    "raters_in_rows.csv": Expected(5, 3, 15, {}, {"fleiss_kappa": 0.3662}),
    "three_lines_of_names.csv": Expected(
        4,
        3,
        12,
        {},
        {"fleiss_kappa": 0.1220},
        {"header_row": 2},
    ),
    "double_entry.csv": Expected(4, 2, 8, {}, {"cohen_kappa": 0.5}),
    "tool_csv_id_first.csv": Expected(
        3, 2, 4, {}, {"cohen_kappa": 0}, {"several_labels": 1, "no_label": 1}
    ),
    "rater_twice_newest_first.csv": Expected(
        3, 2, 6, {"timestamp": "rated_at"}, {"cohen_kappa": 0.4}
    ),
    "line_of_totals.csv": Expected(
        10, 2, 20, {"case": "item"}, {"cohen_kappa": 0.6}, {"total_row": 1}
    ),
    "index_without_a_name.csv": Expected(3, 2, 6, {"(column 1)": "ignored"}, {}),
    "empty_columns_at_the_end.csv": Expected(2, 2, 4, {"label": "label"}, {}),
    "sep_line.csv": Expected(3, 2, 6, {"label": "label"}, {}),
    "times_of_a_spreadsheet.csv": Expected(3, 2, 6, {"timestamp": "rated_at"}, {}),
    "times_without_a_zone.csv": Expected(3, 2, 6, {"timestamp": "rated_at"}, {}),
    "notes_on_the_first_sheet.xlsx": Expected(
        4, 2, 8, {"label": "label"}, {"cohen_kappa": 0.5}, {"other_sheets": 1}
    ),
    "raters_without_an_item_column.csv": Expected(
        12,
        4,
        48,
        {"RaterA": "rater_column", "RaterD": "rater_column"},
        {"fleiss_kappa": 0.6620, "fleiss_kappa_quadratic": 0.8844},
    ),
    "textid_annotatorid_label.csv": Expected(
        12, 3, 36, {"TextID": "item", "AnnotatorID": "rater", "Label": "label"}, {}
    ),
    "reader_case_rating_truth.csv": Expected(
        12, 3, 36, {"reader": "rater", "case": "item", "truth": "gold", "rating": "label"}, {}
    ),
    "two_questions_wide.csv": Expected(
        10,
        2,
        20,
        {"R1_warmth": "rater_column"},
        {"weighted_kappa_quadratic": 0.8947},
        question="warmth",
    ),
    "id_is_the_annotator.csv": Expected(
        12,
        3,
        36,
        {"id": "rater", "tweet.id": "item", "version": "ignored", "batch.tweet": "ignored"},
        {"fleiss_kappa": 0.8875},
        question="hate.speech",
    ),
}


def compute_agreement(path: Path, **options: Any) -> dict[str, Any]:
    output = io.StringIO()
    call_command("agreement", str(path), json=True, stdout=output, **options)
    return json.loads(output.getvalue())


def get_roles(understood: dict[str, Any]) -> dict[str, str]:
    return {column["name"]: column["role"] for column in understood["columns"]}


@pytest.mark.parametrize("name", READABLE_FILES)
def test_file_is_understood_by_both_commands(name: str, lead: Any) -> None:
    expected, path = READABLE_FILES[name], FILES / name
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    assert (status, report["problems"]) == (0, [])
    n_questions = len(report["understood"][str(path)]["questions"])
    assert (report["items"], report["raters"]) == (expected.items, expected.raters)
    assert report["ratings"] == expected.ratings * n_questions
    assert Rating.objects.current().count() == report["ratings"]
    assert report["left_out"] == expected.left_out

    options = {"question": expected.question} if expected.question else {}
    answer = compute_agreement(path, **options)
    for understood in (report["understood"][str(path)], answer["understood"]):
        assert expected.roles.items() <= get_roles(understood).items()
        assert all(column["why"] for column in understood["columns"])
    assert answer["n_ratings"] == expected.ratings
    for coefficient, value in expected.coefficients.items():
        assert answer[coefficient] == pytest.approx(value, abs=5e-4), coefficient


@pytest.mark.parametrize("name", READABLE_FILES)
def test_wizard_guesses_as_the_command(name: str, lead: Any, client_for: Any) -> None:
    expected = READABLE_FILES[name]
    wizard = WizardClient(client_for(lead))
    wizard.upload((FILES / name).read_bytes(), name)
    if expected.roles:  # files of a tool have no columns to choose
        understood = wizard.get_page().context["understood"]
        roles = {column.name: column.role for column in understood.columns}
        assert expected.roles.items() <= roles.items()
    wizard.choose_columns()
    run = wizard.run_worker()
    assert run.state == "checked", run.problems
    assert (run.summary["items"], run.summary["raters"]) == (expected.items, expected.raters)


DOUBTFUL_FILES = {
    "table_of_counts.csv": ("counts", "counts of labels in columns", "--layout counts"),
    "item_in_two_rows_wide.csv": (
        "repeated_rows",
        "1 (lines 2 and 8), 2 (lines 3 and 9)",
        "--duplicates last",
    ),
}


@pytest.mark.parametrize("name", DOUBTFUL_FILES)
def test_doubtful_file_is_rejected_with_what_to_do(name: str, lead: Any) -> None:
    before = snapshot_import_tables(), list_stored_files()
    status, report = import_with_scale(FILES / name, name="N", owner=lead.username, json=True)
    assert status == 1
    (problem,) = report["problems"]
    kind, *texts = DOUBTFUL_FILES[name]
    assert problem["kind"] == kind
    assert all(text in problem["message"] for text in texts)
    assert (snapshot_import_tables(), list_stored_files()) == before
    # What was understood is there all the same.
    assert get_roles(report["understood"][str(FILES / name)])


def test_counts_become_ratings_of_anonymous_raters(lead: Any) -> None:
    path = FILES / "table_of_counts.csv"
    status, report = import_with_scale(path, name="N", owner=lead.username, layout="counts")
    assert (status, report["items"], report["raters"], report["ratings"]) == (0, 10, 14, 140)
    # Fleiss (1971) and Wikipedia give 0.210 for this table.
    assert compute_agreement(path, layout="counts")["fleiss_kappa"] == pytest.approx(
        0.2099, abs=5e-5
    )
    with pytest.raises(CommandError, match="--layout counts"):
        compute_agreement(path)


def test_repeated_rows_of_a_wide_table_are_imported_on_request(lead: Any) -> None:
    path = FILES / "item_in_two_rows_wide.csv"
    status, report = import_with_scale(path, name="N", owner=lead.username, duplicates="last")
    assert (status, report["ratings"]) == (0, 12)
    assert report["understood"][str(path)]["repeats"]["count"] == 12


def test_later_time_stands_in_both_commands(lead: Any) -> None:
    path = FILES / "rater_twice_newest_first.csv"
    _, report = import_with_scale(path, name="N", owner=lead.username)
    question = Project.objects.get().questions.get()
    assert get_labels(question)["1", "a"] == "new"
    for understood in (
        report["understood"][str(path)],
        compute_agreement(path)["understood"],
    ):
        assert understood["repeats"]["count"] == 1
        assert understood["repeats"]["examples"][0][:2] == ["1", "a"]


def test_times_without_a_zone_are_those_of_the_project(lead: Any, project: Project) -> None:
    project.time_zone = "Europe/Berlin"
    project.save()
    path = FILES / "times_of_a_spreadsheet.csv"
    status, report = import_with_scale(
        path, project=project.pk, owner=lead.username, question="other", json=True
    )
    assert status == 0, report
    assert report["understood"][str(path)]["zone"] == "Europe/Berlin"
    assert Rating.objects.earliest("pk").rated_at.isoformat() == "2025-11-25T13:03:22+00:00"
    # Another zone on request.
    import_with_scale(
        path, project=project.pk, owner=lead.username, question="third", zone="Asia/Tokyo"
    )
    assert Rating.objects.latest("pk").rated_at.isoformat() == "2025-11-25T05:03:22+00:00"


def test_ambiguous_dates_need_their_order(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "dates.csv"
    path.write_text("item,rater,label,date\n1,a,x,03/04/2025 10:00\n2,a,y,05/04/2025 10:00\n")
    options = {"name": "N", "owner": lead.username}
    status, report = import_with_scale(path, **options)
    assert status == 1
    assert "--dates dmy" in report["problems"][0]["message"]
    assert import_with_scale(path, **options, dates="dmy")[0] == 0
    assert Rating.objects.earliest("pk").rated_at.date().isoformat() == "2025-04-03"


@pytest.mark.parametrize(
    ("roles", "n_raters", "n_ratings"),
    [
        (["rater=rater1", "rater=majority_vote"], 2, 24),
        (["ignore=rater3"], 2, 24),
    ],
)
def test_user_decides_which_columns_are_raters(
    lead: Any, roles: list[str], n_raters: int, n_ratings: int
) -> None:
    status, report = import_with_scale(
        FILES / "majority_beside_raters.csv", name="N", owner=lead.username, map=roles
    )
    assert (status, report["raters"], report["ratings"]) == (0, n_raters, n_ratings)


def test_several_columns_can_be_labels(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,rater,tone,length\n1,a,warm,3\n1,b,cold,3\n2,a,warm,7\n2,b,warm,9\n")
    options = {"name": "N", "owner": lead.username}
    status, report = import_with_scale(path, **options)
    assert status == 1
    assert "--map label=tone label=length" in report["problems"][0]["message"]
    status, report = import_with_scale(path, **options, map=["label=tone", "label=length"])
    assert (status, report["ratings"]) == (0, 8)
    assert set(report["understood"][str(path)]["questions"]) == {"tone", "length"}


def test_text_output_has_a_line_for_each_column(lead: Any) -> None:
    errors, output = io.StringIO(), io.StringIO()
    call_command(
        "import_file",
        str(FILES / "majority_beside_raters.csv"),
        name="N",
        owner=lead.username,
        dry_run=True,
        stdout=output,
        stderr=errors,
    )
    lines = errors.getvalue().splitlines()
    assert "  id: item ID (column name)" in lines
    assert any(line.startswith("  majority_vote: not imported (") for line in lines)
    assert "  items: 12; raters: 3; ratings: 36" in lines
    assert not Project.objects.exists()


def test_columns_page_shows_doubt_and_reasons(lead: Any, client_for: Any) -> None:
    wizard = WizardClient(client_for(lead))
    wizard.upload((FILES / "table_of_counts.csv").read_bytes(), "counts.csv")
    page = get_page_text(wizard.get_page())
    assert "counts of labels in columns" in page
    assert "number of ratings with label" in page


def test_items_without_a_key_name_the_column_that_can_be_one(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "posts.csv"
    rows = [(1, "Hi", "a", "x"), (2, "Hi", "b", "y"), (3, "Bye", "a", "x"), (4, "Bye", "b", "x")]
    path.write_text(
        "post,text,rater,label\n" + "".join(f"{p},{t},{r},{lb}\n" for p, t, r, lb in rows)
    )
    roles = ["text=text", "rater=rater", "label=label", "attributes=post"]
    options = {"name": "N", "owner": lead.username, "map": [*roles, "item="]}
    status, report = import_with_scale(path, **options)
    (problem,) = report["problems"]
    assert (status, problem["count"], problem["lines"]) == (1, 2, [3, 5])
    assert problem["message"] == (
        "Lines 3, 5 (2 times): Item 'Hi' has '2' in 'post', but '1' in line 2. "
        "Likewise 'Bye'. Choose 'post' as the item ID, or ignore it "
        "(--map item=post, or --map ignore=post)."
    )
    for advised in ("item=post", "ignore=post"):
        assert import_with_scale(path, **options | {"map": [*roles[:3], advised]})[0] == 0


def test_each_kind_of_fault_is_one_sentence_of_both_commands(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "faults.csv"
    path.write_text("item,rater,label\n" + "a,r,x\nb,,x\n,s,y\nc\n" * 9)
    status, report = import_with_scale(path, name="N", owner=lead.username)
    assert status == 1
    assert [(problem["kind"], problem["count"]) for problem in report["problems"]] == [
        ("key_empty", 18),
        ("cells", 9),
    ]
    assert report["problems"][0]["columns"] == ["rater", "item"]
    with pytest.raises(CommandError) as refused:
        compute_agreement(path)
    messages = [problem["message"] for problem in report["problems"]]
    assert str(refused.value) == f"{path}: " + "\n".join(messages)
    assert messages[1] == (
        "Lines 5, 9, 13, 17, 21, … (9 times): The header row has 3 cells, this row 1. Add "
        "the missing cells, even if empty."
    )


def write_workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.worksheets[0])
    for title, rows in sheets.items():
        sheet = workbook.create_sheet(title)
        for row in rows:
            sheet.append(row)
    workbook.save(path)
    return path


SHEETS_OF_RATERS: dict[str, list[list[Any]]] = {
    "Notes": [["Ratings of May"]],
    "Anna": [["item", "label"], ["a", "yes"], ["b", "no"]],
    "Ben": [["Second round"], ["item", "label"], ["a", "yes"], ["b", "yes"], ["c", "no"]],
    "Carla": [["item", "label"], ["c", "no"]],
}


def test_sheets_of_raters_are_merged_on_request(tmp_path: Path, lead: Any) -> None:
    path = write_workbook(tmp_path / "raters.xlsx", SHEETS_OF_RATERS)
    options = {"name": "N", "owner": lead.username}
    status, report = import_with_scale(path, **options)
    assert (status, Project.objects.count()) == (1, 0)
    message = report["problems"][0]["message"]
    assert "3 sheets have equal columns: Anna, Ben, Carla" in message
    with pytest.raises(CommandError, match="--sheets raters, or --sheets first"):
        compute_agreement(path)

    status, report = import_with_scale(path, **options, sheets="raters")
    assert (status, report["items"], report["raters"], report["ratings"]) == (0, 3, 3, 6)
    assert report["left_out"] == {"other_sheets": 1, "title_row": 1}
    answer = compute_agreement(path, sheets="raters")
    assert (answer["n_items"], answer["raters"]) == (3, ["Anna", "Ben", "Carla"])
    for understood in (report["understood"][str(path)], answer["understood"]):
        assert understood["sheets"] == ["Anna", "Ben", "Carla"]
        assert understood["left_out"]["other_sheets"]["values"] == ["Notes"]
        assert get_roles(understood) == {"item": "item", "label": "label", "rater": "rater"}
    labels = get_labels(Project.objects.get().questions.get())
    assert labels["c", "Ben"] == labels["c", "Carla"] == "no"


def test_first_sheet_alone_is_read_on_request(tmp_path: Path, lead: Any) -> None:
    path = write_workbook(tmp_path / "raters.xlsx", SHEETS_OF_RATERS)
    status, report = import_with_scale(path, name="N", owner=lead.username, sheets="first")
    assert (status, report["raters"], report["ratings"]) == (0, 1, 2)
    understood = report["understood"][str(path)]
    assert understood["sheets"] == ["Anna"]
    assert understood["left_out"]["other_sheets"]["values"] == ["Notes", "Ben", "Carla"]


def test_sheets_with_raters_are_read_one_after_another(tmp_path: Path, lead: Any) -> None:
    names = ["item", "rater", "label"]
    sheets: dict[str, list[list[Any]]] = {
        "May": [names, ["a", "ann", "yes"], ["a", "ben", "no"]],
        "June": [names, ["b", "ann", "yes"], ["b", "ben", "yes"], ["b", "cleo", None]],
    }
    path = write_workbook(tmp_path / "months.xlsx", sheets)
    options = {"name": "N", "owner": lead.username}
    status, report = import_with_scale(path, **options)
    assert status == 1
    assert "(--sheets rows, or --sheets first)" in report["problems"][0]["message"]
    status, report = import_with_scale(path, **options, sheets="rows")
    assert (status, report["items"], report["raters"], report["ratings"]) == (0, 2, 2, 4)
    # Lines are counted through all sheets.
    assert report["understood"][str(path)]["left_out"]["missing"]["lines"] == [7]


def test_wizard_asks_which_sheets_to_read(tmp_path: Path, lead: Any, client_for: Any) -> None:
    path = write_workbook(tmp_path / "raters.xlsx", SHEETS_OF_RATERS)
    wizard = WizardClient(client_for(lead))
    wizard.upload(path.read_bytes(), path.name)
    page = wizard.get_page()
    assert "3 sheets have equal columns: Anna, Ben, Carla" in get_page_text(page)
    data = {"action": "columns", "source": "xlsx", "layout": "long", "item": "0", "label": "1"}
    assert wizard.client.post(wizard.run_url, data | {"sheets": ""}).status_code == 400
    wizard.client.post(wizard.run_url, {"action": "read", "source": "xlsx", "sheets": "raters"})
    wizard.choose_columns()
    run = wizard.run_worker()
    assert run.state == "checked", run.problems
    assert (run.summary["items"], run.summary["raters"]) == (3, 3)


STORED_LABELS = {
    # A form whose rows are raters and whose columns are items.
    "raters_in_rows.csv": {
        **{("Photo 1", rater): "Good" for rater in ("one", "two", "three")},
        **{("Photo 2", "one"): "Bad", ("Photo 2", "two"): "Bad", ("Photo 2", "three"): "Fair"},
        **{("Photo 3", "one"): "Good", ("Photo 3", "two"): "Fair", ("Photo 3", "three"): "Good"},
        **{("Photo 4", rater): "Fair" for rater in ("one", "two", "three")},
        **{("Photo 5", "one"): "Good", ("Photo 5", "two"): "Good", ("Photo 5", "three"): "Bad"},
    },
    # Two of the three lines of names are no answers, and the columns of the survey are no raters.
    "three_lines_of_names.csv": {
        (f"Q1_{number}", rater): label
        for rater, labels in {
            "R_1aa": ("Very clear", "Clear", "Unclear", "Clear"),
            "R_2bb": ("Very clear", "Clear", "Clear", "Unclear"),
            "R_3cc": ("Clear", "Clear", "Unclear", "Clear"),
        }.items()
        for number, label in enumerate(labels, start=1)
    },
    # "3--1": the first entry of record 3.
    "double_entry.csv": {
        (item, rater): label
        for item, labels in {"1": "11", "2": "01", "3": "00", "4": "11"}.items()
        for rater, label in zip("12", labels, strict=True)
    },
    # What says the same for all annotations of a task is content.
    "tool_csv_id_first.csv": {
        ("1", "1"): "Positive",
        ("1", "2"): "Negative",
        ("2", "1"): "Positive",
        ("3", "1"): "Negative",
    },
}


@pytest.mark.parametrize("name", STORED_LABELS)
def test_stored_labels_are_those_of_the_file(name: str, lead: Any) -> None:
    import_with_scale(FILES / name, name="N", owner=lead.username)
    labels = get_labels(Project.objects.get().questions.get())
    assert {
        (item, rater.removesuffix("@example.org")): label for (item, rater), label in labels.items()
    } == STORED_LABELS[name]


def test_columns_of_a_task_are_its_content(lead: Any) -> None:
    import_with_scale(FILES / "tool_csv_id_first.csv", name="N", owner=lead.username)
    bodies = Item.objects.values_list("key", "body__text")
    assert dict(bodies) == {
        "1": "First of the sentences",
        "2": "Second of the sentences",
        "3": "Third of the sentences",
    }
