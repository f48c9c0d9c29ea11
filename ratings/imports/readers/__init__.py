"""The kinds of files that can be imported: SOURCES, a reader for each.

A new tool is one module here and its line in SOURCES. A reader knows its tool and yields the
neutral records of `ratings.imports.records`. All that comes after reading is the same for every
source: the judge says what is wrong (judging.py), what is right is staged (staging.py), and written
(writing.py).
"""

from __future__ import annotations

from ratings.imports.decoding.sample import Sample
from ratings.imports.problems import Unreadable

from .protocols import Reader, Source
from .tables.csv import Csv
from .tables.json_records import JsonRecords
from .tables.parquet import Parquet
from .tables.xlsx import Xlsx
from .tools.argilla import Argilla
from .tools.concord import Concord
from .tools.cvat import Cvat
from .tools.doccano import Doccano
from .tools.inception import Inception
from .tools.label_studio import LabelStudio
from .tools.llm_judge import Judge
from .tools.potato import Potato
from .tools.prodigy import Prodigy
from .tools.zooniverse import Zooniverse

__all__ = ["SOURCES", "TABLES", "Reader", "Source", "endings", "source_of"]

# In the order in which a file is offered to them: tools first, each by fields that it alone has,
# then the tables, which take everything.
SOURCES: dict[str, Source] = {
    "concord": Concord(),
    "label_studio": LabelStudio(),
    "prodigy": Prodigy(),
    "argilla": Argilla(),
    "potato": Potato(),
    "zooniverse": Zooniverse(),
    "inception": Inception(),
    "cvat": Cvat(),
    "judge": Judge(),
    "doccano": Doccano(),
    "xlsx": Xlsx(),
    "parquet": Parquet(),
    "json": JsonRecords(),
    "csv": Csv(),
}
# Those that are no tool's: what any program writes.
TABLES = ("xlsx", "parquet", "json", "csv")


def source_of(sample: Sample) -> str:
    """The name of the source for a file that begins like this. Raises Unreadable."""
    for name, source in SOURCES.items():
        if source.recognises(sample):
            return name
    raise Unreadable({"zip": "zip", "xml": "html"}.get(sample.kind, "binary"))


def endings() -> list[str]:
    """Those of the names of all files that can be imported."""
    found = {ending: None for source in SOURCES.values() for ending in source.endings}
    return [*found, ".zip", ".gz"]
