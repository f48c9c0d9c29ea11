"""Styles of tables that people bring: every rating is read, or the file is refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.core.management import CommandError, call_command

from ratings.models import Rating
from tests.ratings.imports.readers.test_platform_files import list_ratings
from tests.ratings.imports.test_command import import_with_scale
from tests.ratings.imports.test_label_files import import_case
from tests.ratings.imports.wizard_client import WizardClient

pytestmark = pytest.mark.django_db


class Table(NamedTuple):
    """A file, its items, and rater -> labels in the order of the items ("." where none is)."""

    text: str
    items: str
    labels: dict[str, str]
    question: str = ""
    left_out: dict[str, int] = {}


READABLE = {
    "R writes row names without a name of their column": Table(
        "rater1\trater2\n1\ta\ta\n2\tb\tb\n3\ta\tb\n", "1 2 3", {"rater1": "aba", "rater2": "abb"}
    ),
    "pandas writes pivoted columns in three lines": Table(
        ",label,label\nannotator,ann,ben\nitem_id,,\n1,p,n\n2,n,n\n3,p,p\n",
        "1 2 3",
        {"ann": "pnp", "ben": "nnp"},
    ),
    "names of merged cells in two lines": Table(
        "Study,Reviewer 1,,Reviewer 2,\n,Bias,Quality,Bias,Quality\nA,l,g,l,p\nB,h,p,h,p\nC,l,g,h,g\n",
        "A B C",
        {"Reviewer 1": "lhl", "Reviewer 2": "lhh"},
        "Bias",
    ),
    "lines of a title with several cells": Table(
        "Study,2026,,\nBy,Anna,,\n\nCase,Rater 1,Rater 2,Rater 3\n1,a,a,b\n2,b,b,b\n3,a,b,a\n",
        "1 2 3",
        {"Rater 1": "aba", "Rater 2": "abb", "Rater 3": "bba"},
        left_out={"title_row": 2},
    ),
    "Markdown": Table(
        "| item | rater1 | rater2 |\n|----|:----:|----|\n| 1 | y | n |\n| 2 | n | n |\n| 3 | y | y |\n",
        "1 2 3",
        {"rater1": "yny", "rater2": "nny"},
        left_out={"rule_row": 1},
    ),
    "a note below the rows": Table(
        "Item,Coder1,Coder2\n1,a,b\n2,a,a\n3,b,b\n,,\nCoder1 = author; Coder2 = student,,\n",
        "1 2 3",
        {"Coder1": "aab", "Coder2": "bab"},
        left_out={"note_row": 1},
    ),
    "comments beside the raters": Table(
        "ID,Rater 1,Comments 1,Rater 2,Comments 2\n1,a,,b,odd\n2,b,see,b,\n3,a,,a,\n",
        "1 2 3",
        {"Rater 1": "aba", "Rater 2": "bba"},
    ),
    "names of people in brackets": Table(
        "Case,Coder 1 (Anna),Coder 2 (Ben)\n1,A,A\n2,B,A\n3,C,C\n",
        "1 2 3",
        {"Coder 1 (Anna)": "ABC", "Coder 2 (Ben)": "AAC"},
    ),
    "numbers of items and raters": Table(
        "ITEM_NO,RATER_NO,RATING\n1,1,A\n1,2,A\n2,1,B\n2,2,A\n3,1,B\n3,2,B\n",
        "1 2 3",
        {"1": "ABB", "2": "AAB"},
    ),
    "words of medicine": Table(
        "case_number,anesthesiologist,asa_class\n1,x,I\n1,y,V\n2,x,I\n2,y,I\n3,x,V\n3,y,V\n",
        "1 2 3",
        {"x": "IIV", "y": "VIV"},
    ),
    "codes of diagnoses have no order": Table(
        "visit,coder,icd10\n1,A,J18\n1,B,I10\n2,A,I10\n2,B,I10\n3,A,E11.9\n3,B,E11.9\n",
        "1 2 3",
        {"A": "J18 I10 E11.9", "B": "I10 I10 E11.9"},
    ),
    "stars are missing values, and raters stand in rows": Table(
        "coder,u1,u2,u3\nA,*,3,1\nB,1,3,2\nC,2,3,*\n",
        "u1 u2 u3",
        {"A": ".31", "B": "132", "C": "23."},
        left_out={"missing": 2},
    ),
    "the consensus is no rater": Table(
        "Study ID,Title,Reviewer Name,Bias\n1,A,Anna,Low\n1,A,Ben,High\n1,A,Consensus,High\n"
        "2,B,Anna,Low\n2,B,Ben,Low\n2,B,Consensus,Low\n",
        "1 2",
        {"Anna": "Low Low", "Ben": "High Low"},
        left_out={"merged": 2},
    ),
    "what all raters say alike describes the item": Table(
        "item_id,rater_id,rater_race,response,Q_overall,Q_harm\n"
        "1,r1,x,Hello,No,No\n1,r2,z,Hello,Yes,No\n2,r1,x,Bye,No,Yes\n2,r2,z,Bye,No,Yes\n",
        "1 2",
        {"r1": "No No", "r2": "Yes No"},
        "Q_overall",
    ),
    "a category that is asked about, accepted or rejected": Table(
        "id,text,label,answer,_annotator_id\n1,One,INSULT,accept,a\n1,One,INSULT,reject,b\n"
        "2,Two,INSULT,reject,a\n2,Two,INSULT,reject,b\n",
        "1 2",
        {"a": "accept reject", "b": "reject reject"},
    ),
    "trials of an experiment": Table(
        "Participant Private ID,Trial Number,Spreadsheet: stimulus,Response,Reaction Time\n"
        "101,1,a.png,happy,812.4\n101,2,b.png,sad,911.1\n102,1,b.png,sad,655.0\n"
        "102,2,a.png,happy,701.2\n103,1,a.png,sad,455.9\n103,2,b.png,sad,766.3\n",
        "a.png b.png",
        {"101": "happy sad", "102": "happy sad", "103": "sad sad"},
    ),
    "lists of labels of natural language inference": Table(
        "gold_label,sentence1,sentence2,captionID,pairID,label1,label2\n"
        "n,A man sleeps in a bed.,A man dreams in a bed.,1,1n,n,n\n"
        "e,A boy eats at a table.,A person eats at a table.,3,3e,e,n\n",
        "1 3",
        {"label1": "ne", "label2": "nn"},
    ),
    "a time is a duration": Table(
        "item,rater,label,time\n1,a,x,12.3\n1,b,x,10.1\n2,a,y,9.7\n2,b,x,8.8\n",
        "1 2",
        {"a": "xy", "b": "xx"},
    ),
    "SurveyMonkey, names in two lines": Table(
        "Respondent ID,Collector ID,IP Address,Custom Data 1,How clear is the text?,,\n"
        ",,,,Text A,Text B,Text C\n118,401,1.1.1.1,,c,u,c\n119,401,1.1.1.2,,c,c,c\n",
        "Text A|Text B|Text C",
        {"118": "cuc", "119": "ccc"},
    ),
    "columns of raters named in German": Table(
        "Probe;Prüfer 1;Prüfer 2\nP1;1,5;2,0\nP2;2,5;2,5\nP3;1,5;1,5\n",
        "P1 P2 P3",
        {"Prüfer 1": "1.5 2.5 1.5", "Prüfer 2": "2 2.5 1.5"},
    ),
    "a question with the raters in brackets": Table(
        "Post,Is spam (Ann),Is spam (Ben)\n1,y,n\n2,n,n\n3,y,y\n",
        "1 2 3",
        {"Ann": "yny", "Ben": "nny"},
    ),
    "texts beside columns of numbers": Table(
        "Word A,Word B,JS,KM\ntiger,cat,7,8\nbook,paper,5,5\ncar,plane,8,7\nsun,moon,5,8\n",
        "tiger book car sun",
        {"JS": "7585", "KM": "8578"},
    ),
    "e-mail addresses as raters": Table(
        "id,ann@x.org,ben@x.org\n1,a,b\n2,b,b\n3,a,a\n",
        "1 2 3",
        {"ann@x.org": "aba", "ben@x.org": "bba"},
    ),
    "LimeSurvey with two grids": Table(
        '"Response ID","Date submitted","Last page","Start language","Seed",'
        '"Clear? [Text A]","Clear? [Text B]","Useful? [Text A]","Useful? [Text B]"\n'
        '"1","2026-03-01 10:00:00","2","en","9","a","b","b","b"\n'
        '"2","2026-03-01 11:00:00","2","en","8","a","a","b","a"\n',
        "Text A|Text B",
        {"1": "ab", "2": "aa"},
        "Clear",
    ),
    "a form without names of respondents": Table(
        "Zeitstempel,Text 1,Text 2\n25.03.2026 10:00:00,gut,schlecht\n25.03.2026 11:00:00,gut,gut\n",
        "Text 1|Text 2",
        {"respondent 1": "gut schlecht", "respondent 2": "gut gut"},
    ),
}  # fmt: skip


def split_labels(text: str, n_items: int) -> list[str]:
    labels = text.split() if " " in text else list(text)
    assert len(labels) == n_items
    return labels


@pytest.mark.parametrize("name", READABLE)
def test_every_rating_is_read(name: str, tmp_path: Path, lead: Any) -> None:
    table = READABLE[name]
    path = tmp_path / "table.csv"
    path.write_text(table.text)
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    assert (status, report["problems"]) == (0, [])
    items = table.items.split("|" if "|" in table.items else None)
    assert list_ratings(table.question) == {
        (item, rater, label)
        for rater, text in table.labels.items()
        for item, label in zip(items, split_labels(text, len(items)), strict=True)
        if label != "."
    }
    assert report["left_out"] == table.left_out


REFUSED = {
    "counts beside their total": (
        "count,hate,offensive,neither,class,tweet\n"
        + "".join(f"3,{n % 3},{3 - n % 3},0,{n % 3},Tweet {n}\n" for n in range(6)),
        "counts of labels in columns",
        "--layout counts",
    ),
    "the best and worst of several items": (
        "Item1,Item2,BestItem,WorstItem\nsun,tax,sun,tax\nwar,sun,sun,war\ntax,war,war,tax\n",
        "may be questions, not raters: Item2",
        "--layout wide",
    ),
    "models that are compared": (
        "id,model_a,model_b,winner\n1,x,y,model_a\n2,y,x,tie\n3,x,y,model_a\n",
        "rater columns: model_a, model_b, winner",
        "--map rater=model_a",
    ),
    "crosses in the columns of raters": (
        "text,ann1_pos,ann1_neg,ann2_pos,ann2_neg\nGood day,x,,x,\nBad day,,x,x,\nA day,,x,,x\n",
        "All filled cells of",
        "--layout wide",
    ),
    "models beside people": (
        "id,human_1,human_2,gpt-4o\n1,good,bad,good\n2,bad,bad,bad\n3,good,good,bad\n",
        "gpt-4o are raters: their labels fit",
        "--map rater=human_1 rater=human_2 rater=gpt-4o, or --map ignore=gpt-4o",
    ),
    "the only column that is left has one number": (
        "item,rater,reward\n1,a,5\n1,b,5\n2,a,5\n2,b,5\n",
        "Choose the label columns: reward",
        "--map label=reward",
    ),
    "errors of spreadsheets": (
        "id,rater1,rater2\n1,1,2\n2,#REF!,2\n3,2,1\n4,1,1\n",
        "'#REF!'",
        "--missing='#REF!'",
    ),
    "columns of photos": (
        "Photo 1,Photo 2,Photo 3\nreal,fake,real\nfake,fake,real\nreal,real,real\nfake,real,fake\n",
        "may be questions, not raters: Photo 1",
        "--layout wide",
    ),
    "options to skip": (
        "id,rater1,rater2\n1,yes,no\n2,[skipped],yes\n3,no,no\n",
        "'[skipped]'",
        "--missing='[skipped]'",
    ),
    "counts of most of the raters": (
        "Unit,a,b,c\n1,4,0,0\n2,0,3,1\n3,0,4,0\n4,1,0,3\n5,0,3,0\n6,2,2,0\n",
        "counts of labels in columns",
        "--layout counts",
    ),
    "two raters crossed": (
        "Ratings,Ectopic,AIU,NIU\nEctopic,13,0,0\nAIU,0,20,7\nNIU,0,4,56\n",
        "“cross table of two raters” fits",
        "--layout crossed, or --layout wide",
    ),
    "two raters crossed, with totals": (
        "rater2,no,yes,All\nno,20,5,25\nyes,10,15,25\nAll,30,20,50\n",
        "“cross table of two raters” fits",
        "--layout wide",
    ),
    "numbers of rows": (
        "rater1,rater2,Freq\nno,no,20\nyes,no,5\nno,yes,10\nyes,yes,15\n",
        "numbers of items” fits Freq",
        "--layout combinations, or --layout wide",
    ),
    "no names, long": (
        "a\t1\tstat\na\t2\tireq\nb\t1\tstat\nb\t2\tstat\nc\t1\tireq\nc\t2\tireq\n",
        "Add a header row",
        "header row, such as item,rater,label",
    ),
    "no names, wide": (
        "1,2,3\n2,2,2\n3,3,3\n1,1,2\n2,3,3\n",
        "Add a header row",
        "--layout wide",
    ),
    "results": (
        "Code,File,Kappa,Agreement (%)\nTrust,I1,0.8,95\nFear,I1,0.5,90\nHope,I1,0.7,92\n",
        "look like results: Kappa",
        "--layout wide",
    ),
    "a column without common values": (
        "Item,Anna,Ben,Topic\n1,a,a,x\n2,b,a,y\n3,a,b,z\n",
        "rater columns: Anna, Ben, Topic",
        "--map rater=Anna rater=Ben rater=Topic",
    ),
    "two columns that are named like labels": (
        "item,rater,category,severity\n1,a,F,minor\n1,b,none,none\n2,a,A,major\n2,b,A,minor\n",
        "Choose the label columns: category, severity",
        "--map label=category label=severity",
    ),
    "yes and y": (
        "id,rater_1,rater_2\n1,Yes,Y\n2,No,N\n3,Yes,Y\n4,No,Y\n",
        "Perhaps the same labels",
        "--similar=join",
    ),
    "true and 1": (
        "id,rater_1,rater_2\n1,TRUE,1\n2,FALSE,0\n3,TRUE,1\n4,FALSE,1\n",
        "Perhaps the same labels",
        "--similar=join",
    ),
    "phrases for no answer": (
        "Fall;R1;R2\n1;ja;ja\n2;k.A.;nein\n3;nein;nein\n4;keine Angabe;ja\n",
        "'k.A.', 'keine Angabe'",
        "--missing=",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_doubtful_table_is_refused_with_the_next_step(name: str, tmp_path: Path, lead: Any) -> None:
    text, reason, advice = REFUSED[name]
    path = tmp_path / "table.csv"
    path.write_text(text)
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    assert status == 1 and not Rating.objects.exists()
    (problem,) = report["problems"]
    assert reason in problem["message"] and advice in problem["message"]


@pytest.mark.parametrize("name", ["no names, wide", "numbers of rows", "two raters crossed"])
def test_layout_decides_what_a_table_is(name: str, tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text(REFUSED[name][0])
    status, report = import_with_scale(path, name="N", owner=lead.username, layout="wide")
    assert status == 0 and report["ratings"] > 0


@pytest.mark.parametrize(
    "text",
    [
        # Raters who agree that most items are severe: no counts.
        "item,ann,ben,cleo\n1,2,2,2\n2,2,2,2\n3,2,2,1\n4,2,2,2\n5,1,2,2\n6,2,2,2\n",
        # A column `count` beside an item is no frequency.
        "item,rater_1,rater_2,count\n1,a,a,7\n2,b,b,9\n3,a,b,7\n",
        # Measurements have few common values.
        "patient,A,B\n1,12.5,13.1\n2,8.0,8.2\n3,15.2,15.0\n4,9.9,10.1\n",
    ],
)
def test_similar_tables_are_ratings(text: str, tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    status, report = import_with_scale(path, name="N", owner=lead.username)
    assert (status, report["problems"]) == (0, [])


OBJECTS = {
    "columns as objects of row numbers": {
        "rater1": {"0": "a", "1": "b"},
        "rater2": {"0": "a", "1": "a"},
    },
    "columns as lists": {"item": [1, 2], "rater1": ["a", "b"], "rater2": ["a", "a"]},
    "records by their keys": {
        "1": {"rater1": "a", "rater2": "a"},
        "2": {"rater1": "b", "rater2": "a"},
    },
    "names and rows apart": {
        "columns": ["item", "rater", "label"],
        "index": [0, 1, 2, 3],
        "data": [[1, "rater1", "a"], [1, "rater2", "a"], [2, "rater1", "b"], [2, "rater2", "a"]],
    },
    "records in a field": {
        "version": 3,
        "data": [
            {"item": 1, "rater1": "a", "rater2": "a"},
            {"item": 2, "rater1": "b", "rater2": "a"},
        ],
    },
}


@pytest.mark.parametrize("name", OBJECTS)
def test_table_that_is_one_object(name: str, tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.json"
    path.write_text(json.dumps(OBJECTS[name]))
    status, report = import_case(lead, path)
    assert status == 0, report["problems"]
    assert list_ratings() == {
        ("1", "rater1", "a"),
        ("1", "rater2", "a"),
        ("2", "rater1", "b"),
        ("2", "rater2", "a"),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("45986.585", "2025-11-25T14:02:24+00:00"),
        ('"Nov 25, 2025, 2:03 PM"', "2025-11-25T14:03:00+00:00"),
        ("25 Nov 2025 14:03", "2025-11-25T14:03:00+00:00"),
        ("25-Nov-2025 2:03 PM", "2025-11-25T14:03:00+00:00"),
        ("2025-11-25 15:03 CET", "2025-11-25T14:03:00+00:00"),
        ("25. novembre 2025 14:03", "2025-11-25T14:03:00+00:00"),
        ("25.11.2025 14:03", "2025-11-25T14:03:00+00:00"),
        ("2025-11-25 14:03:00 UTC", "2025-11-25T14:03:00+00:00"),
        ("1764079380000", "2025-11-25T14:03:00+00:00"),
    ],
)
def test_times_as_programs_write_them(text: str, expected: str, tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"item,rater,label,timestamp\n1,a,x,{text}\n1,b,y,{text}\n")
    status, report = import_case(lead, path)
    assert status == 0, report["problems"]
    assert Rating.objects.earliest("pk").rated_at.isoformat() == expected


def test_file_without_raters_says_whose_ratings_they_are(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "anna.csv"
    path.write_text("text,label\nGood day to you all,pos\nBad day to you all,neg\n")
    _status, report = import_case(lead, path)
    assert report["understood"][str(path)]["default_rater"] == "anna"
    with pytest.raises(CommandError, match="The file names no raters"):
        call_command("agreement", str(path))


def test_labels_beside_numbers_are_noted(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "marks.csv"
    path.write_text("case,rater1,rater2\n1,2,2*\n2,3,3\n3,1,1 (unsure)\n4,2,2\n5,4,3\n6,1,1\n")
    _status, report = import_case(lead, path)
    assert any("aren't numbers: '1 (unsure)', '2*'" in note for note in report["notes"])


def test_raters_that_differ_in_capitals_are_noted(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "raters.csv"
    path.write_text("item,rater,label\n1,Anna,x\n1,Ben,x\n2,anna,y\n2,Ben,x\n")
    _status, report = import_case(lead, path)
    assert any("Anna / anna" in note for note in report["notes"])
    assert report["raters"] == 3


def test_wizard_numbers_respondents_without_names(
    tmp_path: Path, lead: Any, client_for: Any
) -> None:
    wizard = WizardClient(client_for(lead))
    wizard.upload(READABLE["a form without names of respondents"].text.encode(), "form.csv")
    wizard.choose_columns()
    run = wizard.run_worker()
    assert run.state == "checked", run.problems
    assert (run.summary["items"], run.summary["raters"]) == (2, 2)
