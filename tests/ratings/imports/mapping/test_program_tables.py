"""Tables as programs, platforms and people write them: every rating is read, or a question asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from projects.models import Item
from ratings.models import Rating
from tests.ratings.imports.readers.test_platform_files import list_ratings
from tests.ratings.imports.test_command import import_with_scale

from .test_table_styles import Table, split_labels

pytestmark = pytest.mark.django_db

READABLE = {
    "R separates quoted cells by spaces": Table(
        '"subject" "rater" "score"\n"1" "s1" "r1" "low"\n"2" "s1" "r2" "low"\n'
        '"3" "s2" "r1" "high"\n"4" "s2" "r2" "low"\n',
        "s1 s2",
        {"r1": "low high", "r2": "low low"},
    ),
    "columns are aligned by spaces": Table(
        "item   rater1   rater2\n1      y        y\n2      n        y\n10     n        n\n",
        "1 2 10",
        {"rater1": "ynn", "rater2": "yyn"},
    ),
    "pandas writes names in two lines as pairs": Table(
        "item,\"('label', 'ann')\",\"('label', 'ben')\"\n1,y,n\n2,n,n\n3,y,y\n",
        "1 2 3",
        {"ann": "yny", "ben": "nny"},
    ),
    "a legend below a blank line": Table(
        "Unit,Coder A,Coder B\n1,0,0\n2,1,2\n3,2,2\n4,1,1\n\nCode,Meaning\n0,absent\n1,present\n",
        "1 2 3 4",
        {"Coder A": "0121", "Coder B": "0221"},
        left_out={"note_row": 3},
    ),
    "a legend below totals": Table(
        "Unit,R1,R2\n1,a,b\n2,a,a\n3,b,b\n4,a,a\nKappa,0.5,\n\na = absent,,\nb = present,,\n",
        "1 2 3 4",
        {"R1": "aaba", "R2": "baba"},
        left_out={"note_row": 2, "total_row": 1},
    ),
    "a remark directly below totals": Table(
        "Case,Dr. Smith,Dr. Jones\n1,y,y\n2,n,y\n3,y,y\n,,\nTotal,2,3\nSmith was blinded,,\n",
        "1 2 3",
        {"Smith": "yny", "Jones": "yyy"},
        left_out={"note_row": 1, "total_row": 1},
    ),
    "SurveyMonkey writes Response below its questions": Table(
        "Respondent ID,Collector ID,Start Date,A_clear?,B_clear?\n,,,Response,Response\n"
        "1,7,01/02/2026,y,n\n2,7,01/02/2026,y,y\n3,7,01/02/2026,n,y\n",
        "A_clear? B_clear?",
        {"1": "yn", "2": "yy", "3": "ny"},
        left_out={"header_row": 1},
    ),
    "a form with a question about each text": Table(
        "Timestamp,Email Address,A_clear?,B_clear?,Any comments?\n"
        "2026/05/01 3:00:11 PM GMT+2,a@x.org,y,n,none\n"
        "2026/05/01 3:10:11 PM GMT+2,b@x.org,n,n,\n",
        "A_clear? B_clear?",
        {"a@x.org": "yn", "b@x.org": "nn"},
    ),
    "moderators decide about posts": Table(
        "post_id|moderator|decision\n1|m1|keep\n1|m2|keep\n2|m1|drop\n2|m2|keep\n",
        "1 2",
        {"m1": "keep drop", "m2": "keep keep"},
    ),
    "two coders and 0 or 1 for each of several codes": Table(
        "Excerpt,Theme A - Coder 1,Theme A - Coder 2,Theme B - Coder 1,Theme B - Coder 2\n"
        + "".join(f"E{n},{n % 2},{(n + 1) % 2},0,1\n" for n in range(10)),
        " ".join(f"E{n}" for n in range(10)),
        {"Coder 1": "0101010101", "Coder 2": "1010101010"},
        "Theme_A",
    ),
    "raters agree that no item has a criterion": Table(
        "id,rater,anger,joy\n"
        + "".join(f"{n},{rater},0,{n % 2 ^ (rater == 'b')}\n" for n in range(8) for rater in "ab"),
        "0 1 2 3 4 5 6 7",
        {"a": "00000000", "b": "00000000"},
        "anger",
    ),
    "a last row below a blank line is data": Table(
        "Unit,Coder A,Coder B\n1,a,b\n2,b,b\n3,a,a\n,,\n4,a,\n", "1 2 3 4",
        {"Coder A": "abaa", "Coder B": "bba."},
    ),
    "units below the names": Table(
        "item,rater,label\n(id),(name),(a-c)\n1,r,a\n1,s,b\n2,r,b\n2,s,b\n",
        "1 2",
        {"r": "ab", "s": "bb"},
        left_out={"header_row": 1},
    ),
    "criteria in a column": Table(
        "item,rater,criterion,value\n"
        + "".join(f"{n},{r},{c},{'yn'[n % 2]}\n" for n in range(4) for r in "ab" for c in ("tone", "style")),
        "0 1 2 3",
        {"a": "ynyn", "b": "ynyn"},
        "tone",
    ),
    "raters are objects in a record": Table(
        json.dumps([
            {"id": n, "text": f"Text {n}", "annotations": {r: {"label": "AB"[n % 2]} for r in ("u1", "u2")}}
            for n in range(6)
        ]),
        "0 1 2 3 4 5",
        {"u1": "ABABAB", "u2": "ABABAB"},
    ),
    "files with byte order marks were joined": Table(
        "\ufeffitem,rater,label\n1,ann,y\n2,ann,n\n\ufeffitem,rater,label\n1,ben,y\n2,ben,y\n",
        "1 2",
        {"ann": "yn", "ben": "yy"},
        left_out={"repeated_header": 1},
    ),
    "decimal points and decimal commas": Table(
        'item,rater,score\n1,a,"1,5"\n1,b,1.5\n2,a,"2,0"\n2,b,2\n3,a,3\n3,b,"3,0"\n',
        "1 2 3",
        {"a": "1.5 2 3", "b": "1.5 2 3"},
    ),
    "files with their header rows were joined": Table(
        "item,rater,label\n1,ann,y\n2,ann,n\nitem,rater,label\n1,ben,y\n2,ben,y\n",
        "1 2",
        {"ann": "yn", "ben": "yy"},
        left_out={"repeated_header": 1},
    ),
    "the difficulty of an item is no rating": Table(
        "item,Anna,Ben,Difficulty\n1,3,3,1\n2,1,2,3\n3,2,2,2\n4,3,1,1\n5,1,1,3\n6,2,2,3\n",
        "1 2 3 4 5 6",
        {"Anna": "312312", "Ben": "322112"},
    ),
    "the difficulty is what is rated": Table(
        "item,rater,difficulty\n1,ann,3\n1,ben,3\n2,ann,1\n2,ben,2\n",
        "1 2",
        {"ann": "31", "ben": "32"},
        "difficulty",
    ),
    "reviewers of a screening": Table(
        "Covidence #,Title,Reviewer A vote,Reviewer B vote\n#1,One,yes,no\n#2,Two,no,no\n#3,Three,yes,yes\n",
        "#1 #2 #3",
        {"Reviewer A": "yes no yes", "Reviewer B": "no no yes"},
    ),
    "reviewers in brackets": Table(
        "id,Screening (Anna),Screening (Ben)\n1,in,in\n2,out,in\n3,out,out\n4,in,in\n",
        "1 2 3 4",
        {"Anna": "in out out in", "Ben": "in in out in"},
    ),
    "two IDs of a study and the seconds": Table(
        "StudyUID,Accession,Reader,BIRADS,Reading_Time_s\n1.2,A1,R1,2,20\n1.2,A1,R2,2,35\n"
        "1.3,A2,R1,4A,48\n1.3,A2,R2,3,51\n",
        "1.2 1.3",
        {"R1": "2 4A", "R2": "2 3"},
    ),
    "the number of a post is no text": Table(
        "post,annotator_1,annotator_2\n11,yes,no\n12,no,no\n13,yes,yes\n",
        "11 12 13",
        {"annotator_1": "yes no yes", "annotator_2": "no no yes"},
    ),
    "targets by number": Table(
        "Target,Judge1,Judge2\n1,9,2\n2,6,1\n3,8,4\n", "1 2 3", {"Judge1": "968", "Judge2": "214"}
    ),
    "responses are content, and models are raters": Table(
        "prompt_id,prompt,response,gpt-4o,claude-3,human\n"
        + "".join(
            f"p{n},Write about {n},A poem of {n},{a},{b},{c}\n"
            for n, a, b, c in ((1, 5, 4, 5), (2, 3, 3, 4), (3, 4, 4, 3), (4, 5, 5, 5), (5, 3, 3, 3), (6, 4, 5, 4))
        ),
        "p1 p2 p3 p4 p5 p6",
        {"gpt-4o": "534534", "claude-3": "434535", "human": "543534"},
    ),
    "trials of an experiment in the order of each person": Table(
        "participant,trials.thisN,stimFile,key_resp.keys,key_resp.rt\np1,0,b.png,left,0.512\n"
        "p1,1,a.png,right,0.431\np2,0,a.png,right,0.61\np2,1,b.png,right,0.333\n",
        "a.png b.png",
        {"p1": "right left", "p2": "right right"},
    ),
    "codes of interviews, of which one is Trust": Table(
        "Quotation ID,Coder,Trust,Fear\nq1,AB,1,0\nq1,CD,1,1\nq2,AB,0,1\nq2,CD,1,1\n",
        "q1 q2",
        {"AB": "10", "CD": "11"},
        "Trust",
    ),
    "the first and the second reviewer": Table(
        "PMID,first_reviewer,second_reviewer,third_reviewer_if_conflict\n1,in,in,\n2,out,in,in\n3,out,out,\n",
        "1 2 3",
        {"first_reviewer": "in out out", "second_reviewer": "in in out"},
    ),
    "numbers in words": Table(
        "post,rater one,rater two\np1,y,n\np2,n,n\np3,y,y\n", "p1 p2 p3", {"rater one": "yny", "rater two": "nny"}
    ),
    "German words": Table(
        "Beitrag-ID;Kodiererin;Tonalität;Bemerkung\nB1;Ute;gut;\nB1;Jörg;gut;\nB2;Ute;schlecht;\nB2;Jörg;gut;\n",
        "B1 B2",
        {"Ute": "gut schlecht", "Jörg": "gut gut"},
    ),
    "Typeform": Table(
        "#,Rate image 1,Rate image 2,Response Type,Network ID,Tags\nh1,4,2,completed,x,\nh2,4,3,completed,y,\nh3,5,2,completed,x,\n",
        "Rate_image_1|Rate_image_2".replace("_", " "),
        {"respondent 1": "42", "respondent 2": "43", "respondent 3": "52"},
    ),
    "scores of judges before their names": Table(
        "id,question,answer,gpt4_score,claude_score,human_score\n"
        + "".join(
            f"q{n},Is it {n}?,Yes it is {n} because of that,{n % 3},{n % 2},{n % 4}\n" for n in range(8)
        ),
        "q0 q1 q2 q3 q4 q5 q6 q7",
        {"gpt4": "01201201", "claude": "01010101", "human": "01230123"},
    ),
    "numbers of lesions that each reader counted": Table(
        "Subject ID,Reader1 Lesion Count,Reader2 Lesion Count\nA,2,3\nB,0,0\nC,1,0\nD,4,4\n",
        "A B C D",
        {"Reader1": "2014", "Reader2": "3004"},
    ),
    "pandas melts two raters": Table(
        "index,variable,value\n0,rater1,1\n1,rater1,2\n2,rater1,2\n0,rater2,1\n1,rater2,1\n2,rater2,2\n",
        "0 1 2",
        {"rater1": "122", "rater2": "112"},
        question="value",
    ),
    "German months and time zones": Table(
        "Fall;Lehrkraft;Urteil;Datum\n1;A;gut;2. Mär. 2025 10:00 MEZ\n1;B;gut;3-Okt-25\n"
        "2;A;schlecht;4. Dezember 2025\n2;B;gut;5. Mai 2025 9:30 MESZ\n",
        "1 2",
        {"A": "gut schlecht", "B": "gut gut"},
        question="urteil",
    ),
    "Python sets of labels": Table(
        "id,annotator,labels\n1,x,\"{'a', 'b'}\"\n1,y,\"{'b', 'a'}\"\n2,x,{'a'}\n2,y,{'c'}\n",
        "1 2",
        {"x": "a|b a", "y": "a|b c"},
        question="labels",
    ),
    "a list of records beside other objects": Table(
        json.dumps({
            "eval": {"task": "t"},
            "samples": [
                {"id": f"s{n}", "scores": {"judge_a": {"value": "CI"[n % 2]}, "judge_b": {"value": "C"}}}
                for n in range(4)
            ],
        }),
        "s0 s1 s2 s3",
        {"judge_a": "CICI", "judge_b": "CCCC"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READABLE)
def test_every_rating_is_read(name: str, tmp_path: Path, lead: Any) -> None:
    table = READABLE[name]
    path = tmp_path / "table.txt"
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


MATRIX = [[0, 1, 0, 2], [1, 0, 0, 1], [2, 0, 2, 0], [0, 0, 1, 1], [2, 2, 0, 0]] * 2
REFUSED = {
    "columns of unknown names whose cells look like raters and labels": (
        "Aussage;Person;Antwort\n1;P1;ja\n1;P2;nein\n2;P1;ja\n2;P2;ja\n",
        "These columns may be ratings: Person, Antwort",
        "--map rater=Person label=Antwort",
    ),
    "counts named as such": (
        "id,toxic_count,not_toxic_count\n1,3,2\n2,0,5\n3,5,0\n4,2,3\n",
        "counts of labels in columns",
        "--layout counts",
    ),
    "spans of brat": (
        "T1\tPerson 0 5\tAlice\nT2\tPlace 10 16\tBerlin\n",
        "brat file has no ratings of whole items",
        "whole items",
    ),
    "boxes of COCO": (
        '{"images": [{"id": 1}], "annotations": [{"id": 1, "category_id": 2, "bbox": [1, 2, 3, 4]}],'
        '"categories": [{"id": 2, "name": "cat"}]}',
        "COCO file has no ratings of whole items",
        "whole items",
    ),
    "(blank) and phrases of several words": (
        "item,r1,r2\n1,yes,(blank)\n2,no,no\n3,not rated,yes\n4,yes,yes\n",
        "'(blank)', 'not rated'",
        "--missing='(blank),not rated'",
    ),
    "no opinion beside a scale": (
        "item,rater,answer\n1,a,1 - Disagree\n1,b,3 - Agree\n2,a,2 - Neutral\n2,b,Don’t know\n",
        "'Don’t know'",
        "--not-missing='Don’t know'",
    ),
    "the answers of a model are content beside its prompt": (
        "user_input,response,faithfulness,relevancy\nQ1,R1,0.9,0.8\nQ2,R2,0.7,0.6\nQ3,R3,0.8,0.5\n",
        "faithfulness, relevancy",
        "--rater NAME",
    ),
    "rows with the same text": (
        "text,ann1,ann2\nhello,pos,neg\nhello,pos,pos\nbye,neg,neg\nnice,pos,pos\n",
        "an earlier one: lines 2 and 3.",
        "--duplicates",
    ),
    "zeros stand where workers did not answer": (
        "task,w1,w2,w3,w4\n"
        + "".join(f"{n},{','.join(map(str, row))}\n" for n, row in enumerate(MATRIX)),
        "Missing values or labels: '0'?",
        "--missing=0",
    ),
    "a rare -1 beside 0 and 1": (
        "unit,R1,R2\n" + "".join(f"{n},{n % 2},{n % 3 and 1}\n" for n in range(12)) + "12,-1,0\n",
        "Missing values or labels: '-1'?",
        "--not-missing=-1",
    ),
    "names of other raters in each row": (
        "video,coder1_name,coder1,coder2_name,coder2\n1,X,y,Y,n\n2,Z,n,X,n\n3,X,y,Z,y\n",
        "Labels seem to follow raters' names",
        "--map rater=COLUMN rater=COLUMN",
    ),
    "several raters in a cell": (
        "item,raters,labels\n1,ann|ben,yes|no\n2,ann|ben,no|no\n3,ann|ben,yes|yes\n",
        "Cells of raters name several raters",
        "--rater NAME",
    ),
    "objects instead of labels": (
        "DataRow ID,Data,Label,Created By\n"
        + "".join(f"d{n},https://x.org/{n}.jpg,\"{{\"\"a\"\": 1}}\",{who}\n" for n in range(3) for who in "xy"),
        "Cells of Label contain several values",
        "--map label=COLUMN",
    ),
    "numbered questions": (
        "ID,Q1a,Q1b,Q2a\n1,1,2,3\n2,2,2,1\n3,3,1,1\n4,1,1,2\n",
        "may be questions, not raters: Q1a, Q1b, Q2a",
        "--layout wide",
    ),
    "an ID of prompts and no rater": (
        "prompt_id,model,run,verdict\np1,x,1,pass\np1,y,1,fail\np2,x,1,pass\np2,y,1,pass\n",
        "Items have several rows",
        "--map rater=model, --map question=model --rater NAME",
    ),
    "marks in a column for each label": (
        "item,rater,Positive,Negative\n1,a,x,\n1,b,x,\n2,a,,x\n2,b,x,\n",
        "All filled cells of Positive, Negative are the same",
        "--map label=Positive label=Negative",
    ),
    "agreements of codes": (
        "Code,Agreements,Disagreements,Percent\nA,8,2,80\nB,5,5,50\nC,9,1,90\n",
        "look like results: Agreements, Disagreements",
        "--layout wide",
    ),
    "rows without their last cells": (
        "id,rater1,rater2,rater3\n1,a,b,a\n2,a,b\n3,b,b,b\n",
        "Line 3: The header row has 4 cells, this row 3",
        "Add the missing cells",
    ),
    "a second rater behind the sample": (
        "id,text,Anna,Ben\n" + "".join(f"{n},Text {n},{'ab'[n % 2]},\n" for n in range(520)),
        "These columns may be ratings: Anna, Ben",
        "--map rater=Anna rater=Ben",
    ),
    "lists of numbers": (
        json.dumps([
            {"prompt": f"Prompt {n}", "response": f"Answer {n}", "help": [n % 5, 1, 2], "safe": [3, n % 4, 1]}
            for n in range(8)
        ]),
        "These columns may be ratings: help, safe",
        "--layout items",
    ),
    "numbers of votes in an object": (
        json.dumps([{"id": n, "text": f"Text {n}", "votes": {"yes": n, "no": 4 - n}} for n in range(5)]),
        "counts of labels in columns",
        "--layout counts",
    ),
    "a rater without a label of the others": (
        json.dumps([
            {"prompt": f"Prompt {n}", "votes": {"ann": "ab"[n % 2], "bob": "a", "gpt-4": "tie"}}
            for n in range(5)
        ]),
        "votes.ann, votes.bob, votes.gpt-4",
        "--map rater=votes.ann rater=votes.bob rater=votes.gpt-4",
    ),
    "numbers of votes for each label": (
        "doc_id,category,n_votes\nd1,spam,3\nd1,ham,0\nd2,spam,1\nd2,ham,2\n",
        "n_votes may count the raters per label",
        "--map count=n_votes, or --map count= rater=COLUMN",
    ),
    "several labels in every cell of doccano": (
        "".join(
            json.dumps({"id": n, "text": f"Text {n}", "label": ["a", "b"], "Comments": []}) + "\n"
            for n in range(3)
        ),
        "none of these can be a rating: several labels at once",
        "--layout items",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_doubtful_table_is_refused_with_the_next_step(name: str, tmp_path: Path, lead: Any) -> None:
    text, reason, advice = REFUSED[name]
    path = tmp_path / "table.txt"
    path.write_text(text)
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    assert status == 1 and not Rating.objects.exists()
    (problem,) = report["problems"]
    assert reason in problem["message"] and advice in problem["message"]


def test_items_alone_are_imported_on_request(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(REFUSED["several labels in every cell of doccano"][0])
    status, report = import_with_scale(path, name="N", owner=lead.username, layout="items")
    assert (status, report["items"], report["left_out"]) == (0, 3, {"several_labels": 3})


@pytest.mark.parametrize(
    "text",
    [
        # Zeros that all raters give to some items are answers.
        "item,a1,a2,a3,a4\n"
        + "".join(f"{n},{n % 3},{n % 3},{n % 3},{(n % 3) and 1}\n" for n in range(12)),
        # A scale of sentiment.
        "item,a1,a2\n" + "".join(f"{n},{n % 3 - 1},{n % 2 - 1}\n" for n in range(12)),
    ],
)
def test_zeros_and_minus_ones_may_be_answers(text: str, tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    status, report = import_with_scale(path, name="N", owner=lead.username)
    assert (status, report["items"]) == (0, 12)


def test_ids_with_and_without_zeros_are_noted(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text("item,rater,label\n001,1,y\n002,1,n\n1,1.0,y\n2,2,n\n")
    status, report = import_with_scale(path, name="N", owner=lead.username)
    assert status == 0 and any("001 / 1; 002 / 2" in note for note in report["notes"])
    assert any("are different raters: 1 / 1.0" in note for note in report["notes"])


def test_content_in_an_object(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.json"
    records = [
        {"id": n, "data": {"text": f"Text {n}"}, "votes": {"ann": a, "ben": b}}
        for n, a, b in ((1, "y", "n"), (2, "n", "n"), (3, "y", "y"))
    ]
    path.write_text(json.dumps(records))
    status, _report = import_with_scale(path, name="N", owner=lead.username)
    assert status == 0 and {rater for _, rater, _ in list_ratings()} == {"ann", "ben"}
    assert Item.objects.get(key="1").body == {"text": "Text 1"}


def write_workbook(path: Path, rows: list[list[Any]], *, hidden: Sequence[list[Any]] = ()) -> Path:
    workbook = openpyxl.Workbook()
    (sheet,) = workbook.worksheets
    if hidden:
        sheet.sheet_state = "hidden"
        for row in hidden:
            sheet.append(row)
        sheet = workbook.create_sheet("Current")
    for row in rows:
        sheet.append(row)
    workbook.save(path)
    return path


def test_hidden_sheets_come_last(tmp_path: Path, lead: Any) -> None:
    path = write_workbook(
        tmp_path / "book.xlsx",
        [["item", "Coder 1", "Coder 2"], [1, "a", "b"], [2, "b", "b"]],
        hidden=[["item", "rater", "label"], [1, "x", "a"], [2, "x", "b"]],
    )
    status, report = import_with_scale(path, name="N", owner=lead.username)
    assert (status, report["raters"], report["left_out"]) == (0, 2, {"other_sheets": 1})


def test_errors_in_cells_that_are_not_imported(tmp_path: Path, lead: Any) -> None:
    rows: list[list[Any]] = [["item", "Rater 1", "Rater 2", "Same?"]]
    rows += [[number, "a", "b", f"=B{number + 1}=C{number + 1}"] for number in range(1, 5)]
    rows += [["Kappa", "#DIV/0!", None, None]]
    path = write_workbook(tmp_path / "book.xlsx", rows[:-1])
    status, report = import_with_scale(path, name="N", owner=lead.username)
    assert (status, report["raters"], report["ratings"]) == (0, 2, 8)
    write_workbook(path, rows)
    status, report = import_with_scale(path, name="M", owner=lead.username)
    assert status == 1 and (report["problems"][0]["line"], report["problems"][0]["column"]) == (
        6,
        "Rater 1",
    )


def test_merged_cells_are_filled_and_others_are_not(tmp_path: Path, lead: Any) -> None:
    rows: list[list[Any]] = [["Item", "Rater", "Label"], ["d1", "a", "x"], [None, "b", "y"]]
    rows += [["d2", "a", "y"], [None, "b", "y"]]
    path = write_workbook(tmp_path / "book.xlsx", rows)
    status, report = import_with_scale(path, name="N", owner=lead.username)
    assert (status, report["problems"][0]["lines"]) == (1, [3, 5])
    workbook = openpyxl.load_workbook(path)
    for cells in ("A2:A3", "A4:A5"):
        workbook.active.merge_cells(cells)
    workbook.save(path)
    status, _report = import_with_scale(path, name="N", owner=lead.username)
    assert status == 0
    assert list_ratings() == {
        ("d1", "a", "x"),
        ("d1", "b", "y"),
        ("d2", "a", "y"),
        ("d2", "b", "y"),
    }


@pytest.mark.parametrize("names", [("Study", None), (None, "Study")])
def test_names_of_merged_cells_in_a_workbook(names: Any, tmp_path: Path, lead: Any) -> None:
    path = write_workbook(
        tmp_path / "book.xlsx",
        [
            [names[0], "Reviewer 1", None, "Reviewer 2", None],
            [names[1], "Bias", "Quality", "Bias", "Quality"],
            ["A", "low", "good", "low", "poor"],
            ["B", "high", "poor", "high", "poor"],
        ],
    )
    status, report = import_with_scale(path, name="N", owner=lead.username)
    assert (status, report["raters"], report["ratings"]) == (0, 2, 8)
    assert ("B", "Reviewer 2", "high") in list_ratings("Bias")


def test_short_texts_beside_an_item_column_are_content(lead: Any, tmp_path: Path) -> None:
    file = tmp_path / "texts.csv"
    rows = [(f"text-{n:02}", rater) for n in range(6) for rater in ("ann", "ben")]
    file.write_text(
        "item,text,rater,label\n"
        + "".join(f"{text},{text},{rater},{rater}\n" for text, rater in rows)
    )
    import_with_scale(file, name="Texts", owner=lead.username)
    assert Item.objects.get(key="text-03").body == {"text": "text-03"}
