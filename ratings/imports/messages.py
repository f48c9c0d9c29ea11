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
    "too_large": _("The file has more than %(limit)s bytes (unpacked), the most that is allowed."),
    # ZIP archives
    "zip": _(
        "This ZIP archive has no manifest. One table (CSV, Excel workbook, JSON) or export of "
        "another tool is needed beside the images, audio and video that it names."
    ),
    "zip_manifests": _(
        "This ZIP archive has more than one table; take out all but the manifest: %(found)s."
    ),
    "zip_broken": _("The ZIP archive cannot be unpacked: '%(value)s' is damaged or cut off."),
    "zip_cut": _("The ZIP archive or Excel workbook cannot be read: it is damaged or cut off."),
    "zip_many": _("The ZIP archive holds too many files; %(limit)s at most are allowed."),
    "zip_name": _("'%(value)s' in the ZIP archive leads out of it, or is no name of a file."),
    "zip_duplicate_name": _("'%(value)s' occurs twice in the ZIP archive."),
    "zip_locked": _("'%(value)s' in the ZIP archive is protected by a password."),
    "zip_kind": _(
        "'%(value)s' in the ZIP archive is no image, audio or video of a kind that can be "
        "shown. Take it out."
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
    "binary": _("This is no text file. %(allowed)s"),
    "conll": _(
        "This is a CoNLL file: its labels belong to single words, and an answer is about a "
        "whole item."
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
        "The cell holds a formula whose value is not stored in the workbook. Open and save it "
        "in a spreadsheet program, or paste the values."
    ),
    "xlsx_error": _(
        "The cell holds the error '%(value)s' of a spreadsheet program; a value is needed."
    ),
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
        "Byte %(byte)s does not belong into a text in %(encoding)s. Choose the encoding "
        "that the file was saved in."
    ),
    "nul": _("There is a NUL character. Text of letters, digits and signs is needed."),
    "line_long": _("The line has more than %(limit)s characters, the most that is allowed."),
    "cell_long": _("A cell has more than %(limit)s characters, the most that is allowed."),
    "quote_open": _(
        "A cell that begins with a quotation mark here is not closed. Quotation marks "
        "inside a cell are doubled."
    ),
    "invalid_quote": _(
        "After a closing quotation mark comes neither a delimiter nor the line's end. "
        "Quotation marks inside a cell are doubled."
    ),
    "columns_many": _("%(found)s columns; %(limit)s at most are allowed."),
    # Header line
    "one_column": _(
        "There is one column only. Columns are separated by a comma, a semicolon, a tab "
        "or a vertical bar."
    ),
    "name_empty": _("Column %(place)s has no name. The first line names every column."),
    "duplicate_column_name": _(
        "'%(name)s' names column %(first)s and column %(second)s. Each column needs a "
        "name of its own."
    ),
    "no_names": _(
        "The column of labels is named '%(name)s', which is a label itself: "
        "the line of column names seems to be missing."
    ),
    "only_names": _("There is a line of column names, but no rating below it."),
    # Rows
    "cells": _("%(found)s cells, where the line of names has %(wanted)s."),
    "key_empty": _("The cell is empty. Each row needs an item, a rater and a label."),
    "key_long": _("'%(value)s…' has %(found)s characters; %(limit)s at most are allowed."),
    "surrogate": _("'%(value)s' holds half of a character (a lone surrogate), which is no text."),
    "nul_text": _("A text holds a NUL character. Text of letters, digits and signs is needed."),
    "invalid_item": _("The item cannot be stored: %(why)s."),
    "conflicting_item": _(
        "Item '%(value)s' has '%(found)s' as its '%(field)s', but another content in line "
        "%(other)s: '%(wanted)s'. An item has one content."
    ),
    "question_key": _(
        "'%(value)s' cannot be the ID of a question. Use up to 64 letters, digits, '_', "
        "'.' and '-'."
    ),
    "questions_many": _(
        "'%(value)s' is one question more than the %(limit)s that a project may have."
    ),
    "key_control": _(
        "'%(value)s' holds a control character such as a line end, which is not allowed here."
    ),
    "label_unknown": _("'%(value)s' is no label of this question; one of %(allowed)s."),
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
        "'%(value)s' is no version of guidelines: a whole number from 1 to %(limit)s, or "
        "nothing, is needed."
    ),
    "repeats_many": _("Rater '%(rater)s' rates item '%(item)s' more than %(limit)s times."),
    "nothing_usable": _("Nothing in the file can be imported. It holds %(reasons)s."),
    "field_missing": _("The record has no '%(field)s'; it is needed in a file of this kind."),
    "count": _(
        "'%(value)s' is no number of ratings or items: a whole number from 0 to %(limit)s is "
        "needed."
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
        _("Choose no column as the version of the guidelines to leave it away."),
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
