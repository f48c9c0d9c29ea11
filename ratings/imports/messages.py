"""Messages about everything that can be wrong with an imported file."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

ALLOWED_FORMATS = _("Use CSV, Excel, JSON or another tool's export, also as gzip or ZIP.")

_DAMAGED = _("The file is damaged or needs a password.")
_ZIP_DAMAGED = _("'%(value)s' is damaged or needs a password.")
_UNSUPPORTED = _("This file type isn't supported. %(allowed)s")
_TOO_LONG = _("A cell, line or record exceeds %(limit)s characters.")
_QUOTES = _("Quotation marks must enclose the whole cell.")
_INVALID_CHARACTER = _("'%(value)s' contains an invalid character, perhaps a line break.")
_UNKNOWN = _("'%(value)s' is new, but new items and raters aren't allowed.")
_WHOLE_NUMBER = _("'%(value)s' must be a whole number from %(low)s to %(limit)s.")
_NO_RATINGS = _("This %(format)s file has no ratings of whole items by single raters.")

# Problem kind -> message
MESSAGES: dict[str, str | Promise] = {
    # The file as a whole
    "empty": _("The file is empty. Add a header row and ratings or items."),
    "too_large": _("The unpacked file exceeds %(limit)s bytes."),
    # ZIP archives
    "zip": _("The ZIP needs a table of its media files."),
    "zip_manifests": _("Keep one of these tables in the ZIP: %(found)s."),
    "zip_broken": _ZIP_DAMAGED,
    "zip_cut": _DAMAGED,
    "zip_many": _("The ZIP exceeds %(limit)s files."),
    "zip_name": _("'%(value)s' points outside the ZIP or isn't a file name."),
    "zip_duplicate_name": _("'%(value)s' occurs twice in the ZIP."),
    "zip_locked": _ZIP_DAMAGED,
    "zip_kind": _("Remove '%(value)s' from the ZIP: not a supported image, audio or video file."),
    "zip_large": _("'%(value)s' has %(found)s bytes (limit: %(limit)s)."),
    "media_missing": _("'%(value)s' is neither in the ZIP nor uploaded."),
    "pdf": _UNSUPPORTED,
    "html": _UNSUPPORTED,
    "binary": _UNSUPPORTED,
    # JSON
    "json": _("Invalid JSON: %(why)s. Use a list of objects, or one object per line."),
    "json_cut": _("The JSON ends within a record."),
    "json_object": _("Expected an object {...}, not %(found)s."),
    "json_deep": _("The record exceeds %(limit)s levels."),
    "json_long": _TOO_LONG,
    "columns_differ": _("No record has the fields of the first ones."),
    # Workbooks and XML
    "xlsx_part": _(
        "Part %(name)s of the workbook exceeds %(limit)s elements or bytes. Save as CSV."
    ),
    "xlsx_rows": _("Row %(found)s exceeds the limit of %(limit)s. Save as CSV."),
    "xlsx_gap": _("Delete the empty rows above this row (limit: %(limit)s)."),
    "xlsx_formula": _("This formula has no value. Save the workbook in a spreadsheet program."),
    "xlsx_error": _("Spreadsheet error '%(value)s'. Enter a value instead."),
    "parquet": _DAMAGED,
    "parquet_missing": _("Ask an administrator to install pyarrow for Parquet."),
    "xml": _("Invalid XML: %(why)s."),
    "xml_entities": _("XML with a document type or entities isn't allowed."),
    "gzip": _DAMAGED,
    "file_missing": _("The uploaded file is gone. Upload it again."),
    # Text and lines
    "bytes": _("Byte %(byte)s isn't valid in %(encoding)s. In %(guess)s, it reads '%(text)s'."),
    "nul": _("Text can't contain NUL characters."),
    "line_long": _TOO_LONG,
    "cell_long": _TOO_LONG,
    "quote_open": _QUOTES,
    "invalid_quote": _QUOTES,
    "columns_many": _("%(found)s columns (limit: %(limit)s)."),
    # Header line
    "one_column": _(
        "Only one column found. Separate columns by comma, semicolon, tab or vertical bar; "
        "don't quote whole lines."
    ),
    "name_empty": _("Column %(place)s has no name."),
    "duplicate_column_name": _(
        "Columns %(first)s and %(second)s are named '%(name)s'. Rename one, or add a header row."
    ),
    "no_names": _("The label column's name, '%(name)s', is also a label."),
    "only_names": _("No ratings below the header row."),
    # Rows
    "cells": _("The header row has %(wanted)s cells, this row %(found)s."),
    "key_empty": _("The cell is empty."),
    "key_long": _("'%(value)s…' has %(found)s characters (limit: %(limit)s)."),
    "surrogate": _("'%(value)s' contains half a character."),
    "invalid_item": _("The item can't be saved: %(why)s."),
    "conflicting_item": _(
        "Item '%(value)s' has '%(found)s' in '%(field)s', but '%(wanted)s' in line %(other)s."
    ),
    "question_key": _("At most 64 letters, digits, “_”, “.” or “-”; first a letter or digit."),
    "questions_many": _("'%(value)s' exceeds %(limit)s questions per project."),
    "key_control": _INVALID_CHARACTER,
    "label_unknown": _("'%(value)s' isn't a label. Allowed: %(allowed)s."),
    "labels_many": _(
        "%(found)s different labels (limit: %(limit)s). Choose another column; for "
        "measurements, use `manage.py agreement FILE --scale interval`."
    ),
    "item_unknown": _UNKNOWN,
    "rater_unknown": _UNKNOWN,
    "time": _("%(reason)s."),
    "guidelines": _WHOLE_NUMBER,
    "repeats_many": _("Rater '%(rater)s' rates item '%(item)s' more than %(limit)s times."),
    "nothing_usable": _("The file has nothing to import, only %(reasons)s."),
    "field_missing": _("The record lacks '%(field)s'."),
    "count": _WHOLE_NUMBER,
    "merged_labels": _NO_RATINGS,
    "prolific": _NO_RATINGS,
    "promptfoo_table": _NO_RATINGS,
    "lm_eval_results": _NO_RATINGS,
    "webanno": _NO_RATINGS,
    "marks_in_items": _NO_RATINGS,
    "yaml": _UNSUPPORTED,
    "question_missing": _("The file has no question '%(question)s', only %(found)s."),
}

# Problem kind, or the value "step" of a problem -> (what to do, options of the commands that do
# it); for problems whose message does not say it.
NEXT_STEPS: dict[str, tuple[str | Promise, str]] = {
    "quote_open": (_("Write quotation marks inside cells twice."), ""),
    "invalid_quote": (_("Write quotation marks inside cells twice."), ""),
    "marks_in_items": (_("Import one label per item."), ""),
    "merged_labels": (
        _("Import the job's worker responses."),
        "",
    ),
    "prolific": (_("Import the file with the answers."), ""),
    "promptfoo_table": (
        _("Import the JSON results (promptfoo export latest -o results.json)."),
        "",
    ),
    "lm_eval_results": (_("Import the samples (--log_samples, samples_TASK.jsonl)."), ""),
    "webanno": (
        _("Export UIMA CAS JSON with document labels."),
        "",
    ),
    "choose_item": (
        _("Choose '%(field)s' as the item ID, or ignore it."),
        "--map item=%(field)s, or --map ignore=%(field)s",
    ),
    "leave_out": (
        _("Ignore '%(field)s', or choose another item ID."),
        "--map ignore=%(field)s, or --map item=COLUMN",
    ),
    "label_unknown": (
        _("Correct it, or make it a category or missing value code."),
        "--missing %(value)s",
    ),
    "key_empty": (
        _("Fill it in, delete the row or choose another column."),
        "--map ROLE=COLUMN",
    ),
    "key_long": (_("Choose another column."), "--map ROLE=COLUMN"),
    "key_control": (_("Choose another column."), "--map ROLE=COLUMN"),
    "cells": (_("Quote cells that contain the delimiter."), ""),
    "few_cells": (_("Add the missing cells, even if empty."), ""),
    "bytes": (
        _("Choose the encoding, or save the file as UTF-8."),
        "--encoding %(option)s, or --encoding ENCODING",
    ),
    "no_names": (_("Add the missing header row."), ""),
    "guidelines": (
        _("Leave the cell empty, or ignore guidelines versions."),
        "--map guidelines=",
    ),
    "repeats_many": (_("Choose the columns that identify items."), "--map item=COLUMN"),
    "nothing_usable": (
        _("Choose the item, rater and label columns."),
        "--map item=COLUMN rater=COLUMN label=COLUMN",
    ),
    "question_missing": (_("Choose one of these questions."), "--question KEY"),
    "count": (_("Correct the number, or choose another layout."), "--layout wide"),
}
