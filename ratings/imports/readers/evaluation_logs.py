"""Results of programs that evaluate language models, such as promptfoo, Inspect and DeepEval.

An output or test case is an item. A scorer, grader or metric is a rater of kind model, a person who
graded by hand a person. Grades of one kind (passed, correct) answer one question, so that graders
can be compared; other scores and metrics are a question each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ratings.imports.decoding.encodings import PROVISIONAL_ENCODING
from ratings.imports.decoding.json_stream import JsonStream
from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key, is_empty_cell
from ratings.imports.readers.tools.base import (
    Fields,
    ToolReader,
    ToolSource,
    build_attributes,
    build_body,
    build_model_rater,
    build_rating,
    get_object,
    list_objects,
    list_rows,
    parse_json,
    parse_time,
    to_text,
)
from ratings.imports.records import ItemRecord, RatingRecord, Record, RecordTime, SkippedRecord

PASS_QUESTION, SCORE_QUESTION = "pass", "score"
HUMAN = "human"  # promptfoo's type of a grade that a person gave on its pages
LETTER_GRADES = ("C", "I", "P", "N")  # Inspect: correct, incorrect, partly correct, no answer


class NestedSource(ToolSource):
    """Base of sources whose files are one JSON object that contains the list of records.

    ``list_path`` are the names of the fields that lead to the list. ``marks`` identify the
    beginning of a file that is too large to be read as one object.
    """

    extensions = (".json",)
    list_path: tuple[str, ...] = ()
    marks: tuple[bytes, ...] = ()

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind != "json":
            return False
        if not sample.records:
            return all(mark in sample.head for mark in self.marks)
        value: Any = sample.records[0] if len(sample.records) == 1 else None
        for name in self.list_path:
            value = value.get(name) if isinstance(value, dict) else None
        return bool(list_objects(value)) and self.has_own_fields(list_objects(value)[0])

    def has_own_fields(self, fields: Fields) -> bool:
        """Return whether a record has the fields that this tool writes."""
        raise NotImplementedError

    def open_records(self, path: Path, mapping: ImportMapping) -> JsonStream:
        encoding = mapping.encoding or PROVISIONAL_ENCODING
        return JsonStream(path, encoding=encoding, list_path=self.list_path)


class PromptfooSource(NestedSource):
    """Source of promptfoo's results as JSON."""

    name = "promptfoo"
    columns = {"item": "testIdx", "rater": "assertion.type", "label": "pass"}
    list_path = ("results", "results")
    marks = (b'"evalId"', b'"results"', b'"promptIdx"')

    def has_own_fields(self, fields: Fields) -> bool:
        return {"testIdx", "promptIdx", "gradingResult"} <= fields.keys()

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        provider = _get_name(fields.get("provider"))
        test, prompt = to_text(fields.get("testIdx")), to_text(fields.get("promptIdx"))
        key = "/".join(filter(None, (test, prompt, provider)))
        response = fields.get("response")
        output = response.get("output") if isinstance(response, dict) else response
        body = build_body({**get_object(fields, "vars"), "output": output})
        yield ItemRecord(line, key, body or None, {"provider": provider} if provider else None)
        components = get_object(fields, "gradingResult").get("componentResults")
        names: Counter[tuple[str, str]] = Counter()
        for component in list_objects(components):
            yield from self._parse_component(line, key, component, names)
        if not list_objects(components):
            yield SkippedRecord(line, "no_label")

    def _parse_component(
        self, line: int, key: str, component: Fields, names: Counter[tuple[str, str]]
    ) -> Iterator[Record]:
        """Yield the rating of an assertion about an output.

        ``names`` counts the assertions of the output by type and question.
        """
        assertion = get_object(component, "assertion")
        kind, metric = to_text(assertion.get("type")), to_text(assertion.get("metric"))
        if not isinstance(component.get("pass"), bool) or not kind:
            yield SkippedRecord(line, "ignored")
            return
        question = build_question_key(metric) if metric else PASS_QUESTION
        model = _get_name(assertion.get("provider"))
        names[kind, question] += 1
        number = names[kind, question]  # a test may have several assertions of a type
        rater = f"{kind} {number}" if number > 1 else kind
        rater += f" ({model})" if model else ""
        if kind != HUMAN:
            yield build_model_rater(line, rater, model=model or kind)
        label = "pass" if component["pass"] else "fail"
        comment = to_text(component.get("reason")) or None
        yield RatingRecord(line, key, rater, question, label, None, comment)


class InspectSource(NestedSource):
    """Source of Inspect's evaluation logs as JSON."""

    name = "Inspect"
    columns = {"item": "id", "rater": "scores", "label": "value"}
    list_path = ("samples",)
    marks = (b'"status"', b'"eval"', b'"task_id"')

    def has_own_fields(self, fields: Fields) -> bool:
        return {"id", "epoch", "input"} <= fields.keys()

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        epoch = to_text(fields.get("epoch"))
        key = to_text(fields.get("id")) + (f"/{epoch}" if epoch not in ("", "1") else "")
        completion = get_object(fields, "output").get("completion")
        content = {name: fields.get(name) for name in ("input", "target")}
        attributes = build_attributes(get_object(fields, "metadata"))
        body = build_body({**content, "output": completion})
        yield ItemRecord(line, key, body or None, attributes or None)
        scores = get_object(fields, "scores")
        for scorer, score in scores.items():
            if isinstance(score, dict):
                yield from self._parse_score(line, key, scorer, score)
        if not scores:
            yield SkippedRecord(line, "no_label")

    def _parse_score(self, line: int, key: str, scorer: str, score: Fields) -> Iterator[Record]:
        """Yield the ratings of a scorer, and of the people who changed its score."""
        history = list_objects(score.get("history"))
        value = score.get("value")
        if history and history[0].get("value") != "UNCHANGED":
            value = history[0].get("value")
        # Letter grades of all scorers answer one question.
        name = SCORE_QUESTION if value in LETTER_GRADES else scorer
        yield build_model_rater(line, scorer)
        comment = to_text(score.get("explanation")) or None
        yield from _parse_values(line, key, value, rater=scorer, name=name, comment=comment)
        for edit in history[1:]:
            provenance = get_object(edit, "provenance")
            author = to_text(provenance.get("author"))
            if edit.get("value") not in (None, "UNCHANGED") and author:
                rated_at = parse_time(provenance.get("timestamp"))
                yield from _parse_values(
                    line, key, edit["value"], rater=author, name=name, rated_at=rated_at
                )


class OpenaiEvalsSource(ToolSource):
    """Source of the logs of OpenAI Evals: one event per line."""

    name = "OpenAI Evals"
    extensions = (".jsonl",)
    columns = {"item": "sample_id", "rater": "eval_name", "label": "data"}

    def __init__(self) -> None:
        self.eval_name = ""
        self.known_samples: set[str] = set()

    def can_read(self, sample: FileSample) -> bool:
        first = sample.records[0] if sample.records else {}
        spec = first.get("spec")
        return isinstance(spec, dict) and "eval_name" in spec and len(first) == 1

    def open_reader(self, path: Path, mapping: ImportMapping) -> ToolReader:
        return ToolReader(OpenaiEvalsSource(), path, mapping)

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        if isinstance(fields.get("spec"), dict):
            self.eval_name = to_text(fields["spec"].get("eval_name")) or "eval"
            yield build_model_rater(line, self.eval_name)
            return
        key, data = to_text(fields.get("sample_id")), fields.get("data")
        if not key or not isinstance(data, dict):
            return  # the final report, which is computed
        if fields.get("type") == "sampling" and key not in self.known_samples:
            # The first call is the answer of the model; later ones may be those of a grader.
            self.known_samples.add(key)
            body = build_body({"prompt": data.get("prompt"), "output": data.get("sampled")})
            yield ItemRecord(line, key, body or None)
        rated_at = parse_time(fields.get("created_at"))
        if fields.get("type") == "match":
            label = "correct" if data.get("correct") else "incorrect"
            yield RatingRecord(line, key, self.eval_name, "match", label, rated_at)
        elif fields.get("type") == "metrics":
            for name, value in data.items():
                yield from _parse_values(
                    line, key, value, rater=self.eval_name, name=name, rated_at=rated_at
                )


class BraintrustSource(ToolSource):
    """Source of Braintrust's experiments and logs; a score's name is both rater and question."""

    name = "Braintrust"
    extensions = (".json", ".jsonl", ".csv")
    columns = {"item": "id", "rater": "scores", "label": "scores"}

    def can_read(self, sample: FileSample) -> bool:
        if sample.kind == "text":
            names = sample.names
            has_scores = any(name == "scores" or name.startswith("scores.") for name in names)
            return has_scores and {"id", "input", "output"} <= set(names)
        records = [row for record in sample.records for row in list_rows(record)]
        return bool(records) and all(
            {"id", "input", "scores"} <= record.keys()
            and isinstance(record["scores"], dict | type(None))
            for record in records
        )

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        for row in list_rows(fields):
            yield from self._parse_row(line, row)

    def _parse_row(self, line: int, fields: Fields) -> Iterator[Record]:
        scores = parse_json(fields.get("scores"))
        scores = dict(scores) if isinstance(scores, dict) else {}
        scores |= {
            name.removeprefix("scores."): value
            for name, value in fields.items()
            if name.startswith("scores.")
        }
        key = to_text(fields.get("id"))
        if not key:
            yield SkippedRecord(line, "no_content")
            return
        content = {name: fields.get(name) for name in ("input", "output", "expected")}
        metadata = parse_json(fields.get("metadata"))
        attributes = build_attributes(metadata) if isinstance(metadata, dict) else {}
        yield ItemRecord(line, key, build_body(content) or None, attributes or None)
        rated_at = parse_time(fields.get("created"))
        for name, value in scores.items():
            if is_empty_cell(value):
                yield SkippedRecord(line, "no_label")
                continue
            yield build_model_rater(line, name)
            yield from _parse_values(line, key, value, rater=name, name=name, rated_at=rated_at)


def _parse_values(
    line: int,
    key: str,
    value: Any,
    *,
    rater: str,
    name: str,
    comment: str | None = None,
    rated_at: RecordTime = None,
) -> Iterator[Record]:
    """Yield the rating of a score, or one for each part of a score that is an object.

    ``name``, the name of the score, becomes the question's key. ``comment`` and ``rated_at`` are
    None if the log has none.
    """
    if isinstance(value, dict):
        for part, part_value in value.items():
            yield from _parse_values(
                line,
                key,
                part_value,
                rater=rater,
                name=f"{name}.{part}",
                comment=comment,
                rated_at=rated_at,
            )
        return
    yield build_rating(line, key, rater, value, question=name, rated_at=rated_at, comment=comment)


def _get_name(value: Any) -> str:
    """Return the name of a provider, which may be a text or an object."""
    if isinstance(value, dict):
        return to_text(value.get("label") or value.get("id"))
    return to_text(value)


DEEPEVAL_CONTENT_FIELDS = ("input", "actualOutput", "expectedOutput", "context", "retrievalContext")
# Fields of a sample of lm-evaluation-harness that are no metrics.
LM_EVAL_FIELDS = {
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
        body = build_body({field: fields.get(field) for field in DEEPEVAL_CONTENT_FIELDS})
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

    Each filter of the responses, such as strict-match, is a rater; the metric is the question, and
    the rater, too, of responses that no filter has changed.
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
            if metric in LM_EVAL_FIELDS:
                continue
            rater = metric if filter_name in ("", PLAIN_FILTER) else filter_name
            rating = build_rating(line, key, rater, value, question=metric)
            if isinstance(rating, RatingRecord):
                yield build_model_rater(line, rater)
            yield rating
