"""Tables with a row for each rater and a column for each item, such as responses to a survey."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from . import rater_columns
from .column_cells import LONG_ROLES, ColumnGuess
from .label_and_item_columns import LabelAndItemColumns
from .name_tests import (
    RESPONDENT_ROLES,
    are_rater_numbers,
    asks_for_comment,
    compact_name,
    is_form_person_name,
    is_index_name,
    is_respondent_name,
    is_survey_name,
    rank_name,
    split_numbered_name,
)


class RespondentTables(LabelAndItemColumns):
    """Guess the layout whose rows are raters and whose columns are items."""

    def _release_long_roles(self) -> None:
        """Remove the roles that only long tables have.

        A comment column is left out instead, unless its texts are all different.
        """
        for role in LONG_ROLES:
            index = self.columns.pop(role, None)
            if index is not None:
                self.reasons.pop(index, None)
                if role == "comment" and not self.head.columns[index].is_unique:
                    self.reasons[index] = "beside_other"

    def _exclude_or_keep_as_attributes(
        self, indexes: Sequence[int], guess: ColumnGuess, reason: str
    ) -> None:
        """Make columns attributes if the items have content; otherwise exclude them.

        A column with the reason "row_numbers" is always excluded. Columns without a reason get one:
        "attribute", or ``reason`` if they are excluded.
        """
        for index in indexes:
            is_attribute = self.has_content and self.reasons.get(index) != "row_numbers"
            (guess.attribute_columns if is_attribute else guess.excluded_columns).append(index)
            self.reasons.setdefault(index, "attribute" if is_attribute else reason)

    def _guess_survey(self) -> ColumnGuess | None:
        """Return the guess for a table with a column that only responses to surveys have, or None.

        Each row is a respondent, who is the rater, and the columns of answers are items.
        """
        names, columns = self.head.names, self.head.columns
        item = self.columns.get("item")
        is_survey = any(map(is_survey_name, names)) or self._begins_like_form()
        if not is_survey or {"rater", "label"} <= self.columns.keys():
            return None
        is_respondent = item is not None and (
            is_respondent_name(names[item]) or "QUESTNNR" in names  # SoSci Survey: CASE
        )
        if item is not None and (columns[item].has_repeats or not is_respondent):
            return None
        if "rater" in self.columns and columns[self.columns["rater"]].has_repeats:
            return None
        released = {"item", *LONG_ROLES} - RESPONDENT_ROLES
        roles = {role: index for role, index in self.columns.items() if role not in released}
        people = [item] if item is not None else []
        people += [i for i, name in enumerate(names) if is_respondent_name(name)]
        people = [index for index in people if columns[index].is_unique]
        if "rater" not in roles and people:
            roles["rater"] = people[0]
        answers = self._list_survey_answers({*roles.values(), *self.content})
        if len(answers) < 2:
            return None
        self.columns = roles
        guess = self._build_raters_in_rows_guess(answers)
        if self._have_shared_values(answers):
            guess.doubt, guess.doubtful_columns = "", []
        return guess

    def _list_survey_answers(self, used: Collection[int | None]) -> list[int]:
        """Return the columns of short texts that may be answers.

        Left out are columns in ``used``, columns that have a reason already (``reasons``),
        comments, columns without a name, and those that only surveys have, such as the time.
        """
        used = {*used, *self.reasons, self.columns.get("comment")}
        return [
            index
            for index, name in enumerate(self.head.names)
            if index not in used
            and self.head.columns[index].has_short_texts
            and compact_name(name)
            and not is_survey_name(name)
            and not rater_columns.is_comment_column_name(name)
            and not asks_for_comment(name)
        ]

    def _have_shared_values(self, indexes: Sequence[int]) -> bool:
        """Return whether each column shares a value with another, as answers to one question do.

        Columns without values are ignored.
        """
        values = {index: self.head.columns[index].values for index in indexes}
        return all(
            any(values[index] & values[other] for other in indexes if other != index)
            for index in indexes
            if values[index]
        )

    def _begins_like_form(self) -> bool:
        """Return whether the table begins with a time and a person's name or e-mail address."""
        names = self.head.names
        return (
            rank_name(names[0], "rated_at") is not None
            and self.head.columns[0].has_times
            and any(map(is_form_person_name, names[1:3]))
        )

    def _guess_respondents(
        self, candidates: Sequence[int], *, has_keys: bool
    ) -> ColumnGuess | None:
        """Return the guess for a survey whose rows are responses, or None.

        ``candidates`` may be columns of answers; ``has_keys``: the items have an ID or content.
        """
        names = [self.head.names[index] for index in candidates]
        if has_keys or not rater_columns.differ_only_in_number(names):
            return None
        for index, name in enumerate(self.head.names):
            cells = self.head.columns[index]
            # Row names such as R1 and R2 may number raters or records, so the user has to choose.
            may_be_raters = is_index_name(name) and are_rater_numbers(cells.values)
            if cells.is_unique and (is_respondent_name(name) or may_be_raters):
                self.columns["rater"] = index
                self.reasons[index] = "values" if may_be_raters else "name"
                guess = self._guess_raters_in_rows(candidates)
                if guess and may_be_raters:
                    guess.doubt, guess.doubtful_columns = "raters_in_rows", list(candidates)
                return guess
        return None

    def _guess_raters_in_rows(self, candidates: Sequence[int]) -> ColumnGuess | None:
        """Return the guess for a row for each rater and a column for each item, or None."""
        columns = self.head.columns
        names = [self.head.names[index] for index in candidates]
        stems = {len(number[0]) for name in names if (number := split_numbered_name(name))}
        has_people = are_rater_numbers(names) and min(stems) > 1  # coder_a, but not u1
        if columns[self.columns["rater"]].has_repeats or has_people:
            return None
        shared = rater_columns.find_columns_with_shared_values(
            self.head, candidates, self.labels, sure=True
        )
        if len(shared) >= 2 and rater_columns.differ_only_in_number(names):
            shared = list(candidates)
        if len(shared) < 2:
            return None
        # Raters who all agree on an item leave one value in its column.
        values = set.union(*(columns[index].values for index in shared))
        item_names = [self.head.names[index] for index in shared]
        shared = [
            index
            for index in range(len(self.head.names))
            if index in shared
            or (
                index in self.list_free_columns()
                and columns[index].filled
                and (
                    columns[index].values <= values
                    or rater_columns.differ_only_in_number([*item_names, self.head.names[index]])
                )
            )
        ]
        self.columns = {role: self.columns[role] for role in RESPONDENT_ROLES & set(self.columns)}
        return self._build_raters_in_rows_guess(shared)

    def _build_raters_in_rows_guess(self, answers: Sequence[int]) -> ColumnGuess:
        """Return the guess with a row for each rater and the columns ``answers`` as items."""
        guess = ColumnGuess("raters", {}, rows_are_items="rater" not in self.columns)
        for index in answers:
            self.reasons[index] = "values"
        unused = [
            index
            for index in range(len(self.head.names))
            if index not in answers and index not in self.columns.values()
        ]
        self.content = []
        self._exclude_or_keep_as_attributes(unused, guess, "no_role")
        names = [self.head.names[index] for index in answers]
        pairs = rater_columns.split_grid_names(names)
        if pairs[0][1]:
            guess.value_columns = {
                str(index): list(pair) for index, pair in zip(answers, pairs, strict=True)
            }
        elif not rater_columns.differ_only_in_number(names):
            guess.doubt, guess.doubtful_columns = "raters_in_rows", list(answers)
        return guess
