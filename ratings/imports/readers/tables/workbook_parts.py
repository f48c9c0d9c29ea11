"""Limits of the parts of a workbook, which openpyxl parses into memory.

openpyxl frees a row of a sheet, and a shared string, after reading it, and keeps every other
element of a part in memory. So the elements and bytes between the ends of two rows are limited.
"""

from __future__ import annotations

import functools
import zipfile
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from ratings.imports.problems import UnreadableFileError

_NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
# The elements that openpyxl reads one by one, and how many of them a part may have.
MAX_UNITS = {f"{_NAMESPACE} row": 1_048_576, f"{_NAMESPACE} si": 2_000_000}
MAX_ELEMENTS = 100_000  # of other kinds, between two of those: a row of 10,000 cells has 60,000
MAX_PART_BYTES = 4 << 20  # between two of those; the time of a comment grows with its square
_CHUNK_BYTES = 1 << 16


class WorkbookArchive(zipfile.ZipFile):
    """A workbook's ZIP archive, each part of which is counted before it is parsed.

    Which parts are parsed depends on the contents of others, so this is where they are opened.
    """

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        super().__init__(file)
        status = path.stat()
        self._counted_names = _get_counted_names(path, status.st_size, status.st_mtime_ns)

    def open(self, name: Any, *arguments: Any, **options: Any) -> Any:
        """Open a part. Raises UnreadableFileError if it has too many elements."""
        part_name = name.filename if isinstance(name, zipfile.ZipInfo) else name
        if part_name not in self._counted_names:
            with super().open(name) as part:
                _PartCounter(part_name).read(part)
            self._counted_names.add(part_name)
        return super().open(name, *arguments, **options)


@functools.lru_cache(maxsize=8)
def _get_counted_names(path: Path, size: int, mtime_ns: int) -> set[str]:
    """Return the set, kept for a version of a file, to which names of counted parts are added."""
    return set()


class _PartCounter:
    """Counts the elements and bytes of a part between its rows or shared strings."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.n_elements = 0
        self.n_units = 0
        self.n_open_units = 0
        self.last_end = 0  # byte at which the last row or shared string ended
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start_element
        self.parser.EndElementHandler = self._end_element
        self.parser.StartDoctypeDeclHandler = self._reject_doctype

    def read(self, part: IO[bytes]) -> None:
        """Raise UnreadableFileError if the part exceeds a limit or is broken."""
        n_bytes = 0
        try:
            while chunk := part.read(_CHUNK_BYTES):
                n_bytes += len(chunk)
                self.parser.Parse(chunk, False)
                if n_bytes - self.last_end > MAX_PART_BYTES:
                    self._reject(MAX_PART_BYTES)
            self.parser.Parse(b"", True)
        except expat.ExpatError:
            raise UnreadableFileError("zip_cut") from None

    def _start_element(self, name: str, _attributes: Any) -> None:
        if name in MAX_UNITS:
            self.n_open_units += 1
            self.n_units += 1
            if self.n_units > MAX_UNITS[name]:
                self._reject(MAX_UNITS[name])
        self.n_elements += 1
        if self.n_elements > MAX_ELEMENTS:
            self._reject(MAX_ELEMENTS)

    def _end_element(self, name: str) -> None:
        if name in MAX_UNITS:
            self.n_open_units -= 1
            # What is in a row in a row stays in memory until the end of the outer one.
            if not self.n_open_units:
                self.n_elements = 0
                self.last_end = self.parser.CurrentByteIndex

    def _reject_doctype(self, *_arguments: Any) -> None:
        raise UnreadableFileError("xml_entities")

    def _reject(self, limit: int) -> None:
        raise UnreadableFileError("xlsx_part", name=self.name[:200], limit=limit)
