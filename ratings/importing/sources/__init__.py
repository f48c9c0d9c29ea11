"""The kinds of files that can be imported: SOURCES, a reader for each.

A new tool is one module here and its line in SOURCES. A reader knows its tool and yields the
neutral records of `ratings.importing.shape`. All that comes after reading is the same for every
source: the judge says what is wrong (judging.py), what is right is staged (staging.py), and written
(writing.py).
"""

from __future__ import annotations

from ratings.importing.problems import Unreadable
from ratings.importing.sample import Sample

from .argilla import Argilla
from .concord import Concord
from .csv import Csv
from .cvat import Cvat
from .doccano import Doccano
from .inception import Inception
from .json_records import JsonRecords
from .judge import Judge
from .label_studio import LabelStudio
from .parquet import Parquet
from .potato import Potato
from .prodigy import Prodigy
from .source import Reader, Source
from .xlsx import Xlsx
from .zooniverse import Zooniverse

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
