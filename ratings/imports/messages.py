"""Messages for everything that can be wrong with an imported file."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

ALLOWED_FORMATS = _(
    "A table (CSV, Excel workbook, JSON) or another tool's export is needed, plain, packed with "
    "gzip, or in a ZIP archive with the files that it names."
)

# Problem kind -> message
MESSAGES: dict[str, str | Promise] = {
    # The file as a whole
    "empty": _(
        "The file is empty. A line of column names and at least one rating or item are needed."
    ),
    "too_large": _("The file has more than %(limit)s bytes when unpacked, which is the limit."),
    # ZIP archives
    "zip": _(
        "This ZIP archive has no manifest. One table (CSV, Excel workbook, JSON) or export of "
        "another tool is needed beside the images, audio and video that it names."
    ),
    "zip_manifests": _(
        "This ZIP archive has more than one table; keep only the manifest: %(found)s."
    ),
    "zip_broken": _("The ZIP archive cannot be unpacked: '%(value)s' is damaged or cut off."),
    "zip_cut": _("The ZIP archive or Excel workbook cannot be read: it is damaged or cut off."),
    "zip_many": _("The ZIP archive contains too many files; at most %(limit)s are allowed."),
    "zip_name": _("'%(value)s' points outside the ZIP archive, or is not a file name."),
    "zip_duplicate_name": _("'%(value)s' occurs twice in the ZIP archive."),
    "zip_locked": _("'%(value)s' in the ZIP archive is protected by a password."),
    "zip_kind": _(
        "'%(value)s' in the ZIP archive is not an image, audio or video file that can be shown. "
        "Remove it."
    ),
    "zip_large": _(
        "'%(value)s' in the ZIP archive has %(found)s bytes; %(limit)s at most are allowed."
    ),
    "image_missing": _("The ZIP archive has no image '%(value)s', and none was uploaded before."),
    "audio_missing": _(
        "The ZIP archive has no audio file '%(value)s', and none was uploaded before."
    ),
    "video_missing": _("The ZIP archive has no video '%(value)s', and none was uploaded before."),
    "pdf": _("This is a PDF document. %(allowed)s"),
    "html": _("This is an HTML or XML page. %(allowed)s"),
    "binary": _("This is not a text file. %(allowed)s"),
    "conll": _(
        "This is a CoNLL file: it labels single words, but an answer is about a whole item. "
        "Import one label for each text."
    ),
    # JSON
    "json": _(
        "This is not valid JSON: %(why)s. A list of objects, or one object a line, is needed."
    ),
    "json_cut": _("The JSON ends in the middle of a record: the file is cut off."),
    "json_object": _(
        "%(found)s was found instead of an object, {...}, with the fields of a record."
    ),
    "json_deep": _("The record is nested too deeply; %(limit)s levels at most are allowed."),
    "json_long": _("The record has more than %(limit)s characters, the most that is allowed."),
    "columns_differ": _("No record has the fields that the first ones have."),
    # Workbooks and XML
    "xlsx": _("The Excel workbook cannot be read: it is damaged, or protected by a password."),
    "xlsx_large": _("The workbook unpacks to more than %(limit)s bytes, the most that is allowed."),
    "xlsx_rows": _(
        "A row of the sheet has the number %(found)s; %(limit)s is the last one that is "
        "allowed. Save the workbook once more with your spreadsheet program."
    ),
    "xlsx_gap": _(
        "There are more than %(limit)s empty rows above this row. Delete them, or save "
        "the sheet as CSV."
    ),
    "xlsx_formula": _(
        "The cell has a formula whose value is not stored in the workbook. Open and save the "
        "workbook in a spreadsheet program, or paste values."
    ),
    "xlsx_error": _("The cell has the spreadsheet error '%(value)s'. Enter a value instead."),
    "parquet": _("The Parquet file cannot be read further: it is damaged."),
    "parquet_missing": _(
        "This site cannot read Parquet files. Ask an administrator to install pyarrow."
    ),
    "xml": _("This is not valid XML: %(why)s."),
    "xml_entities": _("The XML declares a document type or entities, which are not allowed."),
    "gzip": _("The gzip archive cannot be unpacked: it is damaged or cut off."),
    "file_missing": _("The uploaded file is not there any more. Upload it again."),
    # Text and lines
    "bytes": _(
        "Byte %(byte)s is not valid in %(encoding)s. Choose the encoding that the file was saved "
        "in."
    ),
    "nul": _("There is a NUL character, which text cannot contain."),
    "line_long": _("The line has more than %(limit)s characters, the most that is allowed."),
    "cell_long": _("A cell has more than %(limit)s characters, the most that is allowed."),
    "quote_open": _(
        "The cell that begins with a quotation mark here is never closed. Double quotation "
        "marks that belong to the cell."
    ),
    "invalid_quote": _(
        "A closing quotation mark must be followed by a delimiter or the end of the line. "
        "Double quotation marks that belong to the cell."
    ),
    "columns_many": _("%(found)s columns; %(limit)s at most are allowed."),
    # Header line
    "one_column": _(
        "There is only one column. Separate columns by a comma, a semicolon, a tab or a "
        "vertical bar."
    ),
    "name_empty": _("Column %(place)s has no name. The first line names every column."),
    "duplicate_column_name": _(
        "Column %(first)s and column %(second)s are both named '%(name)s'. Give each column a name "
        "of its own; if the first line has ratings, add a line of column names above it."
    ),
    "no_names": _(
        "The column of labels is named '%(name)s', which is a label itself: "
        "the line of column names seems to be missing."
    ),
    "only_names": _("There is a line of column names, but there are no ratings below it."),
    # Rows
    "cells": _("%(found)s cells, but the line of column names has %(wanted)s."),
    "key_empty": _("The cell is empty. Each row needs an item, a rater and a label."),
    "key_long": _("'%(value)s…' has %(found)s characters; %(limit)s at most are allowed."),
    "surrogate": _("'%(value)s' holds half of a character (a lone surrogate), which is no text."),
    "nul_text": _("A text has a NUL character, which is not allowed."),
    "invalid_item": _("The item cannot be stored: %(why)s."),
    "conflicting_item": _(
        "Item '%(value)s' has '%(found)s' as its '%(field)s', but another content in line "
        "%(other)s: '%(wanted)s'. An item has one content."
    ),
    "question_key": _(
        "'%(value)s' cannot be the ID of a question. Use up to 64 letters, digits, '_', "
        "'.' and '-'."
    ),
    "questions_many": _("A project can have %(limit)s questions, and '%(value)s' is one more."),
    "key_control": _(
        "'%(value)s' contains a control character, such as a line break, which is not allowed."
    ),
    "label_unknown": _("'%(value)s' is not a label of this question. Allowed: %(allowed)s."),
    "labels_many": _(
        "%(found)s different labels; a question may have %(limit)s. If these are scores or "
        "measurements, `manage.py agreement FILE --scale interval` computes their agreement; "
        "else choose another column of labels."
    ),
    "item_unknown": _("'%(value)s' is not an item of this project, and new items are not allowed."),
    "rater_unknown": _(
        "'%(value)s' is not a rater of this project, and new raters are not allowed."
    ),
    "time": _("%(reason)s."),
    "guidelines": _(
        "'%(value)s' is not a version of the guidelines. Use a whole number from 1 to %(limit)s, "
        "or leave the cell empty."
    ),
    "repeats_many": _("Rater '%(rater)s' rates item '%(item)s' more than %(limit)s times."),
    "nothing_usable": _("Nothing in the file can be imported. It contains %(reasons)s."),
    "field_missing": _("The record has no '%(field)s'; it is needed in a file of this kind."),
    "count": _(
        "'%(value)s' is not a number of ratings or items. Use a whole number from 0 to %(limit)s."
    ),
    "merged_labels": _(
        "The file has labels that were merged from several raters, and no rater's own answers. "
        "Import the answers of the single workers, such as the worker responses of the job."
    ),
    "prolific": _(
        "This is Prolific's list of participants, which has no ratings. Import the file with "
        "the answers, and map the column of the participant's ID as the rater."
    ),
    "question_missing": _("No row is of the question '%(question)s'; the file has %(found)s."),
}

# Problem kind, or the value "step" of a problem -> (what to do, options of the commands that do
# it); for problems whose message does not say it.
NEXT_STEPS: dict[str, tuple[str | Promise, str]] = {
    "choose_item": (
        _("Choose '%(field)s' as the item ID, or leave this column out."),
        "--map item=%(field)s, or --map ignore=%(field)s",
    ),
    "leave_out": (
        _("Leave the column '%(field)s' out, or choose another column as the item ID."),
        "--map ignore=%(field)s, or --map item=COLUMN",
    ),
    "label_unknown": (
        _("Correct it, add it to the categories, or make it a code for a missing value."),
        "--missing %(value)s",
    ),
    "key_empty": (
        _("Fill the cells in, delete these rows, or choose another column."),
        "--map ROLE=COLUMN",
    ),
    "key_long": (_("Choose another column."), "--map ROLE=COLUMN"),
    "key_control": (_("Choose another column."), "--map ROLE=COLUMN"),
    "cells": (_("Put a cell that contains the delimiter into quotation marks."), ""),
    "no_names": (_("Add a first line with the names of the columns."), ""),
    "guidelines": (
        _("Leave the version of the guidelines out by choosing no column for it."),
        "--map guidelines=",
    ),
    "repeats_many": (_("Choose another column as the item ID."), "--map item=COLUMN"),
    "nothing_usable": (
        _("Choose the columns of the item, the rater and the label."),
        "--map item=COLUMN rater=COLUMN label=COLUMN",
    ),
    "question_missing": (_("Choose one of these questions."), "--question KEY"),
    "count": (_("Correct the number, or choose another layout."), "--layout wide"),
}
