"""Tables in many languages, of surveys, databases and graders, and options that must be followed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from tests.ratings.imports.readers.test_platform_files import list_ratings
from tests.ratings.imports.test_command import import_with_scale

from .test_collected_tables import assert_suggested_options_work, run_with_arguments
from .test_column_meanings import compute_agreement
from .test_table_styles import Table, split_labels

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("what a file says does not depend on the database"),
]

LISTS_OF_GRADERS = "".join(
    json.dumps({"id": f"q{n}", "results": [{"name": g, "passed": (n + i) % 2 == 0}
                                           for i, g in enumerate(("g1", "g2"))]}) + "\n"
    for n in range(3)
)  # fmt: skip

READABLE = {
    "first and second reader beside their agreement": Table(
        "accession,first_reader,second_reader,agreement\n"
        "100,pos,neg,no\n101,neg,neg,yes\n102,pos,pos,yes\n103,neg,pos,no\n",
        "100 101 102 103",
        {"first_reader": "pos neg pos neg", "second_reader": "neg neg pos pos"},
    ),
    "remarks beside people": Table(
        "ID,Anna,Ben,Notes\n1,yes,no,unclear scan\n2,no,no,\n3,yes,yes,second look\n4,no,yes,\n",
        "1 2 3 4",
        {"Anna": "yes no yes no", "Ben": "no no yes yes"},
    ),
    "Chinese remarks": Table(
        "编号,评审员甲,评审员乙,备注\n1,是,否,图像模糊\n2,否,否,\n3,是,是,\n",
        "1 2 3",
        {"评审员甲": "是否是", "评审员乙": "否否是"},
    ),
    "Japanese raters": Table(
        "項目,アノテーター,ラベル\na,田中,はい\na,鈴木,いいえ\nb,田中,いいえ\nb,鈴木,いいえ\n",
        "a b",
        {"田中": "はい いいえ", "鈴木": "いいえ いいえ"},
    ),
    "Russian raters": Table(
        "номер,эксперт 1,эксперт 2\n1,плохо,хорошо\n2,отлично,хорошо\n",
        "1 2",
        {"эксперт 1": "плохо отлично", "эксперт 2": "хорошо хорошо"},
    ),
    "Arabic raters": Table(
        "الرقم,مقيم 1,مقيم 2\n1,نعم,لا\n2,لا,لا\n3,نعم,نعم\n",
        "1 2 3",
        {"مقيم 1": "نعم لا نعم", "مقيم 2": "لا لا نعم"},
    ),
    "judgements of a German study": Table(
        "ID,Urteil_A,Urteil_B\n1,trifft zu,trifft eher zu\n2,trifft nicht zu,trifft nicht zu\n",
        "1|2",
        {
            "Urteil_A": "trifft zu|trifft nicht zu",
            "Urteil_B": "trifft eher zu|trifft nicht zu",
        },
    ),
    "numbers in two scripts": Table(
        "编号,标注员1,标注员2\n1,\uff11,1\n2,\uff12,2\n3,1,\uff11\n",
        "1 2 3",
        {"标注员1": "121", "标注员2": "121"},
    ),
    "a subject who responds to stimuli": Table(
        "rt,stimulus,response,trial_index,subject\n812,i1.png,real,1,s1\n640,i2.png,fake,2,s1\n"
        "700,i1.png,real,1,s2\n901,i2.png,real,2,s2\n",
        "i1.png i2.png",
        {"s1": "real fake", "s2": "real real"},
    ),
    "SoSci Survey": Table(
        "CASE;SERIAL;REF;QUESTNNR;MODE;STARTED;RT01_01;RT01_02;TIME001;FINISHED\n"
        "21;;;base;interview;2026-02-01 10:00:00;1;4;33;1\n"
        "22;;;base;interview;2026-02-01 11:00:00;2;4;28;1\n",
        "RT01_01 RT01_02",
        {"21": "14", "22": "24"},
    ),
    "items in the middle of the questions of a form": Table(
        "Timestamp,Email Address,Text 1: tone,Text 2: tone\n"
        "2026/03/01 10:00:00 AM GMT+1,a@x.de,warm,cold\n"
        "2026/03/01 10:05:00 AM GMT+1,b@x.de,warm,warm\n",
        "Text 1: tone|Text 2: tone",
        {"a@x.de": "warm cold", "b@x.de": "warm warm"},
    ),
    "people numbered beside the respondents whom they code": Table(
        "respondent_no,city,year,coder_a,coder_b\n1,Rome,1990,x,y\n2,Rome,1991,y,y\n"
        "3,Bonn,1990,x,x\n4,Bonn,1991,z,z\n",
        "1 2 3 4",
        {"coder_a": "xyxz", "coder_b": "yyxz"},
    ),
    "a weight of each rating": Table(
        "Document;Coder;Code;Weight\nd1;A;x;1\nd1;B;y;1\nd2;A;x;1\nd2;B;x;1\n",
        "d1 d2",
        {"A": "xx", "B": "yx"},
        "code",
    ),
    "reviews that are numbered like raters": Table(
        "review,Tester 1,Tester 2\nr1,★,★★\nr2,★★★,★★★\nr3,★★,★\n",
        "r1|r2|r3",
        {"Tester 1": "★|★★★|★★", "Tester 2": "★★|★★★|★"},
    ),
    "PostgreSQL prints a table": Table(
        " id | rater1 | rater2 \n----+--------+--------\n  1 | a      | b\n  2 | b      | b\n"
        "(2 rows)\n",
        "1 2",
        {"rater1": "ab", "rater2": "bb"},
        left_out={"rule_row": 2},
    ),
    "MySQL prints a table": Table(
        "+----+--------+--------+\n| id | rater1 | rater2 |\n+----+--------+--------+\n"
        "|  1 | a      | b      |\n|  2 | b      | b      |\n+----+--------+--------+\n",
        "1 2",
        {"rater1": "ab", "rater2": "bb"},
        left_out={"rule_row": 3},
    ),
    "R prints a data frame below its command": Table(
        "> ratings\n  rater1 rater2\n1      a      b\n2      b      b\n3      a      a\n",
        "1 2 3",
        {"rater1": "aba", "rater2": "bba"},
        left_out={"comment_row": 1},
    ),
    "models as columns beside a prompt": Table(
        "prompt_id,prompt,gpt-4o,claude-3.5,human\nq1,Why is the sky blue at noon?,good,bad,good\n"
        "q2,How do fish breathe under water?,bad,bad,good\n",
        "q1 q2",
        {"gpt-4o": "good bad", "claude-3.5": "bad bad", "human": "good good"},
    ),
    "a constant reason beside each score": Table(
        "".join(
            json.dumps({"id": f"q{n}", "judge": judge,
                        "tone": {"score": "ab"[(n + i) % 2], "reason": "because"}}) + "\n"
            for n in range(4) for i, judge in enumerate(("gpt", "claude"))
        ),
        "q0 q1 q2 q3",
        {"gpt": "abab", "claude": "baba"},
        "tonescore",
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
    ratings = {
        (item, rater, label)
        for rater, text in table.labels.items()
        for item, label in zip(
            items,
            text.split("|") if "|" in text else split_labels(text, len(items)),
            strict=True,
        )
    }
    assert list_ratings(table.question) == ratings
    assert report["left_out"] == table.left_out


AGENTS = "ticket,agent,priority\n101,ann,high\n101,ben,low\n102,ann,low\n102,ben,low\n"
REFUSED = {
    "graders in a list of results": (LISTS_OF_GRADERS, "--map rater=results.name label=passed"),
    "criteria in a list of scores": (
        "".join(
            json.dumps({"id": f"q{n}", "scores": [{"name": name, "score": n % 3, "reason": "ok"}
                                                  for name in ("tone", "depth")]}) + "\n"
            for n in range(4)
        ),
        "--map question=scores.name --rater NAME",
    ),
    "numbers of labels in an object": (
        "".join(
            json.dumps({"uid": n, "label_counter": {"yes": 60 - n, "no": 40 + n}}) + "\n"
            for n in range(4)
        ),
        "--layout counts",
    ),
    "the only column that can be a label": (
        "item,rater,words\n1,a,\"1,000\"\n1,b,\"1,200\"\n2,a,\"2,500\"\n2,b,\"2,500\"\n",
        "--map label=words, or --layout items",
    ),
    "rows that are numbered like raters": (
        ",T1,T2,T3,T4,T5\nR1,A,B,A,C,A\nR2,A,B,B,C,A\nR3,A,A,A,C,B\n",
        "--layout raters, or --layout wide",
    ),
    "labels in capitals and not": (
        "case,r1,r2\n1,Mild,mild\n2,Severe,severe\n3,Moderate,Moderate\n",
        "--similar=join",
    ),
    "a Portuguese word for no answer": (
        "texto,anotador1,anotador2\n1,sim,não\n2,não se aplica,sim\n3,não,não\n",
        "--missing='não se aplica'",
    ),
    "a Japanese word for no answer": (
        "番号,評価者1,評価者2\n1,良い,悪い\n2,該当なし,良い\n3,悪い,悪い\n",
        "--missing=該当なし",
    ),
    "a Russian word for no answer": (
        "номер,эксперт 1,эксперт 2\n1,да,нет\n2,н/д,да\n3,нет,нет\n",
        "--missing='н/д'",
    ),
    "parts of names that are raters or questions": (
        "id,warmth_anna,warmth_ben,tone_anna,tone_ben\n1,low,high,low,low\n2,high,high,low,high\n",
        "warmth_anna (anna, warmth), warmth_ben (ben, warmth)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_doubtful_table_is_refused_with_the_next_step(name: str, tmp_path: Path, lead: Any) -> None:
    text, advice = REFUSED[name]
    path = tmp_path / "table.txt"
    path.write_text(text)
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    (problem,) = report["problems"]
    assert status == 1 and advice in problem["message"]
    with pytest.raises(CommandError, match="--"):
        compute_agreement(path)
    assert_suggested_options_work(path, lead.username)


OPTIONS = {
    "a rater without a label": (AGENTS, "--map rater=agent", "no_labels"),
    "a label without a rater": (AGENTS, "--map label=priority", "no_raters"),
    "a label and a rater": (AGENTS, "--map label=priority rater=agent", ""),
    "an item that leaves rater and label open": (AGENTS, "--map item=ticket", "maybe_rater"),
    "the time of answers whose rater is open": (AGENTS, "--map rated_at=", "maybe_rater"),
    "a derived column as a rater": (
        "id,r1,r2,majority\n1,a,b,a\n2,b,b,b\n3,a,a,a\n",
        "--map rater=r1 rater=r2 rater=majority",
        "",
    ),
    "a layout without labels": (
        "item,rater_1,rater_2\n1,a,b\n2,b,b\n",
        "--layout long",
        "no_labels",
    ),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_named_roles_decide_what_they_are_about(name: str, tmp_path: Path, lead: Any) -> None:
    text, options, kind = OPTIONS[name]
    path = tmp_path / "table.csv"
    path.write_text(text)
    kinds = run_with_arguments(path, shlex.split(options), lead.username)
    assert kinds == ({kind} if kind else set())


def test_one_rater_of_an_export_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    path.write_text("".join(
        json.dumps({"id": n, "text": f"t{n}", "label": ["pn"[n % 2]], "Comments": []}) + "\n"
        for n in range(3)
    ))  # fmt: skip
    with pytest.raises(CommandError, match="--rater NAME"):
        compute_agreement(path)
    report = compute_agreement(path, rater="bob")
    assert (report["raters"], report["n_ratings"]) == (["bob"], 3)
