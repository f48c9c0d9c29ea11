"""INCEpTION: a document with its annotations as UIMA CAS JSON.

Annotations of the whole document (document metadata) are answers, each feature a question; those of
a part of the text are not imported. `DocumentMetaData` has the name of the document and, in the
export of a project, the annotator.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tables.cells import build_question_key
from ratings.imports.records import ItemRecord, Record, SkippedRecord

from .base import Fields, ToolSource, build_rating, get_item_key, parse_single_answer, to_text

STRUCTURES = "%FEATURE_STRUCTURES"
TYPE = "%TYPE"
UIMA_PREFIXES = ("uima.", "de.tudarmstadt.ukp.dkpro.core.api.metadata.")
# Layers that the tool creates by itself: words and sentences.
SEGMENTATION_PREFIXES = ("de.tudarmstadt.ukp.dkpro.core.api.segmentation.",)
METADATA_TYPE = "DocumentMetaData"


class InceptionSource(ToolSource):
    """Source of INCEpTION's exports."""

    name = "INCEpTION"
    extensions = (".json",)
    columns = {"item": "documentTitle", "rater": "documentId", "label": STRUCTURES}

    def can_read(self, sample: FileSample) -> bool:
        return sample.has_any_field({STRUCTURES})

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        structures = [
            structure
            for structure in _list_structures(fields.get(STRUCTURES))
            if isinstance(structure, dict)
        ]
        metadata: Fields = next(
            (
                structure
                for structure in structures
                if to_text(structure.get(TYPE)).endswith(METADATA_TYPE)
            ),
            {},
        )
        document_text = next(
            (structure["sofaString"] for structure in structures if structure.get("sofaString")), ""
        )
        body = {"text": document_text} if isinstance(document_text, str) and document_text else {}
        key = get_item_key(metadata.get("documentTitle"), body)
        if not key:
            yield SkippedRecord(line, "no_content")
            return
        yield ItemRecord(line, key, body or None)
        user = to_text(metadata.get("documentId"))
        rater = user if user and user != key else mapping.default_rater
        yield from _parse_answers(line, key, rater, structures)


def _list_structures(structures: Any) -> list[Any]:
    """Return the structures of a list or, in older files, of an object by number."""
    if isinstance(structures, dict):
        return list(structures.values())
    return structures if isinstance(structures, list) else []


def _parse_answers(line: int, key: str, rater: str, structures: list[Fields]) -> Iterator[Record]:
    labels_by_question: dict[str, list[str]] = {}
    for structure in structures:
        kind = to_text(structure.get(TYPE))
        if not kind or kind.startswith((*UIMA_PREFIXES, *SEGMENTATION_PREFIXES)):
            continue
        if "begin" in structure or "end" in structure:
            is_relation = any(name in structure for name in ("@Governor", "@Dependent", "@source"))
            yield SkippedRecord(line, "relations" if is_relation else "spans")
            continue
        for feature, value in structure.items():
            if feature[:1] in "%@^#" or isinstance(value, dict):
                continue
            label, reason = parse_single_answer(value)
            if label is None:
                yield SkippedRecord(line, reason)
            else:
                name = build_question_key(f"{kind.rsplit('.', 1)[-1]}.{feature}")
                labels_by_question.setdefault(name, []).append(label)
    for question, labels in labels_by_question.items():
        yield build_rating(line, key, rater, labels, question=question)
