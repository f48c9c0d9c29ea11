"""Lists of answers inside of JSON records are rows, whichever tool wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from projects.models import Item
from ratings.models import Rating
from tests.ratings.imports.readers.test_platform_files import get_source, list_ratings
from tests.ratings.imports.test_label_files import import_case

pytestmark = pytest.mark.django_db

LABELS = {("1", "a"): "pos", ("1", "b"): "neg", ("2", "a"): "neg", ("2", "b"): "neg"}


def build_records(name: str, build_answer: Any, **fields: Any) -> list[dict[str, Any]]:
    return [
        {"id": item, "text": f"Text {item}", **fields,
         name: [build_answer(rater, LABELS[item, rater]) for rater in "ab"]}
        for item in "12"
    ]  # fmt: skip


FILES = {
    "a list of objects": build_records(
        "annotations", lambda rater, label: {"annotator": rater, "label": label}
    ),
    "nested names of people": build_records(
        "labels",
        lambda rater, label: {
            "author": {"email": rater, "id": "x"},
            "createdAt": "2026-03-01T10:00:00Z",
            "secondsToLabel": 5,
            "jsonResponse": {"TONE": {"categories": [{"name": label, "confidence": 100}]}},
        },
    ),
    "responses of workers": build_records(
        "responses",
        lambda rater, label: {"id": f"r{rater}", "data": {"Tone": label}, "worker_id": rater},
        fields={"x": 1},
    ),
    "labels with the people who gave them": build_records(
        "classifications",
        lambda rater, label: {"classname": label, "annotated_by": [{"annotator": rater}]},
        annotations=[],
    ),
}


@pytest.fixture
def import_json(tmp_path: Path, lead: Any) -> Any:
    def import_content(content: Any, **options: Any) -> tuple[int, dict[str, Any]]:
        path = tmp_path / "file"
        path.write_text(json.dumps(content))
        return import_case(lead, path, **options)

    return import_content


@pytest.mark.parametrize("name", FILES)
def test_answers_inside_of_records_are_ratings(name: str, import_json: Any) -> None:
    status, result = import_json(FILES[name])
    assert (status, get_source(result)) == (0, "json")
    assert {(item, rater): label for item, rater, label in list_ratings()} == LABELS
    assert Item.objects.get(key="1").body["text"] == "Text 1"


def test_each_criterion_of_an_answer_is_a_question(import_json: Any) -> None:
    records = [
        {"id": item, "annotations": [
            {"annotator": rater, "fluency": 4, "adequacy": 1 + (rater == "b")} for rater in "ab"]}
        for item in "123"
    ]  # fmt: skip
    status, _result = import_json(records)
    assert status == 0
    assert list_ratings("adequacy") == {
        (item, rater, label) for item in "123" for rater, label in (("a", "1"), ("b", "2"))
    }


def test_scores_without_raters_are_known_by_their_places(import_json: Any) -> None:
    def score(number: int) -> dict[str, int]:
        return {"coherence": number, "relevance": 5 - number}

    records = [
        {"id": str(number), "expert_annotations": [score(number), score(1)],
         "turker_annotations": [score(2), score(number)]}
        for number in (1, 2, 3)
    ]  # fmt: skip
    status, result = import_json(records)
    assert (status, result["raters"]) == (0, 4)
    assert ("3", "expert_annotations 1", "3") in list_ratings("coherence")
    assert ("3", "turker_annotations 2", "2") in list_ratings("relevance")


def test_lists_of_several_criteria(import_json: Any) -> None:
    records = [
        {"prompt": f"Prompt {number}", "response": "R", "helpfulness": [number, 4], "coherence": [3, 1]}
        for number in (0, 2, 4)
    ]  # fmt: skip
    status, result = import_json(records)
    assert (status, result["ratings"], result["raters"]) == (0, 12, 2)
    assert sorted(label for _item, rater, label in list_ratings("helpfulness") if rater == "rater 1") \
        == ["0", "2", "4"]  # fmt: skip


def test_descriptions_of_raters_are_no_labels(import_json: Any) -> None:
    records = [
        {
            "id": item,
            "annotators": ["a", "b"],
            "gender_annotators": ["F", "M"],
            "labels": ["y", "n"],
        }
        for item in "12"
    ]
    status, result = import_json(records)
    assert (status, result["ratings"], result["left_out"]) == (0, 4, {"about_raters": 2})


def test_spans_and_conversations_are_no_answers(import_json: Any) -> None:
    spans = [{"id": "1", "text": "A", "annotations": [
        {"annotator": "a", "label": "PER", "start": 0, "end": 1}]}] * 2  # fmt: skip
    chats = [{"id": "1", "messages": [
        {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]}]  # fmt: skip
    for records in (spans, chats):
        import_json(records)
        assert not Rating.objects.exists()
