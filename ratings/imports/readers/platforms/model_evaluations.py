"""Evaluations of models by metrics: DeepEval, and samples of lm-evaluation-harness.

A test case or a document is an item, a metric a question, and what computed it a rater of kind
model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tools.base import (
    Fields,
    ToolReader,
    ToolSource,
    build_body,
    build_model_rater,
    build_rating,
    get_object,
    list_objects,
    to_text,
)
from ratings.imports.records import ItemRecord, RatingRecord, Record, SkippedRecord

from .evaluation_logs import NestedSource

CASE_FIELDS = ("input", "actualOutput", "expectedOutput", "context", "retrievalContext")
# Fields of a sample that are no metrics.
SAMPLE_FIELDS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
    "doc_hash", "prompt_hash", "target_hash",
}  # fmt: skip
PLAIN_FILTER = "none"  # of samples whose responses are compared as they are


class DeepEvalSource(NestedSource):
    """Source of DeepEval's test runs; the answer is whether a test case passed a metric."""

    name = "DeepEval"
    columns = {"item": "name", "rater": "evaluationModel", "label": "success"}
    list_path = ("testCases",)
    marks = (b'"testCases"', b'"metricsData"')

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()

    def open_reader(self, path: Path, mapping: ImportMapping) -> ToolReader:
        return ToolReader(type(self)(), path, mapping)

    def has_own_fields(self, fields: Fields) -> bool:
        return {"input", "metricsData"} <= fields.keys()

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        name = to_text(fields.get("name")) or "test case"
        self.names[name] += 1
        key = f"{name}/{self.names[name]}" if self.names[name] > 1 else name
        body = build_body({field: fields.get(field) for field in CASE_FIELDS})
        yield ItemRecord(line, key, body or None)
        metrics = list_objects(fields.get("metricsData"))
        for metric in metrics:
            question = to_text(metric.get("name"))
            if not question or not isinstance(metric.get("success"), bool) or metric.get("error"):
                yield SkippedRecord(line, "no_label")
                continue
            rater = to_text(metric.get("evaluationModel")) or question
            yield build_model_rater(line, rater)
            label = "pass" if metric["success"] else "fail"
            comment = to_text(metric.get("reason")) or None
            yield build_rating(line, key, rater, label, question=question, comment=comment)
        if not metrics:
            yield SkippedRecord(line, "no_label")


class LmEvalSource(ToolSource):
    """Source of the samples that lm-evaluation-harness logs.

    Each filter of the responses, such as strict-match, is a rater; the metric is the question.
    """

    name = "lm-evaluation-harness"
    columns = {"item": "doc_id", "rater": "filter", "label": "metrics"}

    def can_read(self, sample: FileSample) -> bool:
        return sample.has_fields("doc_id", "doc", "target", "resps", "filtered_resps")

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        key = to_text(fields["doc_id"])
        doc = get_object(fields, "doc") or {"text": fields["doc"]}
        yield ItemRecord(line, key, build_body({**doc, "target": fields["target"]}))
        filter_name = to_text(fields.get("filter"))
        for metric, value in fields.items():
            if metric in SAMPLE_FIELDS:
                continue
            rater = metric if filter_name in ("", PLAIN_FILTER) else filter_name
            rating = build_rating(line, key, rater, value, question=metric)
            if isinstance(rating, RatingRecord):
                yield build_model_rater(line, rater)
            yield rating
