"""Results of LLM evaluation tools: graders are models, people who graded by hand are people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from projects.models import Rater
from ratings.imports.decoding import json_stream
from ratings.imports.decoding.json_stream import JsonStream
from tests.ratings.imports.readers.test_platform_files import list_ratings
from tests.ratings.imports.test_command import import_with_scale

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("what a file says does not depend on the database"),
]


def import_text(text: str, path: Path, lead: Any) -> dict[str, Any]:
    path.write_text(text)
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    assert (status, report["problems"]) == (0, [])
    return report


def list_models() -> set[str]:
    return set(Rater.objects.filter(kind="model").values_list("key", flat=True))


def build_promptfoo_result(test: int, grades: dict[str, bool]) -> dict[str, Any]:
    components = [
        {
            "pass": passed,
            "score": int(passed),
            "reason": f"about {kind}",
            "assertion": {"type": kind, "metric": "tone" if kind == "g-eval" else None},
        }
        for kind, passed in grades.items()
    ]
    return {
        "testIdx": test,
        "promptIdx": 0,
        "provider": {"id": "openai:gpt-x"},
        "vars": {"question": f"Question {test}"},
        "response": {"output": f"Answer {test}"},
        "gradingResult": {"pass": True, "componentResults": components},
    }


def test_promptfoo(tmp_path: Path, lead: Any) -> None:
    results = [
        build_promptfoo_result(0, {"llm-rubric": True, "human": False, "g-eval": True}),
        build_promptfoo_result(1, {"llm-rubric": False, "human": False, "g-eval": False}),
    ]
    content = {"evalId": "e", "results": {"version": 3, "results": results, "prompts": []}}
    report = import_text(json.dumps(content), tmp_path / "results.json", lead)
    assert next(iter(report["understood"].values()))["source"] == "promptfoo"
    assert list_ratings("pass") == {
        ("0/0/openai:gpt-x", "llm-rubric", "pass"),
        ("0/0/openai:gpt-x", "human", "fail"),
        ("1/0/openai:gpt-x", "llm-rubric", "fail"),
        ("1/0/openai:gpt-x", "human", "fail"),
    }
    assert len(list_ratings("tone")) == 2
    assert list_models() == {"llm-rubric", "g-eval"}


def build_inspect_log(n_samples: int) -> str:
    samples = [
        {
            "id": f"s{number}",
            "epoch": 1,
            "input": "How?",
            "target": "So",
            "output": {"completion": "Thus"},
            "scores": {
                "match": {"value": "I", "explanation": "no match"},
                "judge": {
                    "value": "C",
                    "history": [
                        {"value": "P"},
                        {"value": "C", "provenance": {"author": "ada", "timestamp": None}},
                    ],
                },
                "rubric": {"value": {"style": 3, "facts": 4}},
            },
        }
        for number in range(n_samples)
    ]
    eval_spec = {"task": "t", "task_id": "x", "model": "m"}
    return json.dumps({"version": 2, "status": "success", "eval": eval_spec, "samples": samples})


def test_inspect(tmp_path: Path, lead: Any) -> None:
    import_text(build_inspect_log(2), tmp_path / "log.json", lead)
    assert list_ratings("score") == {
        (item, rater, label)
        for item in ("s0", "s1")
        for rater, label in (("match", "I"), ("judge", "P"), ("ada", "C"))
    }
    assert len(list_ratings("rubric.style")) == 2
    assert list_models() == {"match", "judge", "rubric"}


def test_large_log_is_read_sample_by_sample(
    tmp_path: Path, lead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "MAX_RECORD_LENGTH", 2000)
    report = import_text(build_inspect_log(100), tmp_path / "log.json", lead)
    assert (report["items"], report["ratings"]) == (100, 500)


def test_openai_evals(tmp_path: Path, lead: Any) -> None:
    events: list[dict[str, Any]] = [
        {"spec": {"eval_name": "facts.v1", "completion_fns": ["gpt-x"]}},
        {"sample_id": "a", "type": "sampling", "data": {"prompt": "Who?", "sampled": ["Ada"]}},
        {"sample_id": "a", "type": "sampling", "data": {"prompt": "Grade", "sampled": ["Y"]}},
        {"sample_id": "a", "type": "match", "data": {"correct": True, "picked": "Ada"}},
        {"sample_id": "b", "type": "match", "data": {"correct": False, "picked": "Ben"}},
        {"sample_id": "b", "type": "metrics", "data": {"choice": "N"}},
        {"sample_id": "a", "type": "metrics", "data": {"choice": "Y"}},
        {"final_report": {"accuracy": 0.5}},
    ]
    text = "\n".join(
        json.dumps({**event, "created_at": "2026-03-01 10:00:00+00:00"} if number else event)
        for number, event in enumerate(events)
    )
    import_text(text, tmp_path / "log.jsonl", lead)
    assert list_ratings("match") == {
        ("a", "facts.v1", "correct"),
        ("b", "facts.v1", "incorrect"),
    }
    assert list_ratings("choice") == {("a", "facts.v1", "Y"), ("b", "facts.v1", "N")}
    assert list_models() == {"facts.v1"}


ROWS = [
    {"id": "r1", "input": "Q1", "output": "A1", "scores": {"Factuality": 0.6, "Tone": 1}},
    {"id": "r2", "input": "Q2", "output": "A2", "scores": {"Factuality": 1, "Tone": None}},
]


@pytest.mark.parametrize("is_table", [False, True])
def test_braintrust(is_table: bool, tmp_path: Path, lead: Any) -> None:
    text = (
        "id,input,output,scores.Factuality,scores.Tone\nr1,Q1,A1,0.6,1\nr2,Q2,A2,1,\n"
        if is_table
        else json.dumps(ROWS)
    )
    report = import_text(text, tmp_path / "rows", lead)
    assert report["left_out"] == {"no_label": 1}
    assert list_ratings("Factuality") == {
        ("r1", "Factuality", "0.6"),
        ("r2", "Factuality", "1"),
    }
    assert list_models() == {"Factuality", "Tone"}


@pytest.mark.parametrize("size", range(1, 40))
def test_values_before_the_list_may_be_cut_anywhere(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ratings.imports.decoding.encodings.CHUNK_BYTES", size)
    path = tmp_path / "log.json"
    path.write_text('{"n": 1234567, "x": {"y": [true, -12.5]}, "a": {"b": [{"c": 1}, {"c": 2}]}}')
    stream = JsonStream(path, encoding="utf-8", list_path=("a", "b"))
    assert [record for _line, record in stream] == [{"c": 1}, {"c": 2}]


def test_deepeval(tmp_path: Path, lead: Any) -> None:
    def build_metric(name: str, *, success: bool, error: str | None = None) -> dict[str, Any]:
        model = "gpt-x" if name == "Relevancy" else None
        return {"name": name, "success": success, "score": 0.7, "reason": "r", "error": error,
                "evaluationModel": model}  # fmt: skip

    cases: list[dict[str, Any]] = [
        {"name": "case", "input": "Q", "actualOutput": "A", "metricsData": [
            build_metric("Relevancy", success=passed), build_metric("Exact", success=True)]}
        for passed in (True, False)
    ]  # fmt: skip
    cases[0]["metricsData"].append(build_metric("Bias", success=False, error="timeout"))
    text = json.dumps({"testCases": cases, "testPassed": 1})
    report = import_text(text, tmp_path / "run.json", lead)
    assert list_ratings("Relevancy") == {("case", "gpt-x", "pass"), ("case/2", "gpt-x", "fail")}
    assert list_models() == {"gpt-x", "Exact"} and report["left_out"] == {"no_label": 1}


def test_samples_of_lm_eval(tmp_path: Path, lead: Any) -> None:
    samples = [
        {"doc_id": doc, "doc": {"question": "Q"}, "target": "4", "arguments": {}, "resps": [["4"]],
         "filtered_resps": ["4"], "filter": name, "metrics": ["exact_match"], "doc_hash": "h",
         "exact_match": float(doc == 0 or name == "flexible")}
        for doc in (0, 1)
        for name in ("strict", "flexible")
    ]  # fmt: skip
    import_text("\n".join(map(json.dumps, samples)), tmp_path / "samples.jsonl", lead)
    assert list_ratings("exact_match") == {
        ("0", "strict", "1"), ("0", "flexible", "1"), ("1", "strict", "0"), ("1", "flexible", "1")
    }  # fmt: skip
    assert list_models() == {"strict", "flexible"}


@pytest.mark.parametrize("is_table", [False, True])
def test_annotations_of_phoenix(is_table: bool, tmp_path: Path, lead: Any) -> None:
    text = (
        "context.span_id,name,annotator_kind,label,score,explanation\n"
        "s1,correctness,LLM,correct,1,fine\ns1,correctness,HUMAN,incorrect,0,\n"
    )
    if not is_table:
        rows = [
            {"span_id": "s1", "name": "correctness", "annotator_kind": kind, "user_id": user,
             "result": {"label": label, "score": 1.0}}
            for kind, user, label in (("LLM", None, "correct"), ("HUMAN", "u1", "incorrect"))
        ]  # fmt: skip
        text = json.dumps({"data": rows, "next_cursor": None})
    import_text(text, tmp_path / "annotations", lead)
    person = "human" if is_table else "u1"
    assert list_ratings("correctness") == {
        ("s1", "llm: correctness", "correct"), ("s1", person, "incorrect")
    }  # fmt: skip
    assert list_models() == {"llm: correctness"}


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ('{"results": {"t": {"acc,none": 0.5}}, "versions": {"t": 1}, "n-shot": {"t": 0}}', "--log_samples"),
        ("q,[openai:x] Say {{q}}\nA,[PASS] B\nC,[FAIL] D\n", "Import the JSON results"),
        ("#FORMAT=WebAnno TSV 3.3\n\n1-1\t0-4\tAnna\t*\n", "UIMA CAS JSON"),
        ("- id: d1\n  rater: a\n  label: yes\n", "file type isn't supported"),
    ],
)  # fmt: skip
def test_files_without_ratings_are_refused_with_the_next_step(
    text: str, advice: str, tmp_path: Path, lead: Any
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    status, report = import_with_scale(path, name="N", owner=lead.username, json=True)
    assert status == 1 and advice in report["problems"][0]["message"]
