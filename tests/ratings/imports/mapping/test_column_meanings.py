"""Columns that look like raters, labels or items and are something else, or the other way round."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.core.management import CommandError, call_command

from ratings.models import Rating
from tests.ratings.imports.readers.test_platform_files import list_ratings
from tests.ratings.imports.test_command import import_with_scale, run_import_command
from tests.ratings.imports.wizard_client import WizardClient

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("what a file says does not depend on the database"),
]

A, B = "pnpnnppnpn", "pppnnnpnnn"  # labels of two raters
LONG = "The text number {} is a sentence of more than forty characters."


def write_table(names: str, *columns: Any) -> str:
    """Return a CSV file; a column is a format with the number of the row, or the cells."""
    rows = zip(
        *(
            [column.format(number) for number in range(10)] if "{}" in column else column
            for column in columns
        ),
        strict=True,
    )
    return "\n".join([names, *(",".join(map(str, row)) for row in rows)]) + "\n"


class Wide(NamedTuple):
    """A table whose ratings are those of A and B of ten items, by these raters."""

    text: str
    raters: str
    key: str = "{}"
    gold: int = 0


NUMBERS_A, NUMBERS_B = "1121321312", "1221311122"
PAIRS = list(zip(map(int, NUMBERS_A), map(int, NUMBERS_B), strict=True))
WIDE = {
    "a column compares the raters by its name": Wide(
        write_table("id,Anna,Ben,Same", "{}", A, B, A), "Anna Ben"
    ),
    "an author is no rater beside numbered annotators": Wide(
        write_table("id,author,likes,annotator1,annotator2", "{}", "uuvvwwuuvv", B, A, B),
        "annotator1 annotator2",
    ),
    "people who are rated": Wide(
        write_table("participant,rater_1,rater_2", "p{}", A, B), "rater_1 rater_2", "p{}"
    ),
    "rows are the lesions of patients": Wide(
        write_table("patient,lesion,Reader 1,Reader 2", "AABBCCDDEE", "1212121212", A, B),
        "Reader 1|Reader 2",
        "patient/lesion",
    ),
    "the gold answer is named like the raters": Wide(
        write_table("id,label_anna,label_ben,label_gold", "{}", A, B, B), "anna ben", gold=10
    ),
    "a reference with the labels of raters is gold": Wide(
        write_table("id,Anna,Ben,Reference", "{}", A, B, A), "Anna Ben", gold=10
    ),
    "an expected answer in other words is no label": Wide(
        write_table("id,rater_1,rater_2,expected", "{}", A, B, "Paris {}"), "rater_1 rater_2"
    ),
    "the response of a model is no label": Wide(
        write_table("id,response,gpt,human", "{}", LONG, A, B), "gpt human"
    ),
    "results stand below": Wide(
        write_table("id,Coder A,Coder B", "{}", A, B) + "Po,0.8,\nKappa,0.6,\n", "Coder A|Coder B"
    ),
    "the round describes the item": Wide(
        write_table("id,round,Anna,Ben", "{}", "ppppnnnnnn", A, B), "Anna Ben"
    ),
}


@pytest.mark.parametrize("name", WIDE)
def test_two_raters_of_ten_items(name: str, tmp_path: Path, lead: Any) -> None:
    table = WIDE[name]
    path = tmp_path / "table.csv"
    path.write_text(table.text)
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    assert (status, report["problems"], report["gold"]) == (0, [], table.gold)
    keys = (
        [f"{letter}/{number}" for letter in "ABCDE" for number in "12"]
        if "/" in table.key
        else [table.key.format(number) for number in range(10)]
    )
    raters = table.raters.split("|" if "|" in table.raters else None)
    assert list_ratings() == {
        (key, rater, label)
        for rater, labels in zip(raters, (A, B), strict=True)
        for key, label in zip(keys, labels, strict=True)
    }


@pytest.mark.parametrize(
    "compute",
    [
        lambda a, b: a - b,
        lambda a, b: abs(a - b),
        lambda a, b: a + b,
        lambda a, b: (a + b) / 2,
        lambda a, b: int(a == b) + 1,
    ],
)
def test_column_computed_from_the_others_is_no_rater(
    compute: Any, tmp_path: Path, lead: Any
) -> None:
    values = [compute(a, b) for a, b in PAIRS]
    path = tmp_path / "table.csv"
    path.write_text(write_table("id,Anna,Ben,Carla", "{}", NUMBERS_A, NUMBERS_B, values))
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    assert (status, report["raters"], report["ratings"]) == (0, 2, 20)


def test_third_rater_is_one_if_a_single_row_differs(tmp_path: Path, lead: Any) -> None:
    values = [int(a == b) + 1 for a, b in PAIRS]
    values[3] = 3
    path = tmp_path / "table.csv"
    path.write_text(write_table("id,Anna,Ben,Carla", "{}", NUMBERS_A, NUMBERS_B, values))
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    assert (status, report["raters"]) == (0, 3)


def write_long(names: str, *parts: str, last: str = "") -> str:
    """Return a CSV file with a row for each combination of the parts, and labels in turn."""
    labels = itertools.cycle("pnnpn")
    rows = (
        ",".join([*row, next(labels), *([next(labels)] if last else [])])
        for row in itertools.product(*(part.split() for part in parts))
    )
    return "\n".join([names, *rows]) + "\n"


LONG_TABLES = {
    "sentences of documents": (
        write_long("doc_id,sent_id,annotator,label", "d1 d2 d3", "1 2 3", "a b"),
        (9, 2, 18),
        "d1/1",
    ),
    "responses to prompts": (
        "prompt_id,response_id,rater,label\n"
        + "".join(f"p{n // 2},r{n},{r},{'xy'[n % 2]}\n" for n in range(6) for r in "ab"),
        (6, 2, 12),
        "r0",
    ),
    "raters as values of a melted table": (
        write_long("item_id,variable,value", "1 2 3 4", "rater_1 rater_2"),
        (4, 2, 8),
        "1",
    ),
    "crowd data with a question for each item": (
        write_long("question,worker,answer", "1 2 3 4", "w1 w2 w3"),
        (4, 3, 12),
        "1",
    ),
    "each annotation has an ID": (
        "!annotation_ids,!amt_worker_ids,orig_id,response\n"
        + "".join(f"A{n}{w},W{w},{n},{(n + w) % 2}\n" for n in range(4) for w in range(3)),
        (4, 3, 12),
        "0",
    ),
    "the address of the annotator": (
        write_long("_item_id,_annotator_email,quality", "x y z", "a@x.org b@x.org"),
        (3, 2, 6),
        "x",
    ),
}


@pytest.mark.parametrize("name", LONG_TABLES)
def test_items_and_raters_of_long_tables(name: str, tmp_path: Path, lead: Any) -> None:
    text, numbers, first_key = LONG_TABLES[name]
    path = tmp_path / "table.csv"
    path.write_text(text)
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    assert (status, report["problems"]) == (0, [])
    assert (report["items"], report["raters"], report["ratings"]) == numbers
    assert first_key in {item for item, _rater, _label in list_ratings()}


def test_score_of_each_rater_is_a_question(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        "rev_id,worker_id,toxicity,toxicity_score\n"
        + "".join(f"{n},{w},{(n + w) % 2},{(n * w) % 4 - 1}.0\n" for n in range(6) for w in (1, 2))
    )
    _status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    assert report["ratings"] == 24


REFUSED = {
    "modalities of cases": (
        write_long("case,modality,reader,score", "1 2 3", "CT MR", "A B"),
        "--map item=case item=modality",
    ),
    "sessions of patients": (
        write_long("patient,session,reader,grade", "1 2 3", "1 2", "A B"),
        "--map item=patient item=session",
    ),
    "numbers of items, raters and labels without names": (
        "V1,V2,V3\n1,1,2\n1,2,2\n2,1,3\n2,2,1\n3,1,1\n3,2,1\n4,1,3\n4,2,3\n5,1,2\n5,2,1\n",
        "--map rater=V2 label=V3",
    ),
    "pairs of models that no two judges share": (
        "question_id,model_a,model_b,winner,judge\n81,gpt,vicuna,model_a,u1\n"
        "81,gpt,alpaca,model_a,u2\n82,gpt,vicuna,model_b,u1\n82,vicuna,gpt,model_a,u2\n",
        "--map item=question_id item=model_a item=model_b",
    ),
    "texts in several rows, and no rater": (
        write_long("text,source_name,label", "One Two Three", "x y"),
        "--map rater=source_name",
    ),
    "models that answered a prompt": (
        "prompt,model,annotator,score\n"
        + "".join(
            f"{LONG.format(n)},{model},{rater},{(n + len(model) + (rater == 'a')) % 3}\n"
            for n in range(4)
            for model in ("gpt", "claude")
            for rater in "ab"
        ),
        "--map content=model",
    ),
    "names of raters beside their labels": (
        write_table(
            "case,rater1_id,rater1_score,rater2_id,rater2_score",
            "{}",
            ["anna", "ben"] * 5,
            NUMBERS_A,
            ["carl", "dora"] * 5,
            NUMBERS_B,
        ),
        "--map rater=COLUMN rater=COLUMN",
    ),
    "coders beside codes": (
        write_table("case,coder1,code1,coder2,code2", "{}", "ab" * 5, A, "cd" * 5, B),
        "--map rater=COLUMN rater=COLUMN",
    ),
    "more columns than rows": ("key,i1,i2,i3\nanna,x,y,x\nben,x,x,x\n", "--layout raters"),
    "criteria without a rater": (
        write_table("id,output,helpfulness,relevance", "{}", LONG, NUMBERS_A, NUMBERS_B),
        "--map label=helpfulness label=relevance --rater NAME",
    ),
    "scores of criteria": (
        write_table("id,score_fluency,score_adequacy", "{}", NUMBERS_A, NUMBERS_B),
        "--layout wide",
    ),
    "labels of one person beside predictions": (
        write_table("id,text,human_label,predicted_label", "{}", LONG, A, B),
        "--map label=human_label label=predicted_label --rater NAME",
    ),
    "percents with and without a blank": (
        write_table("id,rater_1,rater_2", "{}", ["10%", "50%"] * 5, ["10 %", "50 %"] * 5),
        "--similar=join",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_doubt_names_the_options(name: str, tmp_path: Path, lead: Any) -> None:
    text, advice = REFUSED[name]
    path = tmp_path / "table.csv"
    path.write_text(text)
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    assert status == 1 and not Rating.objects.exists()
    assert advice in report["problems"][0]["message"]


def test_items_written_alike_are_noted(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text("item,rater,label\nText 1,a,x\ntext 1,b,x\n2,a,y\n2.0,b,x\n")
    _status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    (note,) = [note for note in report["notes"] if "items whose IDs" in note]
    assert "Text 1 / text 1" in note and "2 / 2.0" in note


def test_named_columns_make_up_the_item_id(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text(REFUSED["modalities of cases"][0])
    columns = ["item=case", "item=modality"]
    status, report = import_with_scale(path, name="N", owner=lead.username, map=columns)
    assert (status, report["items"], report["ratings"]) == (0, 6, 12)
    assert ("1/CT", "A", "p") in list_ratings()
    # With one column alone, the last of several rows stands.
    status, report = import_with_scale(path, name="M", owner=lead.username, map=columns[:1])
    assert (status, report["items"], report["ratings"]) == (0, 3, 6)


def test_named_roles_replace_the_numbers_of_rows(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text("x,y,z\nd1,p,p\nd1,q,p\nd2,p,q\nd2,q,p\nd3,p,q\nd3,q,q\n")
    columns = ["item=x", "rater=y", "label=z"]
    status, report = import_with_scale(path, name="N", owner=lead.username, map=columns)
    assert (status, report["items"], report["ratings"]) == (0, 3, 6)
    understood = compute_agreement(path, map=columns)["understood"]
    assert (understood["counts"]["items"], understood["rows_are_items"]) == (3, False)


def test_form_read_by_rows_has_items_in_rows(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        "Timestamp,Username,Is 1 rude?,Is 2 rude?,Is 3 rude?,Your age,Any feedback?\n"
        "2026/05/01 9:12:01 AM,ann,Yes,No,No,34,\n2026/05/01 9:15:44 AM,bob,Yes,No,Yes,27,nice\n"
        "2026/05/02 1:02:10 PM,cid,No,Yes,No,45,ok\n"
    )
    report = compute_agreement(path, layout="wide")
    assert report["raters"] == ["Is 1 rude?", "Is 2 rude?", "Is 3 rude?"]
    assert report["understood"]["counts"] == {"items": 3, "raters": 3, "ratings": 9}


def test_numbers_of_raters_beside_an_unknown_item_column(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("tweet,label,n\nt1,hate,3\nt1,ok,2\nt2,ok,5\nt3,hate,1\nt3,ok,4\nt4,hate,5\n")
    with pytest.raises(CommandError, match="--map count=n"):
        compute_agreement(path)
    for options in ({"layout": "long"}, {"map": ["count=n"]}):
        counts = compute_agreement(path, **options)["understood"]["counts"]
        assert counts == {"items": 4, "raters": 5, "ratings": 20}


def test_named_label_leaves_the_item_in_doubt(tmp_path: Path, lead: Any) -> None:
    """The raters rated each document of each system, and a named label does not change that."""
    path = tmp_path / "table.csv"
    path.write_text(
        "system,doc,rater,severity\n"
        + "".join(
            f"{item},{rater},{severity}\n"
            for item, severity in [("A,c", "low"), ("B,c", "high"), ("A,d", "low"), ("B,d", "low")]
            for rater in "pq"
        )
    )
    options = {"owner": lead.username, "map": ["label=severity"], "json": True}
    status, report = run_import_command(path, name="N", **options)
    assert (status, report["problems"][0]["kind"]) == (1, "incomplete_key")
    assert "item=doc item=system" in report["problems"][0]["message"]
    with pytest.raises(CommandError, match="item=doc item=system"):
        compute_agreement(path, map=["label=severity"])
    status, report = run_import_command(path, name="N", duplicates="last", **options)
    assert (status, report["items"]) == (0, 2)
    columns = ["label=severity", "item=doc"]
    assert compute_agreement(path, map=columns)["notes"][-1]["kind"] == "repeats"


def test_survey_codes_before_names(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "survey.csv"
    path.write_text(
        "id. Response ID,submitdate. Date submitted,G1Q1[SQ001]. Rate [Text A],"
        "G1Q1[SQ002]. Rate [Text B]\n1,2026-03-01 10:00:00,a,b\n2,2026-03-01 11:00:00,a,a\n"
    )
    status, _report = import_with_scale(path, name="N", owner=lead.username)
    assert status == 0
    assert list_ratings() == {
        ("Text A", "1", "a"),
        ("Text B", "1", "b"),
        ("Text A", "2", "a"),
        ("Text B", "2", "a"),
    }


RECORDS = {
    "objects of workers": {
        "id": 1,
        "text": "One",
        "notes": [{"worker": "a", "choice": "x"}, {"worker": "b", "choice": "y"}],
    },
    "data set of Argilla": {
        "id": 1,
        "text": "One",
        "tone": [
            {"user_id": "a", "value": "x", "status": "submitted"},
            {"user_id": "b", "value": "y", "status": "submitted"},
        ],
        "tone-suggestion": None,
    },
}


@pytest.mark.parametrize("name", RECORDS)
def test_answers_in_objects_of_a_list(name: str, tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "records.json"
    path.write_text(json.dumps([RECORDS[name], {**RECORDS[name], "id": 2, "text": "Two"}]))
    status, _report = import_with_scale(path, name="N", owner=lead.username)
    assert status == 0
    assert list_ratings() == {(item, r, x) for item in "12" for r, x in (("a", "x"), ("b", "y"))}


def test_label_studio_columns_in_alphabetical_order(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "export.csv"
    names = "annotation_id,annotator,choice,created_at,id,lead_time,text,updated_at"
    path.write_text(
        f"{names}\n"
        + "".join(
            f"{n}{r},{r},{'xy'[(n + len(r)) % 2]},2026-03-01T10:00:00Z,{n},2.5,{LONG.format(n)},"
            "2026-03-01T10:00:00Z\n"
            for n in range(4)
            for r in ("a", "bb")
        )
    )
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    assert (status, report["left_out"]) == (0, {})
    assert {label for _item, _rater, label in list_ratings("choice")} == {"x", "y"}


def test_numbers_of_raters_of_each_label(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text("item,label,count\nA,yes,2\nA,no,1\nB,yes,3\nC,no,5000\nD,,1\n")
    status, report = import_with_scale(path, name="N", owner=lead.username, layout="long")
    (problem,) = report["problems"]
    assert status == 1 and "Line 5: '5000' must be a whole number" in problem["message"]
    path.write_text(path.read_text().replace("5000", "2"))
    status, report = import_with_scale(path, name="N", owner=lead.username, layout="long")
    assert (status, report["ratings"], report["left_out"]) == (0, 8, {"no_label_row": 1})
    assert list_ratings() == {
        *(("A", f"anonymous {n}", label) for n, label in ((1, "yes"), (2, "yes"), (3, "no"))),
        *(("B", f"anonymous {n}", "yes") for n in (1, 2, 3)),
        *(("C", f"anonymous {n}", "no") for n in (1, 2)),
    }


COUNTED = {  # Cohen's kappa of each is 0.4
    "crossed": "rater2,no,yes,All\nno,20,10,30\nyes,5,15,20\nAll,25,25,50\n",
    "crossed with raters in the names": (
        ",Rater B: yes,Rater B: no\nRater A: yes,20,5\nRater A: no,10,15\n"
    ),
    "combinations": "rater1,rater2,Freq\nno,no,20\nyes,no,5\nno,yes,10\nyes,yes,15\n",
}


@pytest.mark.parametrize("name", COUNTED)
def test_counted_items_are_imported_on_request(name: str, tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text(COUNTED[name])
    layout = name.split(maxsplit=1)[0]
    status, report = import_with_scale(path, name="N", owner=lead.username, layout=layout)
    assert (status, report["items"], report["raters"], report["ratings"]) == (0, 50, 2, 100)
    if "names" in name:
        assert {rater for _item, rater, _label in list_ratings()} == {"Rater A", "Rater B"}
    result = compute_agreement(path, layout=layout)
    assert result["cohen_kappa"] == pytest.approx(0.4)
    assert result["percent_agreement"] == pytest.approx(35 / 50)


def test_wizard_reads_a_crossed_table(lead: Any, client_for: Any) -> None:
    wizard = WizardClient(client_for(lead))
    wizard.upload(COUNTED["crossed"].encode(), "table.csv")
    wizard.choose_columns()
    run = wizard.run_worker()
    assert run.state == "checked", run.problems
    assert (run.summary["items"], run.summary["rows"]) == (50, 100)


def test_numbers_of_items_are_whole(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text("rater2,no,yes\nno,20,x\nyes,5,1.5\n")
    status, report = import_with_scale(
        path, name="N", owner=lead.username, layout="crossed", json=True
    )
    assert (
        status == 1
        and "Lines 2, 3 (2 times): 'x' must be a whole number" in report["problems"][0]["message"]
    )


def test_combinations_need_a_column_of_numbers(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text("Anna,Ben,times\nx,x,3\nx,y,2\ny,y,4\n")
    arguments = {"owner": lead.username, "layout": "combinations", "json": True}
    status, report = import_with_scale(path, name="N", **arguments)
    assert status == 1 and "--map count=COLUMN" in report["problems"][0]["message"]
    status, report = import_with_scale(path, name="N", map=["count=times"], **arguments)
    assert (status, report["ratings"]) == (0, 18)


def compute_agreement(path: Path, **options: Any) -> dict[str, Any]:
    """Return what `manage.py agreement` prints of a file."""
    output = io.StringIO()
    call_command("agreement", str(path), json=True, stdout=output, **options)
    return dict(json.loads(output.getvalue()))


def test_reaction_times_without_a_unit_are_no_seconds(tmp_path: Path, lead: Any) -> None:
    """Most experiments write milliseconds, which would be 812 seconds for an answer."""
    path = tmp_path / "experiment.csv"
    path.write_text(
        "participant,stimulus,response,rt\nP1,a,same,812\nP2,a,same,640\nP1,b,diff,70\n"
    )
    run_import_command(path, name="Faces", owner=lead.username, json=True)
    assert list(Rating.objects.values_list("seconds", flat=True)) == [None] * 3
