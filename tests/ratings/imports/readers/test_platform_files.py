"""Exports of crowds, labelling and evaluation platforms, surveys and data sets with raters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from projects.models import GoldAnswer, Item, Project, Question, Rater
from ratings.models import Rating
from tests.ratings.imports.test_label_files import CASES, compute_stored_report, import_case

pytestmark = pytest.mark.django_db


@pytest.fixture
def import_text(tmp_path: Path, lead: Any) -> Any:
    """Return a function that imports a text and returns the exit status and the JSON report."""

    def import_content(content: Any, **options: Any) -> tuple[int, dict[str, Any]]:
        if isinstance(content, list):
            content = "".join(json.dumps(record) + "\n" for record in content)
        path = tmp_path / "answers"  # read by content, never by name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return import_case(lead, path, **options)

    return import_content


def get_source(result: dict[str, Any]) -> str:
    return next(iter(result["sources"].values()))


def list_ratings(question: str = "") -> set[tuple[str, str, str]]:
    """Return (item, rater, label) of all ratings of a question."""
    labels = {
        (category.question_id, category.code): category.label
        for category_question in Question.objects.all()
        for category in category_question.categories.all()
    }
    ratings = Rating.objects.select_related("item", "rater", "question")
    return {
        (rating.item.key, rating.rater.key, labels[rating.question_id, rating.code])
        for rating in ratings
        if not question or rating.question.key == question
    }


def test_rejected_assignments_of_mturk_are_left_out(lead: Any) -> None:
    status, result = import_case(lead, CASES / "crowd_hits.csv")
    assert (status, get_source(result)) == (0, "mturk")
    assert (result["items"], result["raters"], result["ratings"]) == (6, 3, 16)
    assert result["left_out"] == {"rejected": 2}
    report = compute_stored_report("sentiment")
    assert report["fleiss_kappa"] == pytest.approx(0.640, abs=5e-4)
    assert report["fleiss_kappa_quadratic"] == pytest.approx(0.857, abs=5e-4)
    assert Rating.objects.earliest("rated_at").rated_at.isoformat() == "2026-03-03T16:14:21+00:00"


@pytest.mark.parametrize(
    ("names", "cells"),
    [
        ("Answer.tone.calm,Answer.tone.angry", "true,false"),
        ("Answer.tone", "calm"),
        ("Answer.taskAnswers", '"[{""tone"":{""label"":""calm""}}]"'),
        ("Answer.taskAnswers", '"[{""tone"":{""angry"":false,""calm"":true}}]"'),
    ],
)
def test_forms_of_answers_of_mturk(import_text: Any, names: str, cells: str) -> None:
    status, result = import_text(
        f"HITId,AssignmentId,WorkerId,AssignmentStatus,Input.text,{names}\n"
        f"h1,a1,w1,Approved,One,{cells}\nh1,a2,w2,Submitted,One,{cells}\n"
    )
    assert (status, get_source(result)) == (0, "mturk"), result["problems"]
    assert list_ratings("tone") == {("h1", "w1", "calm"), ("h1", "w2", "calm")}


def test_pool_of_toloka(lead: Any) -> None:
    status, result = import_case(lead, CASES / "crowd_pool.tsv")
    assert (status, get_source(result)) == (0, "toloka")
    assert (result["raters"], result["ratings"], GoldAnswer.objects.count()) == (3, 18, 1)
    assert set(Rater.objects.values_list("key", flat=True)) == {"w1", "w2", "w3"}
    assert compute_stored_report("result")["fleiss_kappa"] == pytest.approx(0.325, abs=5e-4)


def test_rejected_assignments_of_toloka_are_left_out(import_text: Any) -> None:
    status, result = import_text(
        "INPUT:text\tOUTPUT:a\tOUTPUT:b\tASSIGNMENT:worker_id\tASSIGNMENT:status\n"
        "One\tyes\tred\tw1\tAPPROVED\nOne\tno\tred\tw2\tREJECTED\nOne\t\t\tw3\tSKIPPED\n"
        "One\tno\tblue\tw4\tSUBMITTED\n"
    )
    assert status == 0 and result["left_out"] == {"rejected": 1, "draft": 1}
    assert {rater for _item, rater, _label in list_ratings("b")} == {"w1", "w4"}


def test_assignments_of_toloka_from_its_api(import_text: Any) -> None:
    assignments = [
        {"id": f"{rater}{status}", "user_id": rater, "status": status, "reward": 0.01,
         "tasks": [{"id": "t1", "input_values": {"text": "One"}, "known_solutions": [
             {"output_values": {"tone": "calm"}}]}, {"id": "t2", "input_values": {"text": "Two"}}],
         "solutions": [{"output_values": {"tone": "calm"}}, {"output_values": {"tone": label}}]}
        for rater, status, label in (
            ("a", "ACCEPTED", "calm"), ("b", "ACCEPTED", "angry"), ("c", "REJECTED", "angry"))
    ]  # fmt: skip
    status, result = import_text(assignments)
    assert (status, get_source(result)) == (0, "toloka")
    assert list_ratings("tone") == {
        ("t1", "a", "calm"), ("t2", "a", "calm"), ("t1", "b", "calm"), ("t2", "b", "angry")
    }  # fmt: skip
    assert result["left_out"] == {"rejected": 2} and result["gold"] == 1


FORM_ANSWERS = (
    '<?xml version="1.0"?><QuestionFormAnswers xmlns="http://example.org/QuestionFormAnswers.xsd">'
    "<Answer><QuestionIdentifier>tone</QuestionIdentifier><FreeText>{}</FreeText></Answer>"
    "<Answer><QuestionIdentifier>seen</QuestionIdentifier>"
    "<SelectionIdentifier>yes</SelectionIdentifier></Answer></QuestionFormAnswers>"
)


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_answers_of_mturk_in_xml(import_text: Any, kind: str) -> None:
    assignments = [
        {"HITId": item, "WorkerId": rater, "AssignmentStatus": status,
         "Answer": FORM_ANSWERS.format(label)}
        for item, rater, label, status in (
            ("h1", "w1", "calm", "Submitted"), ("h1", "w2", "angry", "Approved"),
            ("h2", "w1", "calm", "Rejected"))
    ]  # fmt: skip
    content: Any = {"NumResults": 3, "Assignments": assignments}
    if kind == "csv":
        rows = [list(assignments[0]), *(list(row.values()) for row in assignments)]
        content = "".join(
            ",".join('"{}"'.format(cell.replace('"', '""')) for cell in row) + "\n" for row in rows
        )
    status, result = import_text(content)
    assert (status, get_source(result), result["left_out"]) == (0, "mturk", {"rejected": 1})
    assert list_ratings("tone") == {("h1", "w1", "calm"), ("h1", "w2", "angry")}
    assert list_ratings("seen") == {("h1", "w1", "yes"), ("h1", "w2", "yes")}


def test_rows_of_labels_of_labelbox(import_text: Any) -> None:
    rows = ["ID,DataRow ID,Labeled Data,Label,Created By,External ID,Seconds to Label"]
    for number, (rater, tone) in enumerate((("a@x.org", "Calm"), ("b@x.org", "Angry"))):
        label = {"objects": [], "classifications": [
            {"title": "Tone", "value": "tone", "answer": {"title": tone, "value": tone.lower()}},
            {"title": "Kinds", "answers": [{"title": "x"}, {"title": "y"}]}]}  # fmt: skip
        cell = json.dumps(label).replace('"', '""')
        rows.append(f'L{number},d1,Some text,"{cell}",{rater},one,5')
    rows.append("L2,d2,Other text,Skip,a@x.org,two,1")
    status, result = import_text("\n".join(rows))
    assert (status, get_source(result), result["skips"]) == (0, "labelbox", 1)
    assert list_ratings("Tone") == {("one", "a@x.org", "Calm"), ("one", "b@x.org", "Angry")}
    assert result["left_out"] == {"several_labels": 2}
    assert Item.objects.get(key="one").body == {"text": "Some text"}


def test_attributes_of_files_in_via(import_text: Any) -> None:
    box = '"{""name"":""rect"",""x"":1}"'
    status, result = import_text(
        "filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,"
        "region_attributes\n"
        f'1.jpg,9,"{{""kind"":""cat""}}",2,0,{box},"{{}}"\n'
        f'1.jpg,9,"{{""kind"":""cat""}}",2,1,{box},"{{}}"\n'
        '2.jpg,9,"{""kind"":""dog""}",0,0,"{}","{}"\n',
        rater="ann",
    )
    assert (status, get_source(result), result["left_out"]) == (0, "via", {"boxes": 2})
    assert list_ratings("kind") == {("1.jpg", "ann", "cat"), ("2.jpg", "ann", "dog")}


def test_merged_labels_of_scale_ai_are_rejected(import_text: Any) -> None:
    task = {"task_id": "t", "params": {"categories": ["a"]}, "response": {"category": "a"}}
    status, result = import_text([task])
    assert (status, get_source(result)) == (1, "scale_ai")
    assert "Import the job's worker responses" in result["problems"][0]["message"]


def test_comments_and_scores_of_qualtrics_are_no_answers(import_text: Any) -> None:
    status, result = import_text(
        "ResponseId,Progress,Finished,Q1_1,Q1_2,Q2,SC0\n"
        "Response ID,Progress,Finished,Rate - A,Rate - B,Any comments?,Score\n"
        "R_1,100,True,1,2,nothing,0\nR_2,100,True,2,2,,3\n"
    )
    assert (status, result["ratings"]) == (0, 4)
    assert result["left_out"] == {"header_row": 1, "free_text": 1, "number": 2}


def test_full_report_of_appen(lead: Any) -> None:
    status, result = import_case(lead, CASES / "crowd_units.csv")
    assert (status, get_source(result)) == (0, "appen")
    assert (result["raters"], result["ratings"], result["gold"]) == (3, 18, 1)
    assert compute_stored_report("relevance")["fleiss_kappa"] == pytest.approx(0.287, abs=5e-4)


def test_questions_of_appen_without_gold_are_what_contributors_differ_on(import_text: Any) -> None:
    status, _result = import_text(
        "_unit_id,_worker_id,_trust,is_spam,topic,text\n"
        "1,w1,0.9,yes,news,One\n1,w2,0.9,no,news,One\n2,w1,0.9,no,news,Two\n2,w2,0.9,no,news,Two\n"
    )
    assert status == 0
    assert list(Question.objects.values_list("key", flat=True)) == ["is_spam"]
    assert Item.objects.get(key="1").body == {"topic": "news", "text": "One"}


def test_export_of_labelbox(lead: Any) -> None:
    status, result = import_case(lead, CASES / "labelbox.ndjson")
    assert (status, get_source(result)) == (0, "labelbox")
    assert (result["items"], result["raters"], result["ratings"]) == (4, 2, 8)
    assert ("doc-1", "rater1@example.org", "Calm") in list_ratings("Tone")


def test_merged_labels_of_ground_truth_are_refused(lead: Any) -> None:
    status, result = import_case(lead, CASES / "ground_truth.jsonl")
    assert status == 1 and not Project.objects.exists()
    assert "Import the job's worker responses" in result["problems"][0]["message"]


def test_workers_of_a_ground_truth_manifest(import_text: Any) -> None:
    content = json.dumps({"tone": {"label": "calm"}})
    workers = [
        {"workerId": worker, "annotationData": {"content": content}} for worker in ("a", "b")
    ]
    manifest = [
        {
            "source-ref": "s3://bucket/one.jpg",
            "tone": {"annotationsFromAllWorkers": workers},
            "tone-metadata": {"type": "groundtruth/custom"},
        }
    ]
    assert import_text(manifest)[0] == 0
    assert list_ratings("tone") == {("one.jpg", "a", "calm"), ("one.jpg", "b", "calm")}


def test_answers_of_a_human_loop(import_text: Any) -> None:
    answers = [
        {"workerId": worker, "answerContent": {"tone": {"calm": False, "angry": True}},
         "submissionTime": "2026-03-01T10:00:00Z"}
        for worker in ("a", "b")
    ]  # fmt: skip
    loop = {"humanLoopName": "loop1", "inputContent": {"text": "One"}, "humanAnswers": answers}
    status, result = import_text(loop)
    assert (status, get_source(result)) == (0, "ground_truth")
    assert list_ratings("tone") == {("loop1", "a", "angry"), ("loop1", "b", "angry")}


@pytest.mark.parametrize("is_page", [False, True])
def test_scores_of_langfuse(import_text: Any, is_page: bool) -> None:
    common = {"name": "tone", "timestamp": "2026-03-01T10:00:00Z", "dataType": "CATEGORICAL"}
    scores = [
        {**common, "traceId": "t1", "source": "ANNOTATION", "authorUserId": "u1", "stringValue": "calm"},
        {**common, "traceId": "t1", "source": "EVAL", "value": 1, "stringValue": "angry"},
    ]  # fmt: skip
    content = {"data": scores, "meta": {"page": 1}} if is_page else scores
    status, result = import_text(content)
    assert (status, get_source(result)) == (0, "langfuse")
    assert list_ratings("tone") == {("t1", "u1", "calm"), ("t1", "eval: tone", "angry")}
    assert Rater.objects.get(key="eval: tone").kind == "model"


def test_feedback_of_langsmith(import_text: Any) -> None:
    feedback = [
        {"run_id": "r1", "key": "correct", "score": 1, "feedback_source": {"type": "app", "user_id": "u1"}},
        {"run_id": "r1", "key": "correct", "score": 0.0, "feedback_source": {"type": "model"}},
        {"run_id": "r1", "key": "tone", "score": 2, "value": "calm", "feedback_source": {"type": "app", "user_id": "u1"}},
    ]  # fmt: skip
    status, result = import_text(feedback)
    assert (status, get_source(result)) == (0, "langsmith")
    assert list_ratings("correct") == {("r1", "u1", "1"), ("r1", "model: correct", "0")}
    assert list_ratings("tone") == {("r1", "u1", "calm")}


def test_responses_of_qualtrics(import_text: Any) -> None:
    import_ids = ",".join(f'"{{""ImportId"":""Q{n}""}}"' for n in range(6))
    status, result = import_text(
        "StartDate,Status,Progress,Finished,ResponseId,Q1_1\n"
        "Start Date,Response Type,Progress,Finished,Response ID,How clear? - Text A\n"
        f"{import_ids}\n"
        "2026-03-01 10:00:00,IP Address,100,True,R_1,Clear\n"
        "2026-03-01 10:00:00,IP Address,100,True,R_2,Unclear\n"
        "2026-03-01 10:00:00,Survey Preview,100,True,R_3,Unclear\n"
    )
    assert (status, get_source(result)) == (0, "qualtrics")
    assert list_ratings("Q1") == {("Q1_1", "R_1", "Clear"), ("Q1_1", "R_2", "Unclear")}
    assert Item.objects.get().body == {"text": "How clear? - Text A"}
    assert result["left_out"] == {"header_row": 2, "draft": 1}


def test_responses_of_qualtrics_with_few_columns(import_text: Any) -> None:
    import_ids = ",".join(f'"{{""ImportId"":""Q{n}""}}"' for n in range(6))
    status, result = import_text(
        "Status,ResponseId,Q1_1,Q1_2,Q2_1,Q2_2\n"
        "Response Type,Response ID,Clear? - A,Clear? - B,True? - A,True? - B\n"
        f"{import_ids}\n"
        "IP Address,R_1,Clear,Clear,Yes,No\nIP Address,R_2,Unclear,Clear,Yes,Yes\n"
        "Survey Preview,R_3,Unclear,Clear,No,No\n"
    )
    assert (status, get_source(result)) == (0, "qualtrics")
    assert (result["raters"], result["ratings"]) == (2, 8)
    assert len(list_ratings("Q2")) == 4


def test_responses_of_google_forms(import_text: Any) -> None:
    status, result = import_text(
        "Timestamp,Email Address,How clear is it? [Text A],How clear is it? [Text B]\n"
        "3/15/2026 10:00:00,a@example.org,Clear,Unclear\n"
        "3/15/2026 11:00:00,b@example.org,Clear,Clear\n"
    )
    assert (status, get_source(result)) == (0, "csv")
    assert ("Text B", "a@example.org", "Unclear") in list_ratings()
    assert result["ratings"] == 4


def test_double_entry_of_redcap(import_text: Any) -> None:
    status, result = import_text(
        "record_id,redcap_data_access_group,lesion,lesion_complete\n"
        "1--1,,1,2\n1--2,,0,2\n1,,1,2\n2--1,,0,2\n2--2,,0,2\n"
    )
    assert (status, get_source(result)) == (0, "csv")
    assert result["left_out"] == {"merged": 1}
    assert list_ratings("lesion") == {
        ("1", "1", "1"), ("1", "2", "0"), ("2", "1", "0"), ("2", "2", "0")
    }  # fmt: skip


def test_data_set_with_disagreements(import_text: Any) -> None:
    entries = {
        "1": {"text": "One", "annotators": "Ann1,Ann2", "annotations": "1,0", "hard_label": "1"},
        "2": {"text": {"post": "Two"}, "annotators": "Ann2", "annotations": {"Ann2": "0"}},
    }
    status, result = import_text(entries)
    assert (status, get_source(result)) == (0, "lewidi")
    assert list_ratings() == {("1", "Ann1", "1"), ("1", "Ann2", "0"), ("2", "Ann2", "0")}
    assert Item.objects.get(key="2").body == {"post": "Two"}


@pytest.mark.parametrize(
    "record",
    [
        {"id": "x", "text": "One", "annotators": ["a", "b"], "labels": [1, 0]},
        {"id": "x", "text": "One", "annotators": {"label": [1, 0], "annotator_id": ["a", "b"]}},
    ],
)  # fmt: skip
def test_lists_of_raters_and_labels(import_text: Any, record: dict[str, Any]) -> None:
    status, result = import_text([record])
    assert (status, get_source(result)) == (0, "label_lists")
    assert list_ratings() == {("x", "a", "1"), ("x", "b", "0")}
    assert Item.objects.get().body == {"text": "One"}


def test_lists_of_labels_without_raters(import_text: Any) -> None:
    """Raters have places in the lists; lists of classes have no repeats, or are 0 and 1 alone."""
    status, result = import_text(
        [{"text": "One", "ratings": [3, 1, 3]}, {"text": "Two", "ratings": [2, 2, 1]}]
    )
    assert (status, get_source(result)) == (0, "label_lists")
    assert {rating[1:] for rating in list_ratings()} >= {("rater 1", "3"), ("rater 3", "1")}
    for name, lists in (
        ("labels", [["joy", "love"], ["fear"]]),
        ("labels", [[0, 1, 0], [1, 0, 0]]),
    ):
        _, result = import_text([{"text": str(labels), name: labels} for labels in lists])
        assert get_source(result) != "label_lists"


def test_questions_of_qualtrics_about_several_items(import_text: Any) -> None:
    status, _result = import_text(
        "ResponseId,Progress,Finished,1_Q5,2_Q5,1_Q6\n"
        "Response ID,Progress,Finished,A - Hate?,B - Hate?,A - Sure?\n"
        "R_1,100,True,Yes,No,Sure\nR_2,100,True,Yes,Yes,Unsure\n"
    )
    assert status == 0
    assert list_ratings("Q5") == {
        ("1", "R_1", "Yes"), ("2", "R_1", "No"), ("1", "R_2", "Yes"), ("2", "R_2", "Yes")
    }  # fmt: skip
    assert list_ratings("Q6") == {("1", "R_1", "Sure"), ("1", "R_2", "Unsure")}


def test_lists_in_a_table(import_text: Any) -> None:
    status, result = import_text(
        "id,text,annotators,labels\n1,One,\"['a', 'b']\",\"['yes', 'no']\"\n2,Two,['a'],['yes']\n"
    )
    assert (status, get_source(result)) == (0, "label_lists")
    assert list_ratings() == {("1", "a", "yes"), ("1", "b", "no"), ("2", "a", "yes")}


def test_lists_as_numpy_prints_them(import_text: Any) -> None:
    status, _result = import_text("id,annotators,labels\n1,['a' 'b'],[0 1]\n2,['a' 'b'],[1 1]\n")
    assert status == 0
    assert list_ratings() == {("1", "a", "0"), ("1", "b", "1"), ("2", "a", "1"), ("2", "b", "1")}


def test_participants_of_prolific_are_refused_with_the_next_step(import_text: Any) -> None:
    status, result = import_text("Submission id,Participant id,Status,Age\ns1,p1,APPROVED,30\n")
    assert status == 1 and "Import the file with the answers" in result["problems"][0]["message"]


def test_content_of_label_studio_after_an_id_of_its_own(import_text: Any) -> None:
    rows = [
        "id,text,sentiment,annotator,annotation_id,created_at,updated_at,lead_time",
        *(
            f"{task},Text {task},{label},{annotator},{task}{annotator},2026-03-01T10:00:00Z,,3"
            for task in (1, 2, 3)
            for annotator, label in ((1, "Positive"), (2, "Positive" if task > 1 else "Negative"))
        ),
    ]
    status, result = import_text("\n".join(rows) + "\n")
    assert (status, get_source(result)) == (0, "label_studio")
    assert list(Question.objects.values_list("key", flat=True)) == ["sentiment"]
    assert Item.objects.get(key="1").body == {"text": "Text 1"}


@pytest.mark.parametrize(
    "content",
    [
        "timestamp,item,rater,label\n2026-03-01T10:00:00Z,1,a,yes\n2026-03-01T10:00:00Z,1,b,no\n",
        "record_id,rater,label\n1,a,yes\n1,b,no\n",
        "id,annotators,label\n1,a,yes\n1,b,no\n",
    ],
)
def test_plain_tables_are_no_exports_of_tools(import_text: Any, content: str) -> None:
    _status, result = import_text(content, map=["label=label"])
    assert get_source(result) in ("csv", "")


def test_decisions_of_rayyan(import_text: Any) -> None:
    status, result = import_text(
        "key,title,year,notes\n"
        'r1,First,2020,"RAYYAN-INCLUSION: {""Anna""=>""Included"", ""Ben""=>""Excluded""} | '
        'RAYYAN-LABELS: rct"\n'
        'r2,Second,2021,"RAYYAN-INCLUSION: {""Anna""=>""Excluded""}"\nr3,Third,2022,\n'
    )
    assert (status, get_source(result)) == (0, "rayyan")
    assert list_ratings("inclusion") == {
        ("r1", "Anna", "Included"), ("r1", "Ben", "Excluded"), ("r2", "Anna", "Excluded")
    }  # fmt: skip
    assert result["left_out"] == {"no_label": 1, "notes": 1}


def test_labels_of_raters_without_names(import_text: Any) -> None:
    status, result = import_text(
        [
            {"pairID": "1n", "annotator_labels": ["n", "e"], "gold_label": "n", "sentence1": "A"},
            {"pairID": "2e", "annotator_labels": ["e", "e"], "gold_label": "e", "sentence1": "B"},
        ]
    )
    assert (status, get_source(result)) == (0, "label_lists")
    assert ("1n", "rater 2", "e") in list_ratings() and result["ratings"] == 4


def test_entries_with_lists_by_their_keys(import_text: Any) -> None:
    entry = {"post_tokens": ["u"], "annotators": [{"label": "ok", "annotator_id": 1}]}
    status, _result = import_text({"p1": {"post_id": "p1", **entry}, "p2": entry})
    assert status == 0
    assert list_ratings() == {("p1", "1", "ok"), ("p2", "1", "ok")}
