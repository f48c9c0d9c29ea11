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
from tests.ratings.imports.test_command import run_import_command

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("what a file says does not depend on the database"),
]


def import_text(text: str, path: Path, lead: Any) -> dict[str, Any]:
    path.write_text(text)
    status, report = run_import_command(path, name="N", owner=lead.username, json=True)
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
    monkeypatch.setattr("ratings.imports.decoding.text_chunks.CHUNK_BYTES", size)
    path = tmp_path / "log.json"
    path.write_text('{"n": 1234567, "x": {"y": [true, -12.5]}, "a": {"b": [{"c": 1}, {"c": 2}]}}')
    stream = JsonStream(path, encoding="utf-8", list_path=("a", "b"))
    assert [record for _line, record in stream] == [{"c": 1}, {"c": 2}]
