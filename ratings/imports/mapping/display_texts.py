"""Texts on the meaning of columns: roles, reasons for the guesses, layouts and doubts."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.text import lower_first

Texts = dict[str, str | Promise]

ROLE_TEXTS: Texts = {
    "item": _("item ID"),
    "text": lower_first(_("Text")),
    "html": "HTML",
    "image": lower_first(_("Image")),
    "audio": lower_first(_("Audio")),
    "video": lower_first(_("Video")),
    "gold": lower_first(_("Gold answer")),
    "rater": _("rater"),
    "label": lower_first(_("Label")),
    "rated_at": lower_first(_("Rating time")),
    "comment": lower_first(_("Comment")),
    "seconds": lower_first(_("Seconds spent")),
    "guidelines": lower_first(_("Guidelines version")),
    "question": lower_first(_("Question ID")),
    "model": lower_first(_("Model name")),
    "prompt_version": lower_first(_("Prompt version")),
    "count": lower_first(_("Number of items or ratings")),
    "content": lower_first(_("Other content")),
    "attribute": _("item attribute"),
    "rater_column": _("labels of rater"),
    "count_column": _("number of ratings with label"),
    "item_column": _("labels of item"),
    "ignored": _("not imported"),
}
_COMPUTED_TEXT = _("looks like a computed value")
_DESCRIPTIVE_TEXT = _("describes something else")
_NAME_AND_VALUES_TEXT = _("column name and values")
_ROW_IDS_TEXT = _("identifies the rows")
_ONE_VALUE_TEXT = _("one value per item, not a rating")
_UNLIKE_RATERS_TEXT = _("unlike the raters' columns")
# Why a column was taken for what it is, or left out.
COLUMN_REASONS: Texts = {
    "user": _("as you chose"),
    "name": _("column name"),
    "values": _("column values"),
    "content": _NAME_AND_VALUES_TEXT,
    "attribute": _ONE_VALUE_TEXT,
    "derived": _COMPUTED_TEXT,
    "descriptive": _DESCRIPTIVE_TEXT,
    "beside_other": _DESCRIPTIVE_TEXT,
    "computed": _COMPUTED_TEXT,
    "no_gold": _UNLIKE_RATERS_TEXT,
    "gold_values": _NAME_AND_VALUES_TEXT,
    "author": _ONE_VALUE_TEXT,
    "probability": _COMPUTED_TEXT,
    "row_numbers": _ROW_IDS_TEXT,
    "row_id": _ROW_IDS_TEXT,
    "pattern": _("named like the other raters"),
    "one_content": _NAME_AND_VALUES_TEXT,
    "key_part": _ROW_IDS_TEXT,
    "one_value": _ONE_VALUE_TEXT,
    "only_one_left": _("the only remaining choice"),
    "not_alike": _UNLIKE_RATERS_TEXT,
    "no_role": _("meaning unknown"),
}
LAYOUT_TEXTS: Texts = {
    "long": _("one rating per row"),
    "wide": _("one item per row, one rater per column"),
    "counts": _("items in rows, counts of labels in columns"),
    "crossed": _("cross table of two raters"),
    "combinations": _("combinations of labels with numbers of items"),
    "raters": _("one rater per row, one item per column"),
    "items": _("items without ratings"),
}
_RESULTS_TEXT = _("These look like results: %(columns)s. Import the ratings, or choose a layout.")
_MAYBE_RATINGS_TEXT = _(
    "These columns may be ratings: %(columns)s. Choose raters and labels, or the layout "
    "without ratings."
)
_SAME_MARKS_TEXT = _(
    "All filled cells of %(columns)s are the same. Fill in labels, or choose these columns "
    "as labels or raters."
)
_LAYOUT_TEXT = _("Choose a layout: “%(layout)s” fits %(columns)s.")
_SHEETS_TEXT = _("%(n_sheets)s sheets have equal columns: %(sheets)s. Choose which to read.")
_NO_HEADER_TEXT = _("The column names look like data. Add a header row, such as item,rater,label.")
# Doubt -> layout that the file may have.
DOUBTFUL_LAYOUTS = {
    "counts": "counts",
    "raters_in_rows": "raters",
    "crossed_counts": "crossed",
    "frequencies": "combinations",
}
# What a person has to decide: kind -> (what is in doubt, options of the command that decide it).
# The options have the names of columns or examples where a column is not known.
DOUBTS: dict[str, tuple[str | Promise, str]] = {
    "no_labels": (
        _("Choose a label column, or the layout without ratings."),
        "--map %(label)s, or --layout items",
    ),
    "maybe_rater": (
        _MAYBE_RATINGS_TEXT,
        "--map %(first_rater)s %(other_labels)s, or --layout items",
    ),
    "maybe_labels": (
        _MAYBE_RATINGS_TEXT,
        "--map %(labels)s --rater NAME, --map %(raters)s, or --layout items",
    ),
    "maybe_label": (_MAYBE_RATINGS_TEXT, "--map %(labels)s --rater NAME, or --layout items"),
    "labels_unclear": (
        _("Choose the label columns: %(columns)s."),
        "--map %(labels)s",
    ),
    "marks": (
        _SAME_MARKS_TEXT,
        "--map %(labels)s",
    ),
    "label_objects": (
        _(
            "Cells of %(columns)s contain several values. Write one label per cell, or "
            "choose another column."
        ),
        "--map label=COLUMN",
    ),
    "joint_raters": (
        _(
            "Cells of %(columns)s name several raters. Use one row per rating, or enter the "
            "only rater."
        ),
        "--rater NAME",
    ),
    "no_items": (
        _("Choose the columns that identify items."),
        "--map item=COLUMN",
    ),
    "incomplete_key": (
        _(
            "Rows with the same %(first)s differ in %(others)s. Choose all item ID columns, "
            "or how to treat repeats."
        ),
        "--map %(items)s, or --map %(first_item)s --duplicates last",
    ),
    "incomplete_content": (
        _(
            "Rows with the same content differ in %(columns)s. Choose "
            "the item ID, or more content columns."
        ),
        "--map item=COLUMN, or --map %(contents)s",
    ),
    "rater_names": (
        _(
            "Labels seem to follow raters' names: %(columns)s. Use one row per rating, or "
            "choose the label columns as raters."
        ),
        "--map rater=COLUMN rater=COLUMN",
    ),
    "no_count": (
        _("Choose the column of item counts."),
        "--map count=COLUMN",
    ),
    "no_raters": (
        _("Items have several rows. Choose the rater column, or enter the only rater."),
        "--map %(first_rater)s, --map %(first_question)s --rater NAME, or --rater NAME "
        "--duplicates last",
    ),
    "maybe_model": (
        _("%(columns)s may be the raters. Choose it, or enter the only rater."),
        "--map %(raters)s, or --rater NAME",
    ),
    "sheets_of_raters": (
        _SHEETS_TEXT,
        "--sheets raters, or --sheets first",
    ),
    "sheets": (
        _SHEETS_TEXT,
        "--sheets rows, or --sheets first",
    ),
    "counts": (
        _LAYOUT_TEXT,
        "--layout counts, or --layout wide",
    ),
    "label_counts": (
        _("%(columns)s may count the raters per label. Choose its meaning, or the rater column."),
        "--map %(counts)s, or --map count= rater=COLUMN",
    ),
    "raters_in_rows": (
        _LAYOUT_TEXT,
        "--layout raters, or --layout wide",
    ),
    "raters_unclear": (
        _("Choose the rater columns: %(columns)s."),
        "--map %(raters)s",
    ),
    "further_raters": (
        _("Choose whether %(columns)s are raters: their labels fit, but not their names."),
        "--map %(all_raters)s, or --map %(ignored)s",
    ),
    "rater_marks": (
        _SAME_MARKS_TEXT,
        "--layout wide",
    ),
    "no_header": (_NO_HEADER_TEXT, ""),
    "numbers_as_names": (_NO_HEADER_TEXT, "--layout wide"),
    "crossed_counts": (
        _LAYOUT_TEXT,
        "--layout crossed, or --layout wide",
    ),
    "frequencies": (
        _LAYOUT_TEXT,
        "--layout combinations, or --layout wide",
    ),
    "results": (_RESULTS_TEXT, "--layout wide"),
    "results_of_pairs": (_RESULTS_TEXT, "--layout wide"),
    "frequencies_of_labels": (_RESULTS_TEXT, "--layout wide"),
    "criteria": (
        _(
            "These columns may be questions, not raters: %(columns)s. Choose them as labels, "
            "or one rater per column."
        ),
        "--map %(labels)s --rater NAME, or --layout wide",
    ),
    "raters_or_questions": (
        _(
            "If this is right, choose one rater per column: %(meanings)s. Otherwise, rename "
            "the columns, rater first."
        ),
        "--layout wide",
    ),
}
