"""Messages for everything that can be wrong with an imported file."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

ALLOWED_FORMATS = _(
    "Use a table (CSV, Excel, JSON) or another tool's export, optionally as gzip, or as ZIP "
    "with its media files."
)

# Problem kind -> message
MESSAGES: dict[str, str | Promise] = {
    # The file as a whole
    "empty": _("The file is empty. It needs a header row and at least one rating or item."),
    "too_large": _("Unpacked, the file exceeds the limit of %(limit)s bytes."),
    # ZIP archives
    "zip": _(
        "This ZIP archive has no manifest. Besides media, it needs one table (CSV, Excel, "
        "JSON) or export that lists them."
    ),
    "zip_manifests": _("This ZIP archive has several tables. Keep only the manifest: %(found)s."),
    "zip_broken": _("The ZIP archive can't be unpacked: '%(value)s' is damaged or cut off."),
    "zip_cut": _(
        "The ZIP archive or Excel workbook is damaged, cut off or protected by a password."
    ),
    "zip_many": _("The ZIP archive has too many files. The limit is %(limit)s."),
    "zip_name": _("'%(value)s' points outside the ZIP archive or isn't a file name."),
    "zip_duplicate_name": _("'%(value)s' occurs twice in the ZIP archive."),
    "zip_locked": _("'%(value)s' in the ZIP archive is protected by a password."),
    "zip_kind": _(
        "'%(value)s' in the ZIP archive isn't a supported image, audio or video file. Remove it."
    ),
    "zip_large": _("'%(value)s' in the ZIP archive has %(found)s bytes. The limit is %(limit)s."),
    "media_missing": _("'%(value)s' is neither in the ZIP archive nor uploaded."),
    "pdf": _("This is a PDF. %(allowed)s"),
    "html": _("This is an HTML or XML page. %(allowed)s"),
    "binary": _("This is not a text file. %(allowed)s"),
    # JSON
    "json": _("Invalid JSON: %(why)s. Use a list of objects, or one object per line."),
    "json_cut": _("The JSON is cut off in the middle of a record."),
    "json_object": _("Expected an object {...}, not %(found)s."),
    "json_deep": _("The record is nested too deeply. The limit is %(limit)s levels."),
    "json_long": _("The record exceeds the limit of %(limit)s characters."),
    "columns_differ": _("No record has the fields of the first ones."),
    # Workbooks and XML
    "xlsx_part": _(
        "The part %(name)s of the workbook exceeds the limit of %(limit)s elements or bytes. Copy "
        "the table into a new workbook, or save the sheet as CSV."
    ),
    "xlsx_rows": _(
        "A row has number %(found)s, above the limit of %(limit)s. Save the workbook again "
        "with your spreadsheet program."
    ),
    "xlsx_gap": _(
        "More than %(limit)s empty rows above this row. Delete them, or save the sheet as CSV."
    ),
    "xlsx_formula": _(
        "The value of this formula isn't stored in the workbook. Open and save it in a "
        "spreadsheet program, or paste values."
    ),
    "xlsx_error": _("Spreadsheet error '%(value)s'. Enter a value instead."),
    "parquet": _("The Parquet file is damaged."),
    "parquet_missing": _("Parquet needs pyarrow. Ask an administrator to install it."),
    "xml": _("Invalid XML: %(why)s."),
    "xml_entities": _("XML with a document type or entities isn't allowed."),
    "gzip": _("The gzip archive is damaged or cut off."),
    "file_missing": _("The uploaded file is gone. Upload it again."),
    # Text and lines
    "bytes": _(
        "Byte %(byte)s isn't valid in %(encoding)s. Choose the file's encoding. In %(guess)s, "
        "the word with this byte is '%(text)s'."
    ),
    "nul": _("Text can't contain NUL characters."),
    "line_long": _("The line exceeds the limit of %(limit)s characters."),
    "cell_long": _("A cell exceeds the limit of %(limit)s characters."),
    "quote_open": _("A quotation mark opens this cell but nothing closes it."),
    "invalid_quote": _("After a closing quotation mark, a delimiter or line end is needed."),
    "columns_many": _("%(found)s columns exceed the limit of %(limit)s."),
    # Header line
    "one_column": _(
        "Only one column. Separate columns by comma, semicolon, tab or vertical bar, and don't "
        "put quotation marks around whole lines."
    ),
    "name_empty": _("Column %(place)s has no name in the header row."),
    "duplicate_column_name": _(
        "Columns %(first)s and %(second)s are both named '%(name)s'. Use different names; if "
        "the first line has ratings, add a header row."
    ),
    "no_names": _(
        "The label column is named '%(name)s', which is a label: the header row seems to be "
        "missing."
    ),
    "only_names": _("There are no ratings below the header row."),
    # Rows
    "cells": _("%(found)s cells, but the header row has %(wanted)s."),
    "key_empty": _("Empty cell. Rows need item, rater and label."),
    "key_long": _("'%(value)s…' has %(found)s characters. The limit is %(limit)s."),
    "surrogate": _("'%(value)s' contains half a character."),
    "invalid_item": _("The item can't be saved: %(why)s."),
    "conflicting_item": _(
        "Item '%(value)s' has '%(found)s' in '%(field)s', but '%(wanted)s' in line %(other)s. "
        "An item has one content."
    ),
    "question_key": _(
        "'%(value)s' can't be a question ID. Use up to 64 letters, digits, '_', '.' and '-'."
    ),
    "questions_many": _("'%(value)s' exceeds the limit of %(limit)s questions per project."),
    "key_control": _("'%(value)s' contains a control character, such as a line break."),
    "label_unknown": _("'%(value)s' isn't a label of this question. Allowed: %(allowed)s."),
    "labels_many": _(
        "%(found)s different labels exceed the limit of %(limit)s. For scores or measurements, "
        "use `manage.py agreement FILE --scale interval`; otherwise, choose another label "
        "column."
    ),
    "item_unknown": _("'%(value)s' is a new item, which isn't allowed."),
    "rater_unknown": _("'%(value)s' is a new rater, which isn't allowed."),
    "time": _("%(reason)s."),
    "guidelines": _(
        "'%(value)s' isn't a guidelines version. Use a whole number from 1 to %(limit)s, or "
        "leave the cell empty."
    ),
    "repeats_many": _("Rater '%(rater)s' rates item '%(item)s' more than %(limit)s times."),
    "nothing_usable": _("The file has nothing to import, only %(reasons)s."),
    "field_missing": _("The record lacks '%(field)s'."),
    "count": _("'%(value)s' isn't a count. Use a whole number from 0 to %(limit)s."),
    "merged_labels": _(
        "The file has labels merged from several raters. Import the answers of single workers, "
        "such as the job's worker responses."
    ),
    "prolific": _(
        "This is Prolific's list of participants, without ratings. Import the file with the "
        "answers, and choose the participant ID as the rater."
    ),
    "promptfoo_table": _(
        "This table of promptfoo has outputs instead of grades. Import the results as JSON "
        "(promptfoo export latest -o results.json)."
    ),
    "lm_eval_results": _(
        "These results of lm-evaluation-harness are means. Import the samples that --log_samples "
        "writes (samples_TASK.jsonl)."
    ),
    "webanno": _("%(format)s files mark parts of items; ratings are about whole items."),
    "marks_in_items": _("%(format)s files mark parts of items; ratings are about whole items."),
    "yaml": _("YAML isn't supported. Convert the file to JSON or CSV."),
    "question_missing": _("No row is about question '%(question)s'; the file has %(found)s."),
}

# Problem kind, or the value "step" of a problem -> (what to do, options of the commands that do
# it); for problems whose message does not say it.
NEXT_STEPS: dict[str, tuple[str | Promise, str]] = {
    "quote_open": (_("Double quotation marks inside cells."), ""),
    "invalid_quote": (_("Double quotation marks inside cells."), ""),
    "marks_in_items": (_("Import one label per item."), ""),
    "webanno": (
        _("Export the project as UIMA CAS JSON, with document labels."),
        "",
    ),
    "choose_item": (
        _("Choose '%(field)s' as the item ID, or don't import it."),
        "--map item=%(field)s, or --map ignore=%(field)s",
    ),
    "leave_out": (
        _("Don't import '%(field)s', or choose another item ID."),
        "--map ignore=%(field)s, or --map item=COLUMN",
    ),
    "label_unknown": (
        _("Correct it, add it to the categories, or make it a missing value code."),
        "--missing %(value)s",
    ),
    "key_empty": (
        _("Fill in the cells, delete the rows or choose another column."),
        "--map ROLE=COLUMN",
    ),
    "key_long": (_("Choose another column."), "--map ROLE=COLUMN"),
    "key_control": (_("Choose another column."), "--map ROLE=COLUMN"),
    "cells": (_("Put cells with the delimiter into quotation marks."), ""),
    "few_cells": (_("Add the missing cells, also empty ones."), ""),
    "bytes": (
        _("A spreadsheet program can also save it as UTF-8."),
        "--encoding %(option)s, or --encoding ENCODING",
    ),
    "no_names": (_("Add a header row with column names."), ""),
    "guidelines": (
        _("Or choose no column for guidelines versions."),
        "--map guidelines=",
    ),
    "repeats_many": (_("Choose another column as the item ID."), "--map item=COLUMN"),
    "nothing_usable": (
        _("Choose the item, rater and label columns."),
        "--map item=COLUMN rater=COLUMN label=COLUMN",
    ),
    "question_missing": (_("Choose one of these questions."), "--question KEY"),
    "count": (_("Correct the number, or choose another layout."), "--layout wide"),
}
