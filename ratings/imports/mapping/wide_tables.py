"""Tables with a row for each item or each rater, and columns of ratings."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

from ratings.imports.values.label_order import is_known_scale
from ratings.label_normalization import get_normal_form

from . import rater_columns
from .column_cells import ColumnGuess, find_computed_column
from .name_tests import (
    compact_name,
    is_comparison_name,
    is_count_name,
    is_criterion_name,
    is_difficulty_name,
    is_model_name,
    is_question_name,
    may_name_rater_or_rated_person,
    split_numbered_name,
)
from .respondent_tables import RespondentTables
from .role_words import LABEL_STEMS, RATER_STEMS
from .tables_without_ratings import find_codes_in_all_rows, find_count_columns


class WideTables(RespondentTables):
    """Guess layouts whose rows each hold the ratings of several raters."""

    def _guess_wide_by_names(self) -> ColumnGuess | None:
        """Return the wide guess if columns are named like raters, or None."""
        free = self.list_free_columns()
        single_rater = self.columns.get("rater")
        values = rater_columns.find_columns_named_by_rater(self.head, free)
        if values is None or "question" in self.columns:
            return None
        stems = {
            number[0]
            for index in values.places
            if (number := split_numbered_name(self.head.names[index]))
        }
        if single_rater is not None and not self._are_raters_of_each_row(values):
            # A column of raters beside label1, label2: these are questions.
            return None
        if "label" in self.columns and not values.is_certain:
            return None
        if "label" in self.columns and stems and not stems <= RATER_STEMS:
            return None
        self._release_long_roles()
        return self._build_wide_guess(values)

    def _are_raters_of_each_row(self, values: rater_columns.ValueColumns) -> bool:
        """Return whether the columns, not a rater column named like `author`, name the raters.

        They do if that column may mean the item's author, they number people, and no item has two
        rows.
        """
        if not may_name_rater_or_rated_person(self.head.names[self.columns["rater"]]):
            return False
        numbers = [split_numbered_name(rater) for rater, _question in values.places.values()]
        stems = {number[0] if number else "" for number in numbers}
        return stems <= RATER_STEMS - LABEL_STEMS and not self.has_repeated_keys()

    def _build_wide_guess(self, values: rater_columns.ValueColumns) -> ColumnGuess:
        """Return the wide guess with ``values`` as the columns of ratings."""
        places = self._shorten_rater_names(values)
        self.reasons |= dict.fromkeys(places, values.reason)
        self._correct_gold_column(places)
        guess = ColumnGuess("wide", {})
        self._set_wide_item_column(guess, places)
        used = {*places, *self.columns.values(), *self.content, *guess.key_columns}
        unused = [index for index in range(len(self.head.names)) if index not in used]
        self._exclude_or_keep_as_attributes(unused, guess, "not_alike")
        if any(places[index] != (self.head.names[index].strip(), "") for index in places):
            guess.value_columns = {str(index): list(place) for index, place in places.items()}
        for question in {question for _rater, question in places.values()}:
            columns = [index for index, place in places.items() if place[1] == question]
            guess.suspected_codes += find_codes_in_all_rows(self.head, columns)
        self._add_doubt_on_raters(guess, values, places)
        return guess

    def _shorten_rater_names(
        self, values: rater_columns.ValueColumns
    ) -> dict[int, tuple[str, str]]:
        """Return column -> (rater, question), with rater names without the text common to all.

        For example, votes.ann or Vote (Ann) becomes ann or Ann. A column that was computed from all
        others is left out.
        """
        places = dict(values.places)
        if values.reason == "values":
            computed = find_computed_column({i: self.head.columns[i] for i in sorted(places)})
            if computed is not None and len(places) > 2:
                del places[computed]
                self.reasons[computed] = "computed"
        split = (
            rater_columns.split_rater_names
            if values.reason == "values"
            else rater_columns.split_field_names
        )
        names = list(dict.fromkeys(rater for rater, _question in places.values()))
        short_names = dict(zip(names, split(names) or names, strict=True))
        return {index: (short_names[rater], q) for index, (rater, q) in places.items()}

    def _add_doubt_on_raters(
        self,
        guess: ColumnGuess,
        values: rater_columns.ValueColumns,
        places: dict[int, tuple[str, str]],
    ) -> None:
        """Add a doubt if the guessed columns of ratings (``places``) may be wrong or incomplete."""
        has_few_rows = len(self.head.sample_rows) < len(places)
        if values.reason == "values" and has_few_rows and not self.has_content:
            guess.doubt, guess.doubtful_columns = "raters_in_rows", list(places)
        if not values.is_certain:
            has_one_question = not any(question for _rater, question in places.values())
            guess.doubt = "criteria" if has_one_question else "raters_or_questions"
            guess.doubtful_columns = list(places)
            if find_count_columns(self.head, guess.doubtful_columns):
                guess.doubt = "counts"
        if names := rater_columns.find_rater_names(self.head, places):
            guess.doubt, guess.doubtful_columns = "rater_names", names
        elif further := self._list_further_raters(guess, places):
            guess.doubt, guess.doubtful_columns = "further_raters", further
        elif self._have_one_mark(places):
            guess.doubt, guess.doubtful_columns = "rater_marks", list(places)

    def _list_further_raters(self, guess: ColumnGuess, places: Collection[int]) -> list[int]:
        """Return unused columns that have only labels of the raters, but other names.

        Numeric columns are left out unless they are named after a model.
        """
        columns, names = self.head.columns, self.head.names
        labels = {get_normal_form(text) for index in places for text in columns[index].values}
        return [
            index
            for index in [*guess.excluded_columns, *guess.attribute_columns]
            if self.reasons.get(index) in ("not_alike", "attribute", "no_role")
            and len(columns[index].values) > 1
            and set(map(get_normal_form, columns[index].values)) <= labels
            and (not columns[index].is_numeric or is_model_name(names[index]))
            and not is_comparison_name(names[index])
        ]

    def _have_one_mark(self, places: Collection[int]) -> bool:
        """Return whether some cells are empty (perhaps for "no"), and all others have one mark."""
        columns = [self.head.columns[index] for index in places]
        marks = {text for column in columns for text in column.values}
        is_mark = len(marks) == 1 and len(marks.pop()) == 1
        return is_mark and any(not all(column.texts) for column in columns)

    def _correct_gold_column(self, places: Collection[int]) -> None:
        """Take the gold role from a column without the raters' labels, or give it to another.

        The other is a content column `Reference` or `Answer` with the raters' labels: raters must
        not see gold answers.
        """
        columns = self.head.columns
        labels = {get_normal_form(text) for index in places for text in columns[index].values}

        def has_labels(index: int) -> bool:
            values = set(map(get_normal_form, columns[index].values))
            return 2 * len(values & labels) > len(values)

        gold = self.columns.get("gold")
        if gold is not None and labels and not has_labels(gold):
            del self.columns["gold"]
            self.reasons[gold] = "no_gold"
        for index in list(self.content):
            is_reference = compact_name(self.head.names[index]) in ("reference", "answer")
            if is_reference and "gold" not in self.columns and has_labels(index):
                self.content.remove(index)
                self.columns["gold"] = index
                self.reasons[index] = "gold_values"

    def _set_wide_item_column(self, guess: ColumnGuess, places: Collection[int]) -> None:
        """Set the item column: one with a suitable name, else a first column of unique values.

        Without one, items are numbered by row.
        """
        if "item" in self.columns or self.has_content:
            guess.key_columns, doubtful = self.complete_item_key(places)
            if doubtful:
                guess.doubt, guess.doubtful_columns = "incomplete_key", doubtful
            return
        columns = self.head.columns
        used = {*places, *self.columns.values(), *self.content}
        free = [index for index in range(len(self.head.names)) if index not in used]
        unique = [
            index
            for index in free
            if columns[index].is_unique
            and self.reasons.get(index) in (None, "row_numbers", "descriptive")
        ]
        named = [i for i in unique if self.is_item_name(i) and self.reasons.get(i) != "descriptive"]
        # Without a name, the key is the first column, and it stands before the ratings.
        first = [index for index in unique if index == free[0] < min(places)]
        if named or first:
            self.columns["item"] = (named or first)[0]
            self.reasons[self.columns["item"]] = "name" if named else "values"
            return
        guess.rows_are_items = True

    def _guess_wide_or_items(self) -> ColumnGuess:
        """Return the guess for a table in which no column is named like a rater or label."""
        self._release_long_roles()
        self._exclude_comparisons()
        free = self.list_free_columns()
        named = [i for i, name in enumerate(self.head.names) if is_count_name(name)]
        if counts := find_count_columns(self.head, free) or find_count_columns(self.head, named):
            return self.build_counts_guess(counts)
        has_keys = "item" in self.columns or self.has_content
        is_first_free = not has_keys and 0 in free and self.head.columns[0].is_unique
        first = 0 if is_first_free and not self._shares_values_with(0, free) else None
        candidates = [index for index in free if index != first]
        shared = rater_columns.find_columns_with_shared_values(
            self.head, candidates, self.labels, sure=self.has_content
        )
        shared = self._add_fields_of_same_object(shared, candidates)
        doubtful = self._list_doubtful_raters(shared)
        if doubtful and not has_keys and len(doubtful) == len(shared):
            self._set_item_column_of_rater_and_labels(shared)
            free = self.list_free_columns()
        if doubtful and self._find_rater_and_labels(free):
            return self._guess_items_without_ratings(free)
        remarks = rater_columns.list_remark_columns(self.head, shared, doubtful)
        shared = [index for index in shared if index not in remarks]
        doubtful = [index for index in doubtful if index not in remarks]
        if len(shared) >= 2:
            if guess_in_rows := self._guess_respondents(candidates, has_keys=has_keys):
                return guess_in_rows
            values = rater_columns.ValueColumns(
                {index: (self.head.names[index], "") for index in shared}, "values"
            )
            if len(shared) > 2 or has_keys or first is not None or len(self.head.names) == 2:
                guess = self._build_wide_guess(values)
                names = [rater for rater, _question in self._shorten_rater_names(values).values()]
                if any(map(is_criterion_name, names)) or any(map(is_question_name, names)):
                    guess.doubt, guess.doubtful_columns = "criteria", shared
                elif doubtful:
                    guess.doubt, guess.doubtful_columns = "raters_unclear", shared
                return guess
        return self._guess_items_without_ratings(free)

    def build_counts_guess(self, counts: Sequence[int]) -> ColumnGuess:
        """Return the guess that the columns ``counts`` count ratings, which the user confirms."""
        self.reasons |= dict.fromkeys(counts, "values")
        guess = ColumnGuess("counts", {}, doubt="counts", doubtful_columns=list(counts))
        self._set_wide_item_column(guess, counts)
        used = {*counts, *self.columns.values(), *self.content}
        unused = [index for index in range(len(self.head.names)) if index not in used]
        self._exclude_or_keep_as_attributes(unused, guess, "no_role")
        return guess

    def _guess_items_without_ratings(self, free: Sequence[int]) -> ColumnGuess:
        """Return the guess that rows are items without ratings; ``free``: columns without role.

        It has a doubt if the table has no content, or if some of its columns may have labels.
        """
        guess = ColumnGuess("items", {})
        self._exclude_or_keep_as_attributes(free, guess, "no_role")
        if not self.has_content:
            guess.excluded_columns, guess.attribute_columns = [], list(guess.excluded_columns)
            guess.doubt, guess.doubtful_columns = "no_labels", list(free)
            if columns := self._find_rater_and_labels(free):
                guess.doubt, guess.doubtful_columns = "maybe_rater", columns
        else:
            guess.attribute_columns = [
                index
                for index in range(len(self.head.names))
                if index not in self.columns.values()
                and index not in self.content
                and self.reasons.get(index) != "row_numbers"
            ]
            answers = [index for index in guess.attribute_columns if self.may_be_answers(index)]
            answers = answers or self.list_raters_with_empty_sample(guess.attribute_columns)
            if answers:
                guess.doubt = "maybe_labels" if len(answers) > 1 else "maybe_label"
                guess.doubtful_columns = answers
        return guess

    def _find_rater_and_labels(self, free: Sequence[int]) -> list[int]:
        """Return [a column that may be the rater, *columns that may be labels], or [].

        The first has a different value in each row of an item. Only the cells suggest these roles,
        so the user has to choose.
        """
        columns, item = self.head.columns, self.columns.get("item")
        if item is None or not columns[item].has_repeats:
            return []
        raters = self.list_columns_distinguishing_rows(free)[:1]
        labels = [i for i in free if i not in raters and columns[i].is_label_like]
        return [*raters, *labels] if raters and labels else []

    def _are_items_by_raters(self, indexes: Sequence[int]) -> bool:
        """Return whether the table has just three columns: item, rater (each pair once) and label.

        Two raters who gave each pair of labels just once are improbable.
        """
        if not len(indexes) == len(self.head.names) == 3:
            return False
        item, rater, label = (self.head.columns[index] for index in indexes)
        pairs = set(zip(item.texts, rater.texts, strict=True))
        n_rows = len(self.head.sample_rows)
        is_cross = len(pairs) == n_rows == len(item.values) * len(rater.values)
        return is_cross and len(rater.values) > 1 and len(item.values) > len(label.values) > 1

    def _set_item_column_of_rater_and_labels(self, columns: Sequence[int]) -> None:
        """Set the item column to the first that forms unique pairs with another, beside labels."""
        cells = self.head.columns
        repeated = [index for index in columns if cells[index].has_repeats]
        for item, rater in itertools.permutations(repeated, 2):
            pairs = set(zip(cells[item].texts, cells[rater].texts, strict=True))
            labels = [i for i in columns if i not in (item, rater) and cells[i].is_label_like]
            is_cross = len(cells[item].values) > 1 and len(cells[rater].values) > 1
            if is_cross and labels and len(pairs) == len(self.head.sample_rows):
                self.columns["item"] = item
                self.reasons[item] = "values"
                return

    def _add_fields_of_same_object(
        self, raters: Sequence[int], candidates: Sequence[int]
    ) -> list[int]:
        """Return ``raters`` and further label-like fields of their object, as votes.ann, votes.ben.

        A rater who gives only one label may have no value in common with the others.
        """
        names = self.head.names
        return [
            index
            for index in candidates
            if index in raters
            or (
                len(raters) > 1
                and self.head.columns[index].is_label_like
                and rater_columns.split_field_names([names[i] for i in [*raters, index]])
            )
        ]

    def _exclude_comparisons(self) -> None:
        """Exclude columns that compare raters or describe items if two likely raters remain."""
        for is_excluded, reason in (
            (is_comparison_name, "derived"),
            (is_difficulty_name, "descriptive"),
        ):
            free = self.list_free_columns()
            excluded = [index for index in free if is_excluded(self.head.names[index])]
            likely = rater_columns.find_columns_with_shared_values(
                self.head, [i for i in free if i not in excluded], self.labels, sure=True
            )
            if len(likely) >= 2:
                self.reasons |= dict.fromkeys(excluded, reason)

    def _list_doubtful_raters(self, indexes: Sequence[int]) -> list[int]:
        """Return those of the columns that may be no raters, sharing no values with the others.

        Numeric columns may be measurements, which need no common values; they are doubtful only if
        they may be the items, raters and labels of a long table.
        """
        columns = self.head.columns
        if self._are_items_by_raters(indexes):
            return list(indexes)
        values = {text for index in indexes for text in columns[index].values}
        if all(columns[index].is_numeric for index in indexes) or is_known_scale(values):
            return []
        shared = rater_columns.find_columns_with_shared_values(
            self.head, indexes, self.labels, sure=True
        )
        return [index for index in indexes if index not in shared and columns[index].filled]

    def _shares_values_with(self, index: int, candidates: Sequence[int]) -> bool:
        """Return whether a column repeats values and most of them are in another candidate."""
        columns = self.head.columns
        values = columns[index].values
        return columns[index].has_repeats and any(
            2 * len(values & columns[other].values) > len(values)
            for other in candidates
            if other != index
        )
