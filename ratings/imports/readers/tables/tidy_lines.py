"""Lines of a table without titles, totals, notes, and columns without a name.

What is left out is reported; a row that may be data is never dropped.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ratings.imports.mapping.name_tests import is_role_name
from ratings.imports.problems import UnreadableFileError
from ratings.imports.records import Record, SkippedRecord

from .table_end import MAX_END_ROWS, NUMBER, TableEnd, TableLine, get_text

BUFFERED_ROWS = 200  # rows in which a column without a name has to be empty
MAX_TITLE_ROWS = 10
# Names below a question that say that the column has the answer itself, as SurveyMonkey writes.
ANSWER_COLUMN_NAMES = ("response", "open-ended response")
NAMES_MARK = "#"  # before the names of the columns, as NumPy writes them
UNNAMED_FIRST_COLUMN = "(column 1)"  # row names that a data frame was saved with
_NUMBER_SIGN = re.compile(r"#\s*(\d|$)")
_REMARK = re.compile(r"[(\[][^()\[\]]+[)\]]|<[a-z]{3,4}>")
_TIBBLE = ["#", "A", "tibble:"]  # begins the line that R prints above a tibble
_PROMPT = ">"  # begins the line of a command that printed the table
# A line of the frame that database programs print around a table, or their number of rows.
_FRAME = re.compile(r"[+-]*-{3,}[+-]*|\(\d+ rows?\)|\d+ rows? in set.*")
_RULE = re.compile(r":?-{3,}:?|={3,}")
_PANDAS_PAIR = re.compile(r"\(['\"](.*)['\"], ['\"](.*)['\"]\)")  # names in two lines, in one cell


class TableLines(Protocol):
    """Iterable of (line, cells), the column names first; iterating may raise UnreadableFileError.

    ``extra_records`` are records that have no cells of their own; the reader yields and clears
    them.
    """

    extra_records: list[Record]
    has_blank_lines: bool  # True if a gap between the numbers of rows is a blank line

    @property
    def bytes_read(self) -> int: ...

    def __iter__(self) -> Iterator[TableLine]: ...


class TidyLines:
    """Iterable of the column names and rows of a table, without titles, totals and notes."""

    has_blank_lines = False  # those of the file are dropped here

    def __init__(self, lines: TableLines) -> None:
        self.lines = lines
        self.has_comments = False  # lines that begin with # stand above the names
        self.extra_records = lines.extra_records

    @property
    def bytes_read(self) -> int:
        return self.lines.bytes_read

    def __iter__(self) -> Iterator[TableLine]:
        rows = self._iter_without_frame()
        start: list[TableLine] = []
        error: UnreadableFileError | None = None
        try:
            for row in itertools.islice(rows, BUFFERED_ROWS):
                start.append(row)
        except UnreadableFileError as unreadable:
            if not start:
                raise
            error = unreadable  # raised behind the rows that can be read
        self._drop_comments_above(start)
        self._drop_titles(start)
        self._drop_extra_header_lines(start)
        if not start:
            return
        if len(start) > 1 and _is_dashed_row(start[1][1]):  # below the names of a Markdown table
            self._count_skipped_rows([start.pop(1)], "rule_row")
        self._join_two_line_names(start)
        line, header = start[0]
        names = _complete_names(start)
        columns = [
            index
            for index, name in enumerate(names)
            if get_text(name)
            or any(len(cells) > index and get_text(cells[index]) for _, cells in start[1:])
        ]
        yield line, [names[index] for index in columns]
        data = itertools.chain(start[1:], rows)
        has_role_names = any(is_role_name(get_text(name)) for name in names)
        for line, cells in self._iter_without_end(data, len(columns)):
            if has_role_names and _are_same_names(cells, header):
                self._count_skipped_rows([(line, cells)], "repeated_header")
            elif _is_comment(cells) and (self.has_comments or len(cells) != len(names)):
                self._count_skipped_rows([(line, cells)], "comment_row")
            else:
                yield line, self._select_cells(line, cells, columns, len(names))
        if error is not None:
            raise error

    def _iter_without_frame(self) -> Iterator[TableLine]:
        for row in self.lines:
            if is_frame_line(row[1]):
                self._count_skipped_rows([row], "rule_row")
            else:
                yield row

    def _drop_comments_above(self, start: list[TableLine]) -> None:
        """Remove comment lines (#) above the column names, and a # before the names."""
        if start and is_line_above_print(start[0][1]):
            self._count_skipped_rows([start.pop(0)], "comment_row")
        n_comments = len(list(itertools.takewhile(_is_comment, (cells for _, cells in start))))
        names = start[n_comments][1] if n_comments < len(start) else ()
        if n_comments and any(is_role_name(get_text(name)) for name in names):
            self.has_comments = True
            self._count_skipped_rows(start[:n_comments], "comment_row")
            del start[:n_comments]
        if start and start[0][1][:1] == [NAMES_MARK]:
            line, names = start[0]
            if all(len(cells) == len(names) - 1 for _, cells in start[1:]):
                start[0] = line, names[1:]

    def _drop_titles(self, start: list[TableLine]) -> None:
        """Remove title rows: those above the column names with a single or with few cells.

        ``start`` are the first rows. Few cells are at most half as many as the widest row has.
        """
        widths = [sum(map(bool, map(get_text, cells))) for _, cells in start]
        if not widths or max(widths) < 2:
            return
        limit = 1
        if len(start) > 2 and widths[0] < len(start[0][1]):
            # A line of names has as many cells as the rows below it.
            limit = max(1, max(widths) // 2)
        n_titles = next(number for number, width in enumerate(widths) if width > limit)
        if 0 < n_titles <= MAX_TITLE_ROWS and not _has_line_of_group_names(start, n_titles):
            self._count_skipped_rows(start[:n_titles], "title_row")
            del start[:n_titles]

    def _join_two_line_names(self, start: list[TableLine]) -> None:
        """Join column names that stand in two lines, such as Reviewer 1 above Bias.

        The upper line leaves out or repeats the name of a group; the lower one names its columns. A
        third line may have only the name of the first column, as data frames write it.
        """
        if len(start) < 3:
            return
        (line, upper), (_, lower) = start[0], start[1]
        upper_texts, lower_texts = list(map(get_text, upper)), list(map(get_text, lower))
        upper_texts += [""] * (len(lower_texts) - len(upper_texts))  # the end of merged cells
        groups = _fill_merged_names(upper_texts)
        places = [
            index
            for index, group in enumerate(groups)
            if group and groups.count(group) > 1 and index < len(lower_texts)
        ]
        below = {
            get_text(cells[index])
            for _, cells in start[2:]
            for index in places
            if index < len(cells)
        }
        lower_names = {lower_texts[index] for index in places}
        if (
            len(places) < 2
            or len(upper_texts) != len(lower_texts)
            or "" in lower_names
            or lower_names & below
            or any(map(NUMBER.fullmatch, lower_names))
        ):
            return
        names = [
            _join_group_and_name(groups[index], text)
            if index in places
            else upper_texts[index] or text
            for index, text in enumerate(lower_texts)
        ]
        n_lines = 2
        third = [get_text(cell) for cell in start[2][1]]
        if third and third[0] and not any(third[1:]) and 0 not in places:
            names[0], n_lines = third[0], 3
        start[:n_lines] = [(line, names)]

    def _drop_extra_header_lines(self, start: list[TableLine]) -> None:
        """Remove further header lines that survey tools write below the column names."""
        second = {get_text(cell).casefold() for _, cells in start[1:2] for cell in cells} - {""}
        have_remarks = [are_remarks(cells) for _, cells in start[1:3]]
        if (second and second <= set(ANSWER_COLUMN_NAMES)) or have_remarks == [True, False]:
            self._count_skipped_rows([start.pop(1)], "header_row")
        for number, (_, cells) in enumerate(start[1:3], start=1):
            texts = [get_text(cell).replace(" ", "") for cell in cells]
            if any(text.startswith('{"ImportId"') for text in texts):
                self._count_skipped_rows(start[1 : number + 1], "header_row")
                del start[1 : number + 1]
                return

    def _iter_without_end(self, rows: Iterator[TableLine], n_columns: int) -> Iterator[TableLine]:
        """Yield the rows except totals, results and notes at the end, which are reported."""
        first_rows: list[TableLine] = []
        final_rows: deque[TableLine] = deque()
        for row in rows:
            final_rows.append(row)
            if len(final_rows) > MAX_END_ROWS:
                first_row = final_rows.popleft()
                if len(first_rows) < BUFFERED_ROWS:
                    first_rows.append(first_row)
                yield first_row
        end = TableEnd(first_rows, list(final_rows), n_columns)
        end.remove_totals_and_notes(has_blank_lines=self.lines.has_blank_lines)
        yield from end.rows
        for reason, removed_rows in end.removed.items():
            self._count_skipped_rows(removed_rows, reason)

    def _select_cells(
        self, line: int, cells: Sequence[Any], columns: Sequence[int], width: int
    ) -> Sequence[Any]:
        """Return the cells of the columns; all cells if the row is too short or too long.

        ``width`` is the number of columns of the header.
        """
        end = len(cells)
        while end > width and not get_text(cells[end - 1]):
            end -= 1
        if end > width or len(cells) <= columns[-1]:
            return cells
        if len(columns) == width == len(cells):
            return cells
        named = set(columns)
        if any(get_text(cells[index]) for index in range(min(end, width)) if index not in named):
            self.extra_records.append(SkippedRecord(line, "unnamed_column"))
        return [cells[index] for index in columns]

    def _count_skipped_rows(self, rows: Sequence[TableLine], reason: str) -> None:
        self.extra_records += [
            SkippedRecord(line, reason, " ".join(map(get_text, cells)).strip())
            for line, cells in rows
        ]


def is_frame_line(cells: Sequence[Any]) -> bool:
    """Return whether a row is part of the frame that database programs print around a table."""
    return len(cells) == 1 and _FRAME.fullmatch(get_text(cells[0])) is not None


def is_line_above_print(cells: Sequence[Any]) -> bool:
    """Return whether a row stands above a table printed by R: # A tibble: 5 × 4, or > ratings."""
    return list(cells[:3]) == _TIBBLE or (len(cells) > 1 and cells[0] == _PROMPT)


def are_remarks(cells: Sequence[Any]) -> bool:
    """Return whether all cells that are not empty are in brackets, such as units or types."""
    texts = [text for text in map(get_text, cells) if text]
    return len(texts) > 1 and all(map(_REMARK.fullmatch, texts))


def _is_comment(cells: Sequence[Any]) -> bool:
    """Return whether a row begins with # that is neither alone nor part of a number such as #1."""
    return bool(cells) and str(cells[0])[:1] == "#" and not _NUMBER_SIGN.match(get_text(cells[0]))


def _are_same_names(cells: Sequence[Any], header: Sequence[Any]) -> bool:
    """Return whether a row repeats the header row, possibly after a byte order mark."""
    first = str(cells[0]).removeprefix("\ufeff") if cells else ""
    return first == str(header[0]) and list(cells[1:]) == list(header[1:])


def _has_line_of_group_names(start: Sequence[TableLine], n_lines: int) -> bool:
    """Return whether the last of ``n_lines`` narrow lines names groups of columns, not a title."""
    texts = [get_text(cell) for cell in start[n_lines - 1][1]]
    filled = [index for index, text in enumerate(texts) if text]
    has_gaps = filled != list(range(len(filled)))  # between cells that were merged
    # Workbooks leave out the empty cells at the end of a row.
    return len(filled) > 1 and has_gaps and len(texts) <= len(start[n_lines][1])


def _fill_merged_names(texts: Sequence[str]) -> list[str]:
    """Return the names, with each empty one replaced by the last name before it."""
    groups: list[str] = []
    for text in texts:
        groups.append(text or (groups[-1] if groups else ""))
    return groups


def _join_group_and_name(group: str, name: str) -> str:
    """Return the joint name of a column and its group: "group: name", or "question? [row]"."""
    if name.casefold() in ANSWER_COLUMN_NAMES:
        return group
    is_question = group.endswith(("?", "？", ":", ".")) or len(group.split()) > 3
    return f"{group} [{name}]" if is_question else f"{group}: {name}"


def _complete_names(start: Sequence[TableLine]) -> list[Any]:
    """Return the column names, with a name for a first column of row names that has none."""
    names = list(map(_join_pandas_pair, start[0][1]))
    if _lacks_first_name(start):
        names.insert(0, "")
    if not get_text(names[0]) and any(cells and get_text(cells[0]) for _, cells in start[1:]):
        names[0] = UNNAMED_FIRST_COLUMN
    return names


def _lacks_first_name(start: Sequence[TableLine]) -> bool:
    """Return whether every row has one cell more than the header, as R writes row names."""
    rows = [cells for _, cells in start[1:]]
    width = len(start[0][1]) + 1
    return (
        len(rows) > 1
        and width > 2
        and all(len(cells) == width and get_text(cells[0]) for cells in rows)
        and len({get_text(cells[0]) for cells in rows}) == len(rows)
        and any(get_text(cells[-1]) for cells in rows)
    )


def _is_dashed_row(cells: Sequence[Any]) -> bool:
    """Return whether all cells that are not empty are lines of dashes."""
    texts = [text for text in map(get_text, cells) if text]
    return bool(texts) and all(_RULE.fullmatch(text) for text in texts)


def _join_pandas_pair(name: Any) -> Any:
    """Return a name that pandas wrote for two header lines, ('label', 'ann'), as label: ann.

    Any other name is returned unchanged.
    """
    match = _PANDAS_PAIR.fullmatch(name.strip()) if isinstance(name, str) else None
    return ": ".join(filter(None, match.groups())) if match else name
