"""Texts on the meaning of columns: roles, reasons for a guess, layouts, and doubts."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Texts = dict[str, str | Promise]

ROLE_TEXTS: Texts = {
    "item": _("item ID"),
    "text": _("item text"),
    "html": _("item HTML"),
    "image": _("item image"),
    "audio": _("item audio"),
    "video": _("item video"),
    "gold": _("gold answer"),
    "rater": _("rater"),
    "label": _("label"),
    "rated_at": _("rating time"),
    "comment": _("comment"),
    "seconds": _("seconds spent"),
    "guidelines": _("guidelines version"),
    "question": _("question ID"),
    "model": _("model name"),
    "prompt_version": _("prompt version"),
    "count": _("number of items or ratings"),
    "content": _("other item fields"),
    "attribute": _("item attribute"),
    "rater_column": _("labels of rater"),
    "count_column": _("number of ratings with label"),
    "item_column": _("labels of item"),
    "ignored": _("not imported"),
}
# Why a column was taken for what it is, or left out.
COLUMN_REASONS: Texts = {
    "user": _("as you chose"),
    "name": _("column name"),
    "values": _("column values"),
    "content": _("column name or long texts"),
    "attribute": _("one value per item; not a rater, label or time"),
    "derived": _("named like a computed value"),
    "descriptive": _("named like a description"),
    "beside_other": _("comment or time of another column"),
    "computed": _("computed from other columns"),
    "no_gold": _("named like gold answers, unlike the raters’ answers"),
    "gold_values": _("column name, and it has the raters' labels"),
    "author": _("one row per item: may be its author"),
    "probability": _("its fractions add up to 1 in every row"),
    "row_numbers": _("numbers the rows"),
    "row_id": _("differs in every row; another column repeats items"),
    "rater_values": _("values look like numbered raters"),
    "annotator_id": _("values repeat as those of annotators do"),
    "pattern": _("named and numbered like the other raters"),
    "one_content": _("column name, and each value has one content"),
    "key_part": _("part of the item ID: without it, a rater has an item in two rows"),
    "one_value": _("named like labels, but the same for all raters"),
    "shared": _("same values as the other raters"),
    "count": _("its whole numbers have the same sum in every row"),
    "item_column": _("each row is a rater, and this column has labels"),
    "first_keys": _("the first column that differs in every row"),
    "pairs": _("each rater has each value once"),
    "only_one_left": _("the only column left that can be labels"),
    "questions": _("one of several label columns: each is a question"),
    "crossed": _("rows and columns have the same labels, each of one rater"),
    "combination": _("each row has different labels and a number of items"),
    "double_entry": _("item and person, separated by --"),
    "not_alike": _("not named like the raters"),
    "other_values": _("lacks the raters' values"),
    "no_role": _("meaning unknown"),
}
LAYOUT_TEXTS: Texts = {
    "long": _("one row per rating: item, rater and label"),
    "wide": _("one row per item, one column per rater"),
    "counts": _("one row per item, one column of counts per label"),
    "crossed": _(
        "cross table of two raters: labels in rows and columns, numbers of items in cells"
    ),
    "combinations": _(
        "one row per combination of labels, one column per rater, and the number of items"
    ),
    "raters": _("one row per rater, one column per item"),
    "items": _("one row per item, without ratings"),
}
_RESULTS_TEXT = _(
    "This looks like results, such as agreement or frequencies of labels: %(columns)s. Import the "
    "original ratings, or choose a layout if these are ratings."
)
_MAYBE_LABELS_TEXT = _(
    "These columns may be labels: %(columns)s. Choose the label columns and the rater, one column "
    "per rater, or the layout without ratings."
)
_NO_HEADER_TEXT = _(
    "Each column name is also a value below it, so the header row seems to be missing. Add one, "
    "such as item,rater,label or item,rater1,rater2."
)
# What a person has to decide: kind -> (what is in doubt, options of the command that decide it).
# The options have the names of columns or examples where a column is not known.
DOUBTS: dict[str, tuple[str | Promise, str]] = {
    "no_labels": (
        _("No label column found. Choose one, or the layout without ratings."),
        "--map %(label)s, or --layout items",
    ),
    "maybe_rater": (
        _(
            "%(first)s may be the rater, and %(others)s the label. Choose both, or the layout "
            "without ratings."
        ),
        "--map %(first_rater)s %(other_labels)s, or --layout items",
    ),
    "maybe_labels": (
        _MAYBE_LABELS_TEXT,
        "--map %(labels)s --rater NAME, --map %(raters)s, or --layout items",
    ),
    "maybe_label": (_MAYBE_LABELS_TEXT, "--map %(labels)s --rater NAME, or --layout items"),
    "labels_unclear": (
        _("Several columns can be labels: %(columns)s. Choose one or more."),
        "--map %(labels)s",
    ),
    "marks": (
        _(
            "All filled cells of %(columns)s have the same mark. Put the label into one column, or "
            "choose these columns as labels if each is a question."
        ),
        "--map %(labels)s",
    ),
    "label_objects": (
        _(
            "Cells of %(columns)s have objects or lists instead of a label. Put one label into "
            "each cell, or choose another label column."
        ),
        "--map label=COLUMN",
    ),
    "joint_raters": (
        _(
            "Cells of %(columns)s name several raters. Use one row per rating, or enter the "
            "file's only rater."
        ),
        "--rater NAME",
    ),
    "no_items": (
        _("No item column found. Choose the columns that identify items."),
        "--map item=COLUMN",
    ),
    "incomplete_key": (
        _(
            "Rows with the same %(first)s differ in %(others)s. "
            "Choose all columns that identify items, or how to treat repeats."
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
            "Some columns name raters, with their labels in the next column: %(columns)s. Use "
            "one row per rating with item, rater and label, or choose the label columns; their "
            "names become the raters."
        ),
        "--map rater=COLUMN rater=COLUMN",
    ),
    "no_count": (
        _("Choose the column with the number of items."),
        "--map count=COLUMN",
    ),
    "no_raters": (
        _(
            "No rater column found, but items occur in several rows. Choose the rater column, "
            "or the question column and the file's only rater."
        ),
        "--map %(first_rater)s, --map %(first_question)s --rater NAME, or --rater NAME "
        "--duplicates last",
    ),
    "maybe_model": (
        _(
            "%(columns)s may name models that are the raters. Choose it, or enter the "
            "file's only rater."
        ),
        "--map %(raters)s, or --rater NAME",
    ),
    "sheets_of_raters": (
        _(
            "%(n_sheets)s sheets have the same columns: %(sheets)s. Choose whether to read all "
            "of them or only the first."
        ),
        "--sheets raters, or --sheets first",
    ),
    "sheets": (
        _(
            "%(n_sheets)s sheets have the same columns: %(sheets)s. Choose whether to read all "
            "of them or only the first."
        ),
        "--sheets rows, or --sheets first",
    ),
    "counts": (
        _(
            "The numbers of %(columns)s have the same sum in all or most rows, so they may be "
            "counts of ratings. Choose the layout of counts (anonymous raters) or of one "
            "column per rater."
        ),
        "--layout counts, or --layout wide",
    ),
    "label_counts": (
        _(
            "Column %(columns)s may be the number of raters who gave each label. If so, choose "
            "one row per rating; otherwise, choose the rater column."
        ),
        "--map %(counts)s, or --map count= rater=COLUMN",
    ),
    "raters_in_rows": (
        _(
            "Rows look like raters, and these columns like items or questions: %(columns)s. "
            "Choose this layout if they are items; otherwise, rows must be items."
        ),
        "--layout raters, or --layout wide",
    ),
    "raters_unclear": (
        _(
            "These columns may be raters, but some have few values in common: %(columns)s. "
            "Choose the raters."
        ),
        "--map %(raters)s",
    ),
    "further_raters": (
        _(
            "%(columns)s have the raters' labels, but other names. Make them raters, "
            "or don't import them."
        ),
        "--map %(all_raters)s, or --map %(ignored)s",
    ),
    "rater_marks": (
        _(
            "All filled cells of %(columns)s have the same mark, so empty cells may be "
            "answers. Write a label into each cell, or choose one column per rater if empty cells "
            "are missing ratings."
        ),
        "--layout wide",
    ),
    "no_header": (_NO_HEADER_TEXT, ""),
    "numbers_as_names": (_NO_HEADER_TEXT, "--layout wide"),
    "crossed_counts": (
        _(
            "This looks like a cross table of two raters, with labels of one in %(columns)s. "
            "Choose this layout, or one column per rater."
        ),
        "--layout crossed, or --layout wide",
    ),
    "frequencies": (
        _(
            "Column %(columns)s may show how often each row occurs. If so, choose the "
            "layout of combinations; otherwise, one column per rater."
        ),
        "--layout combinations, or --layout wide",
    ),
    "results": (_RESULTS_TEXT, "--layout wide"),
    "results_of_pairs": (_RESULTS_TEXT, "--layout wide"),
    "frequencies_of_labels": (_RESULTS_TEXT, "--layout wide"),
    "criteria": (
        _(
            "These columns are named like criteria, not raters: %(columns)s. Choose them as "
            "labels if each is a question that one rater answered, or the layout of one column "
            "per rater."
        ),
        "--map %(labels)s --rater NAME, or --layout wide",
    ),
    "raters_or_questions": (
        _(
            "These column names have two parts, and either can be the rater. If raters and "
            "questions are right here, choose one column per rater: %(meanings)s. Otherwise, "
            "rename them, rater first."
        ),
        "--layout wide",
    ),
}
