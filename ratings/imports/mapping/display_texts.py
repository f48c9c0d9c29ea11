"""Texts on the meaning of columns: roles, reasons for a guess, layouts, and doubts."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Texts = dict[str, str | Promise]

ROLE_TEXTS: Texts = {
    "item": _("item ID"),
    "text": _("text of the item"),
    "html": _("HTML of the item"),
    "image": _("image of the item"),
    "audio": _("audio of the item"),
    "video": _("video of the item"),
    "gold": _("gold answer"),
    "rater": _("rater"),
    "label": _("label"),
    "rated_at": _("time of the rating"),
    "comment": _("comment"),
    "seconds": _("seconds spent"),
    "guidelines": _("version of the guidelines"),
    "question": _("question key"),
    "model": _("name of the model"),
    "prompt_version": _("version of the model’s prompt"),
    "count": _("number of items like this row"),
    "content": _("further content of the item"),
    "attribute": _("attribute of the item"),
    "rater_column": _("labels of the rater"),
    "count_column": _("number of ratings with the label"),
    "item_column": _("labels of the item"),
    "ignored": _("not imported"),
}
# Why a column was taken for what it is, or left out.
COLUMN_REASONS: Texts = {
    "user": _("as you chose"),
    "name": _("by its name"),
    "values": _("by its values"),
    "content": _("by its name or its long texts"),
    "attribute": _("one value for each item, and no rater, label or time"),
    "derived": _("its name says that it was computed from ratings or by a program"),
    "descriptive": _("its name says that it describes an item, a person or a survey"),
    "computed": _("it was computed from the other columns: whether they are equal, or a number"),
    "no_gold": _("named like gold answers, but none of the raters gives such answers"),
    "gold_values": _("by its name, and it has the labels of the raters"),
    "author": _("each item has one row, so it may be who wrote the item"),
    "probability": _("its fractions add up to 1 in every row"),
    "row_numbers": _("it numbers the rows"),
    "row_id": _("it has another value in every row, and another column repeats items"),
    "rater_values": _("its values number raters"),
    "annotator_id": _("its values repeat as those of annotators do"),
    "pattern": _("named and numbered like the other raters"),
    "one_content": _("by its name, and each of its values has one content"),
    "key_part": _("part of the item ID: only with it, no rater has an item in two rows"),
    "one_value": _("named like labels, but all raters of an item have the same value"),
    "shared": _("it has the same values as the other raters"),
    "count": _("its whole numbers add up to the same sum in every row"),
    "item_column": _("each row is a rater, and this column has labels"),
    "first_keys": _("the first column with another value in every row"),
    "pairs": _("each rater has every value of it once"),
    "only_one_left": _("the only column left that can hold labels"),
    "questions": _("one of several columns of labels: each is a question"),
    "crossed": _("the rows and the columns have the same labels, one rater’s each"),
    "combination": _("each row has other labels, and a number of items"),
    "double_entry": _("item and person, separated by --"),
    "not_alike": _("not named like the raters"),
    "other_values": _("it does not have the values of the raters"),
    "no_role": _("nothing shows a meaning"),
}
LAYOUT_TEXTS: Texts = {
    "long": _("one row for each rating: an item, a rater and a label"),
    "wide": _("one row for each item: a column for each rater"),
    "counts": _("one row for each item: a column with the number of ratings of each label"),
    "crossed": _(
        "two raters crossed: a row for each label of one, a column for each label of the other,"
        " numbers of items in the cells"
    ),
    "combinations": _(
        "one row for each combination of labels: a column for each rater, and the number of items"
    ),
    "raters": _("one row for each rater: a column for each item"),
    "items": _("one row for each item, without ratings"),
}
# What a person has to decide: kind -> (what is in doubt, options of the command that decide it).
# The options have the names of columns or examples where a column is not known.
DOUBTS: dict[str, tuple[str | Promise, str]] = {
    "no_labels": (
        _("No column of labels was found. Choose it, or the layout without ratings."),
        "--map label=COLUMN, or --layout items",
    ),
    "maybe_labels": (
        _(
            "These columns may hold labels: %(columns)s. Choose those that do, and the rater or"
            " the column of raters; or choose the layout without ratings."
        ),
        "--map %(labels)s --rater NAME, or --layout items",
    ),
    "labels_unclear": (
        _("Several columns can hold labels: %(columns)s. Choose one of them, or several."),
        "--map %(labels)s",
    ),
    "no_items": (
        _("No column of items was found. Choose the column, or columns, that identify the item."),
        "--map item=COLUMN",
    ),
    "incomplete_key": (
        _(
            "Raters have several rows for one value of %(first)s, and these rows differ in"
            " %(others)s. Choose all columns that identify the item, or what to do with the"
            " repeats."
        ),
        "--map %(items)s, or --map %(first_item)s",
    ),
    "incomplete_content": (
        _(
            "Raters have several rows for one content, and these rows differ in %(columns)s. Choose"
            " the column of the item's ID, or further content that makes the items different."
        ),
        "--map item=COLUMN, or --map %(contents)s",
    ),
    "rater_names": (
        _(
            "Some columns have the names of the raters whose labels are beside them: %(columns)s."
            " A row for each rating is needed, with the item, the rater and the label; or choose"
            " the columns with labels, and their names become the raters."
        ),
        "--map rater=COLUMN rater=COLUMN",
    ),
    "no_count": (
        _("Choose the column with the number of items that have the labels of the row."),
        "--map count=COLUMN",
    ),
    "no_raters": (
        _(
            "No rater column was found, and items occur in several rows. Choose the rater"
            " column, or name the file's only rater."
        ),
        "--map rater=COLUMN, or --rater NAME",
    ),
    "sheets_of_raters": (
        _(
            "%(n_sheets)s sheets have the same columns, each of one rater: %(sheets)s. Choose"
            " whether to read them all, each sheet a rater, or the first one only."
        ),
        "--sheets raters, or --sheets first",
    ),
    "sheets": (
        _(
            "%(n_sheets)s sheets have the same columns: %(sheets)s. Choose whether to read them"
            " all, one after another, or the first one only."
        ),
        "--sheets rows, or --sheets first",
    ),
    "counts": (
        _(
            "The numbers of %(columns)s add up to the same sum in all or most rows: they look like"
            " counts of ratings. Choose the layout of counts to import them as ratings of anonymous"
            " raters, or the layout with a column for each rater."
        ),
        "--layout counts, or --layout wide",
    ),
    "raters_in_rows": (
        _(
            "Each row seems to be a rater, and these columns items or questions: %(columns)s."
            " Choose this layout if they are items; else rows must be items."
        ),
        "--layout raters, or --layout wide",
    ),
    "raters_unclear": (
        _(
            "These columns may be raters, but some of them have no value that another one has:"
            " %(columns)s. Choose the columns that are raters."
        ),
        "--map %(raters)s",
    ),
    "no_header": (
        _(
            "Each name of a column is also a value below it: the line of column names seems to be"
            " missing. Write a line such as item,rater,label or item,rater1,rater2 above the first"
            " line of the file, or choose a layout if these are names."
        ),
        "--layout long, or --layout wide",
    ),
    "crossed_counts": (
        _(
            "This looks like a table of two raters, with the labels of one in the rows and of the"
            " other in the columns (%(columns)s) and numbers of items in the cells. Choose this"
            " layout if it is one, or the layout with a column for each rater."
        ),
        "--layout crossed, or --layout wide",
    ),
    "frequencies": (
        _(
            "The column %(columns)s seems to say how often each row occurs. Choose the layout of"
            " combinations if it does, or the layout with a column for each rater if each row is"
            " one item."
        ),
        "--layout combinations, or --layout wide",
    ),
    "results": (
        _(
            "This looks like a table of results, with agreement that was computed already:"
            " %(columns)s. Import the ratings that it was computed from, or choose a layout if"
            " these are ratings."
        ),
        "--layout long, or --layout wide",
    ),
    "criteria": (
        _(
            "These columns are named like criteria, not like raters: %(columns)s. Choose them as"
            " labels if each is a question that one rater answered, or the layout with a column for"
            " each rater."
        ),
        "--map %(labels)s --rater NAME, or --layout wide",
    ),
    "raters_or_questions": (
        _(
            "The names of these columns have two parts, and either can be the rater: %(columns)s."
            " Choose the layout with a column for each rater if raters and questions are right as"
            " listed."
        ),
        "--layout wide",
    ),
}
