"""INCEpTION: a document with its annotations as UIMA CAS JSON. Annotations of the whole document
(document metadata) are answers, each feature a question; those of a part of the text are left out.
`DocumentMetaData` names the document and, in a project's export, the annotator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ratings.imports.decoding.sample import Sample
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.records import Item, Judgement, LeftOut, Record

from .base import Fields, Tool, item_key, one_answer, question_key, text

STRUCTURES = "%FEATURE_STRUCTURES"
TYPE = "%TYPE"
OF_UIMA = ("uima.", "de.tudarmstadt.ukp.dkpro.core.api.metadata.")
# Layers that the tool makes by itself: words and sentences
OF_TEXT = ("de.tudarmstadt.ukp.dkpro.core.api.segmentation.",)
META = "DocumentMetaData"


class Inception(Tool):
    name = "INCEpTION"
    endings = (".json",)
    columns = {"item": "documentTitle", "rater": "documentId", "label": STRUCTURES}

    def recognises(self, sample: Sample) -> bool:
        return sample.any_has({STRUCTURES})

    def records(self, line: int, fields: Fields, chosen: Mapping) -> Iterator[Record]:
        structures = [one for one in _listed(fields.get(STRUCTURES)) if isinstance(one, dict)]
        meta: Fields = next((one for one in structures if text(one.get(TYPE)).endswith(META)), {})
        sofa = next((one["sofaString"] for one in structures if one.get("sofaString")), "")
        body = {"text": sofa} if isinstance(sofa, str) and sofa else {}
        key = item_key(meta.get("documentTitle"), body)
        if not key:
            yield LeftOut(line, "no_content")
            return
        yield Item(line, key, body or None)
        user = text(meta.get("documentId"))
        rater = user if user and user != key else chosen.one_rater
        yield from _answers(line, key, rater, structures)


def _listed(structures: Any) -> list[Any]:
    """A list, or in older files an object by number."""
    if isinstance(structures, dict):
        return list(structures.values())
    return structures if isinstance(structures, list) else []


def _answers(line: int, key: str, rater: str, structures: list[Fields]) -> Iterator[Record]:
    said: dict[str, list[str]] = {}
    for one in structures:
        kind = text(one.get(TYPE))
        if not kind or kind.startswith((*OF_UIMA, *OF_TEXT)):
            continue
        if "begin" in one or "end" in one:
            relation = any(name in one for name in ("@Governor", "@Dependent", "@source"))
            yield LeftOut(line, "relations" if relation else "spans")
            continue
        for feature, value in one.items():
            if feature[:1] in "%@^#" or isinstance(value, dict):
                continue
            label, reason = one_answer(value)
            if label is None:
                yield LeftOut(line, reason)
            else:
                name = question_key(f"{kind.rsplit('.', 1)[-1]}.{feature}")
                said.setdefault(name, []).append(label)
    for question, labels in said.items():
        label, reason = one_answer(labels)
        if label is None:
            yield LeftOut(line, reason)
        else:
            yield Judgement(line, key, rater, question, label)
