"""Google Forms: a row for each response, with the time first and the questions as column names.

Respondents are raters, and the rows of a grid, such as `How clear is it? [Text A]`, are items.
"""

from __future__ import annotations

from collections.abc import Iterator

from ratings.imports.decoding.sample import FileSample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers.tools.base import Fields, ToolSource, to_text
from ratings.imports.records import Record

from .respondents import iter_respondent_records, parse_survey_column

TIME_NAMES = ("timestamp", "zeitstempel", "horodateur", "marca temporal", "时间戳记", "时间戳")
PERSON_NAMES = (
    "email address", "username", "e-mail-adresse", "nutzername", "adresse e-mail",
    "nom d'utilisateur", "dirección de correo electrónico", "nombre de usuario", "name",
    "your name",    "电子邮件地址", "用户名",
)  # fmt: skip


class GoogleFormsSource(ToolSource):
    """Source of responses of Google Forms."""

    name = "Google Forms"
    extensions = (".csv",)

    def can_read(self, sample: FileSample) -> bool:
        names = sample.names
        if sample.kind != "text" or len(names) < 3 or names[0].casefold() not in TIME_NAMES:
            return False
        n_grid_rows = sum(name.endswith("]") and "[" in name for name in names)
        n_questions = sum(name.rstrip().endswith(("?", "？")) for name in names)
        return n_grid_rows >= 2 or (names[1].casefold() in PERSON_NAMES and n_questions >= 2)

    def parse_record(self, line: int, fields: Fields, mapping: ImportMapping) -> Iterator[Record]:
        names = list(fields)
        person = next((name for name in names if name.casefold() in PERSON_NAMES), None)
        # Without a name, every row is another respondent.
        rater = to_text(fields[person]) if person else f"respondent {line - 1}"
        answers = (
            (parse_survey_column(name), value)
            for name, value in fields.items()
            if name not in (names[0], person)
        )
        # The time has no zone, and its form is that of the owner's country.
        yield from iter_respondent_records(line, rater, answers, None)
