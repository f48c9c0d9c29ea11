"""Tables of statistics programs, forms and comparisons of models, and what their errors suggest."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.ratings.imports.readers.test_platform_files import list_ratings
from tests.ratings.imports.test_command import import_with_scale, run_import_command

from . import test_column_meanings, test_program_tables, test_table_styles
from .test_table_styles import Table, split_labels

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("what a file says does not depend on the database"),
]

READABLE = {
    "Stata writes the reasons of missing values": Table(
        "id,rater1,rater2\n1,mild,.a\n2,severe,severe\n3,.b,mild\n4,.,mild\n",
        "1 2 3 4",
        {"rater1": "mild severe . .", "rater2": ". severe mild mild"},
        left_out={"missing": 3},
    ),
    "NumPy marks the names of the columns": Table(
        "# item rater1 rater2\n1 a b\n2 b b\n3 a a\n",
        "1 2 3",
        {"rater1": "aba", "rater2": "bba"},
    ),
    "R prints a tibble": Table(
        "# A tibble: 3 × 3\n  item  coder_1 coder_2\n  <chr>   <dbl>   <dbl>\n"
        "1 a           1       2\n2 b           2       2\n3 c          NA       1\n",
        "a b c",
        {"coder_1": "12.", "coder_2": "221"},
        left_out={"comment_row": 1, "header_row": 1, "missing": 1},
    ),
    "comments above and between the rows": Table(
        "# exported today\n# columns: item, rater, label\nitem,rater,label\n1,a,x\n1,b,y\n"
        "# second batch\n2,a,x\n2,b,x\n",
        "1 2",
        {"a": "xx", "b": "yx"},
        left_out={"comment_row": 3},
    ),
    "items that begin with a number sign": Table(
        "hashtag,coder,stance\n#one,a,pro\n#one,b,pro\n#two,a,anti\n#two,b,pro\n",
        "#one #two",
        {"a": "pro anti", "b": "pro pro"},
        "stance",
    ),
    "comments and times beside each rater": Table(
        "id,Comment Anna,Anna,Ben,Ben seconds\n1,why,y,y,12\n2,,n,y,9\n3,hm,y,y,30\n",
        "1 2 3",
        {"Anna": "yny", "Ben": "yyy"},
    ),
    "R widens labels and seconds": Table(
        "id,label.Anna,label.Ben,seconds.Anna,seconds.Ben\n"
        "1,x,y,12.1,13.2\n2,y,y,5.2,9.1\n3,x,x,8.8,4.4\n",
        "1 2 3",
        {"Anna": "xyx", "Ben": "yyx"},
    ),
    "the label of a reviewer": Table(
        "id,text,label_annotator1,label_annotator2,label_reviewer\n"
        "1,Hi,p,n,p\n2,Yo,n,n,n\n3,Hm,p,p,p\n",
        "1 2 3",
        {"annotator1": "pnp", "annotator2": "nnp", "reviewer": "pnp"},
    ),
    "questions above the raters": Table(
        "Article,Relevance: Anna,Relevance: Ben,Usefulness: Anna,Usefulness: Ben\n"
        "A1,high,low,good,good\nA2,low,low,bad,good\nA3,high,high,bad,bad\n",
        "A1 A2 A3",
        {"Anna": "high low high", "Ben": "low low high"},
        "Relevance",
    ),
    "votes between two models": Table(
        "question_id,model_a,model_b,winner,judge\nq1,gpt,claude,model_a,u1\n"
        "q2,gpt,llama,tie,u2\nq3,llama,claude,model_b,u1\n",
        "q1 q2 q3",
        {"u1": "model_a . model_b", "u2": ". tie ."},
        "winner",
    ),
    "the submissions of a form": Table(
        "Submission ID,Respondent ID,Submitted at,Is text 1 clear?,Is text 2 clear?\n"
        "s1,p1,2025-01-15 10:00:00,Yes,No\ns2,p2,2025-01-15 10:00:00,Yes,Yes\n",
        "Is text 1 clear?|Is text 2 clear?",
        {"p1": "Yes No", "p2": "Yes Yes"},
    ),
    "boxes of a crowd form that may be checked": Table(
        "HITId,WorkerId,AssignmentStatus,Input.url,Answer.cat.on,Answer.comment\n"
        "H1,W1,Approved,u1,true,\nH1,W2,Approved,u1,false,nice\nH2,W1,Approved,u2,false,\n",
        "H1 H2",
        {"W1": "true false", "W2": "false ."},
        "cat",
        left_out={"no_label": 2, "free_text": 1},
    ),
    "Label Studio simplifies its fields": Table(
        json.dumps([
            {"text": f"t{n}", "id": n, "quality": [{"rating": (n + a) % 3 + 1}],
             "topics": {"choices": ["x", "y"]}, "annotator": a, "annotation_id": n * 10 + a,
             "created_at": "2025-01-01T10:00:00Z", "updated_at": "2025-01-01T10:00:00Z",
             "lead_time": 3}
            for n in range(3) for a in (1, 2)
        ]),
        "0 1 2",
        {"1": "231", "2": "312"},
        "quality",
        left_out={"several_labels": 6},
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
        for item, label in zip(items, split_labels(text, len(items)), strict=True)
        if label != "."
    }
    assert list_ratings(table.question) == ratings
    assert report["left_out"] == table.left_out


REFUSED = {
    "a cross table whose rows are numbered": (
        '"",AR,NL,RS\n"1",12,2,4\n"2",3,20,5\n"3",1,2,21\n',
        "“cross table of two raters” fits",
        "--layout crossed",
    ),
    "a cross table without names of its rows": (
        "AR,NL,RS\n12,2,4\n3,20,5\n1,2,21\n",
        "look like results: AR, NL, RS",
        "--layout wide",
    ),
    "agreement of each pair of raters": (
        ",ann,ben,cy\nann,1.00,0.65,0.58\nben,0.65,1.00,0.71\ncy,0.58,0.71,1.00\n",
        "look like results: ann, ben, cy",
        "--layout wide",
    ),
    "percentages of each label": (
        "Category,Rater 1 (%),Rater 2 (%)\nPositive,60%,55%\nNegative,30%,35%\nOther,10%,10%\n",
        "look like results",
        "--layout wide",
    ),
    "frequencies of each label": (
        "Category,Rater A,Rater B\nPositive,12,14\nNegative,10,9\nNeutral,8,7\n",
        "look like results",
        "--layout wide",
    ),
    "units are numbered anew in each group": (
        "Group,Unit,Rater1,Rater2\nA,1,a,a\nA,2,b,b\nA,3,c,b\nB,1,a,a\nB,2,b,c\nB,3,a,a\n",
        "with the same Unit differ in Group",
        "--map item=Unit item=Group",
    ),
    "quotation marks of a word processor": (
        "item,rater,label\n1,a,“yes”\n1,b,yes\n2,a,no\n2,b,“no”\n",
        "Perhaps the same labels",
        "--similar=join",
    ),
    "columns of other names": (
        "ticket,agent,priority\n101,ann,high\n101,ben,low\n102,ann,low\n102,ben,low\n",
        "These columns may be ratings: agent, priority",
        "--map rater=agent label=priority",
    ),
    "a column of another name is the text": (
        "id,rater,pre,post\n1,x,a,b\n1,y,a,a\n2,x,b,b\n2,y,b,a\n",
        "Item '1' has 'a' in 'post', but 'b' in line 2",
        "--map ignore=post",
    ),
    "the label of a reviewer beside another": (
        "id,label,label_reviewer,text\n1,a,b,Hi\n2,b,b,Yo\n3,a,a,Hm\n",
        "These columns may be ratings: label, label_reviewer",
        "--map rater=label rater=label_reviewer",
    ),
    "items of a single rater in several rows": (
        "prompt_id,model,verdict\np1,x,pass\np1,y,fail\np2,x,pass\np2,y,pass\n",
        "Items have several rows",
        "--rater NAME --duplicates last",
    ),
    "labels of one model": (
        "item,model,label\n1,gpt-judge,pass\n2,gpt-judge,fail\n3,gpt-judge,pass\n",
        "model may be the raters",
        "--map rater=model, or --rater NAME",
    ),
    "labels of a model in one row": (
        "item,llm_name,text,label\n1,gpt-judge,Hi,pass\n",
        "llm_name may be the raters",
        "--map rater=llm_name, or --rater NAME",
    ),
    "labels of models beside another column of repeats": (
        "item,run,system,label\n1,a,x,pass\n1,b,y,fail\n2,a,x,pass\n2,b,y,pass\n",
        "Items have several rows",
        "--map rater=system",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_doubtful_table_is_refused_with_the_next_step(name: str, tmp_path: Path, lead: Any) -> None:
    text, reason, advice = REFUSED[name]
    path = tmp_path / "table.txt"
    path.write_text(text)
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    (problem,) = report["problems"]
    assert status == 1 and reason in problem["message"] and advice in problem["message"]


def test_numbered_rows_of_a_cross_table_have_the_labels_of_its_columns(
    tmp_path: Path, lead: Any
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(REFUSED["a cross table whose rows are numbered"][0])
    status, report = import_with_scale(path, name="N", owner=lead.username, layout="crossed")
    assert (status, report["items"]) == (0, 70)
    labels = {label for _item, _rater, label in list_ratings()}
    assert labels == {"AR", "NL", "RS"}


def test_repeats_of_the_only_rater_are_no_silent_replacement(tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text(REFUSED["items of a single rater in several rows"][0])
    options = {"name": "N", "owner": lead.username, "rater": "ann"}
    status, report = import_with_scale(path, **options)
    assert (status, report["problems"][0]["kind"]) == (1, "repeated_rows")
    assert import_with_scale(path, **options, duplicates="last")[0] == 0


OPTIONS = re.compile(r"\((--(?:[^()]|\([^()]*\))*)\)\.?$")
PLACEHOLDERS = re.compile(r"\b(COLUMN|ENCODING|KEY|QUESTION|ROLE)\b")
# Kinds of problems whose options say that the columns are right, so that another one may follow.
OVERRULING = ("numbers_as_names", "results")
TEXTS = {
    name: entry[0]
    for module in (test_column_meanings, test_program_tables, test_table_styles)
    for name, entry in module.REFUSED.items()
} | {name: entry[0] for name, entry in REFUSED.items()}


@pytest.mark.parametrize("name", TEXTS)
def test_each_suggested_option_works(name: str, tmp_path: Path, lead: Any) -> None:
    path = tmp_path / "table.txt"
    path.write_text(TEXTS[name])
    assert_suggested_options_work(path, lead.username)


def assert_suggested_options_work(path: Path, owner: str) -> None:
    """Check that each option in the only problem of a file settles it, for both commands."""
    import_options = {"name": "N", "owner": owner, "dry_run": True, "json": True}
    _status, report = run_import_command(path, **import_options)
    (problem,) = report["problems"]
    match = OPTIONS.search(problem["message"])
    for alternative in re.split(r",? or (?=--)|, (?=--)", match[1]) if match else []:
        if PLACEHOLDERS.search(alternative):
            continue
        arguments = shlex.split(alternative.replace("NAME", "someone"))
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(path.parent)
            kinds = run_with_arguments(path, arguments, owner)
        assert problem["kind"] not in kinds, (alternative, kinds)
        assert kinds <= {"scale"} or problem["kind"] in OVERRULING, (alternative, kinds)
        assert_agreement_takes_arguments(path, arguments)


def run_with_arguments(path: Path, arguments: list[str], owner: str) -> set[str]:
    """Run the import with arguments as they are typed; return the kinds of its problems."""
    output_path = path.with_suffix(".out")
    with output_path.open("w") as output, contextlib.suppress(SystemExit):
        call_command(
            "import_file", str(path), "--name", "N", "--owner", owner, "--dry-run", "--json",
            *arguments, stdout=output,
        )  # fmt: skip
    return {problem["kind"] for problem in json.loads(output_path.read_text())["problems"]}


def assert_agreement_takes_arguments(path: Path, arguments: list[str]) -> None:
    """Check that the other command knows the arguments; it may find too few raters."""
    try:
        call_command("agreement", str(path), "--json", *arguments)
    except CommandError as error:
        assert not str(error).startswith("Error: "), error
