"""Look up the keys in a request's rows: questions, items and raters.

Plain SQL in one round trip: every request that sends ratings needs this, and the ORM takes longer
to build three queries than the database to answer them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.db import bulk
from projects.models import Project, Question
from ratings.label_normalization import get_normal_form
from ratings.services import permissions
from ratings.services.permissions import ANSWERABLE_STATES


@dataclass(frozen=True, slots=True)
class QuestionLookup:
    """A question with label -> code of its categories, in declared order."""

    question: Question
    codes: dict[str, int] = field(default_factory=dict)
    _codes_by_form: dict[str, int] = field(default_factory=dict)  # filled when it is needed

    def find_code(self, label: str) -> int | None:
        """Return the code of a label, also if it is spelled as files may spell it; else None.

        Equal numbers are the same label (1, 1.0), and so are the Unicode forms of a character. A
        label with blanks at its ends is not accepted.
        """
        if label in self.codes or label != label.strip():
            return self.codes.get(label)
        if not self._codes_by_form:
            for category, code in self.codes.items():
                self._codes_by_form.setdefault(get_normal_form(category), code)
        return self._codes_by_form.get(get_normal_form(label))


@dataclass(frozen=True, slots=True)
class RowLookup:
    """Questions by key, and ids of items and raters by key."""

    questions: dict[str, QuestionLookup]
    items: dict[str, int]
    raters: dict[str, int]
    # Original keys of raters with hidden names -> their pseudonyms, which are keys of `raters`.
    pseudonyms: dict[str, str]
    own_rater: str | None  # key of the user's rater, where it was requested
    is_paused: bool = False  # the user's rater
    gold_notice: str = ""  # warning or pause of this rater because of wrong gold answers
    due_exam_question_id: int | None = None  # the question whose exam this rater has to pass first
    # Ids of this rater's items without an answer, where only assigned items were looked up.
    open_items: frozenset[int] = frozenset()
    check_items: frozenset[int] = frozenset()  # ids of those of these items that are checks
    may_correct: bool = True
    unknown_item_suffix: str = ""  # end of the error message for an unknown item

    @property
    def only_question(self) -> str:
        """Return the key of the project's question if it has a single one, else empty."""
        return next(iter(self.questions)) if len(self.questions) == 1 else ""


_QUESTIONS_SQL = """
    SELECT q.id, q.key, c.label, c.code
    FROM projects_question q
    LEFT JOIN projects_category c ON c.question_id = q.id AND NOT c.retired
    WHERE q.project_id = %s
    ORDER BY q.position, q.id, c.position, c.code
    """
_OWN_RATER_SQL = f"""
    SELECT r.key, r.id, r.paused, p.allows_corrections, m.id IS NOT NULL,
        ({permissions.DUE_EXAM_SQL}), r.gold_notice
    FROM projects_rater r
    JOIN projects_project p ON p.id = r.project_id
    LEFT JOIN projects_member m ON m.project_id = r.project_id AND m.user_id = r.user_id
    WHERE r.project_id = %s AND r.user_id = %s
    """  # noqa: S608
_OWN_RATER_ID_SQL = "SELECT id FROM projects_rater WHERE project_id = %s AND user_id = %s"
# As in ratings.annotation.rater_selectors; skipped and expired assignments are left out, unless the
# rater has answered the item: a check by a check answer, any other item by a rating.
# Only fixed names are inserted into the text.
_ASSIGNED_ITEMS_SQL = f"""
    SELECT i.key, i.id, COALESCE(a.state = 'open' AND a.kind <> 'exam', FALSE),
        COALESCE(a.kind <> '', FALSE)
    FROM projects_item i
    LEFT JOIN ratings_assignment a ON a.item_id = i.id AND a.rater_id = ({_OWN_RATER_ID_SQL})
    WHERE i.project_id = %s AND (
        a.state IN ({{held}})
        OR COALESCE(a.kind, '') = '' AND EXISTS (
            SELECT 1 FROM ratings_rating r
            WHERE r.item_id = i.id AND r.rater_id = ({_OWN_RATER_ID_SQL})
        )
        OR a.kind <> '' AND EXISTS (
            SELECT 1 FROM ratings_checkanswer r
            WHERE r.item_id = i.id AND r.rater_id = ({_OWN_RATER_ID_SQL})
        )
    ) AND {{among}}
    """  # noqa: S608
_UNKNOWN_ITEM_SUFFIX = ", or it was never given to you"


def look_up_keys(project: Project, user: Any, rows: Sequence[dict[str, Any]]) -> RowLookup:
    """Return the questions, and the ids of items and raters, that the rows name by key.

    The user's own rater is looked up for annotators, and where a row names no rater. Items that an
    annotator was neither assigned nor has rated are left out.
    """
    is_annotator = not project.can_manage
    needs_own_rater = is_annotator or not all("rater" in row for row in rows)
    keys = {row["item"] for row in rows}
    if is_annotator:
        item_queries = _build_assigned_items_query(project, user.pk, sorted(keys))
    else:
        item_queries = bulk.build_key_lookup("projects_item", "id", project.pk, keys)
    rater_keys = {row["rater"] for row in rows if row.get("rater")}
    rater_queries = bulk.build_key_lookup("projects_rater", "id", project.pk, rater_keys)
    identity_queries = _build_pseudonym_lookup(project, rater_keys)
    if needs_own_rater:
        rater_queries.append((_OWN_RATER_SQL, [project.pk, user.pk]))
    question_rows, *results = bulk.execute_statements(
        [(_QUESTIONS_SQL, [project.pk]), *identity_queries, *item_queries, *rater_queries]
    )
    identity_rows = [row for part in results[: len(identity_queries)] for row in part]
    results = results[len(identity_queries) :]
    item_rows = results[: len(item_queries)]
    rater_rows = results[len(item_queries) :]
    own_rows = rater_rows.pop() if needs_own_rater else []
    lookup = RowLookup(
        questions=_build_questions(project, question_rows),
        items=_map_keys_to_ids(item_rows),
        raters=_map_keys_to_ids([*rater_rows, own_rows, [row[1:] for row in identity_rows]]),
        pseudonyms={original_key: pseudonym for original_key, pseudonym, _pk in identity_rows},
        own_rater=own_rows[0][0] if own_rows else None,
    )
    if not is_annotator or not own_rows:
        return lookup
    return _add_annotator(lookup, own_rows[0], [row for part in item_rows for row in part])


def _add_annotator(
    lookup: RowLookup, own_row: tuple[Any, ...], assigned_rows: list[tuple[Any, ...]]
) -> RowLookup:
    """Return the lookup with the state of the user's rater and with the rater's items.

    ``own_row`` is the row of the rater, ``assigned_rows`` those of _build_assigned_items_query.
    """
    _key, _pk, is_paused, may_correct, is_member, due_exam_question_id, gold_notice = own_row
    if not is_member:  # removed from the project a moment ago
        return replace(lookup, own_rater=None)
    return replace(
        lookup,
        is_paused=bool(is_paused),
        due_exam_question_id=due_exam_question_id,
        gold_notice=gold_notice,
        may_correct=bool(may_correct),
        open_items=frozenset(pk for _key, pk, is_open, _is_check in assigned_rows if is_open),
        check_items=frozenset(pk for _key, pk, _is_open, is_check in assigned_rows if is_check),
        unknown_item_suffix=_UNKNOWN_ITEM_SUFFIX,
    )


def _build_assigned_items_query(
    project: Project, user_id: int, keys: list[str]
) -> list[bulk.Statement]:
    """Return, in a list, the query of those items that the user's rater may answer.

    The list is empty without keys, which need no query.
    """
    if not keys:
        return []
    own_parameters = [project.pk, user_id]
    condition, values = bulk.build_in_condition("i.key", keys)
    states = ", ".join(f"'{state.value}'" for state in ANSWERABLE_STATES)
    statement = _ASSIGNED_ITEMS_SQL.format(held=states, among=condition)
    return [(statement, [*own_parameters, project.pk, *own_parameters, *own_parameters, *values])]


def _map_keys_to_ids(parts: Iterable[list[tuple[Any, ...]]]) -> dict[str, int]:
    """Return {key: id} of the rows of several queries, which begin with key and id."""
    ids_by_key: dict[str, int] = {}
    for rows in parts:
        ids_by_key.update((key, pk) for key, pk, *_rest in rows)
    return ids_by_key


def _build_questions(
    project: Project, rows: Iterable[tuple[Any, ...]]
) -> dict[str, QuestionLookup]:
    """Return key -> question of the project's questions, in their order."""
    questions: dict[str, QuestionLookup] = {}
    for pk, key, label, code in rows:
        if key not in questions:
            questions[key] = QuestionLookup(Question(pk=pk, key=key, project=project))
        if label is not None:
            questions[key].codes[label] = code
    return questions


def _build_pseudonym_lookup(project: Project, keys: Collection[str]) -> list[bulk.Statement]:
    """Build the query for (true key, pseudonym, id) of the hidden raters with these true keys.

    Returns a list of at most one statement, to be sent together with other queries.
    """
    if not project.hides_raters or not keys:
        return []
    condition, values = bulk.build_in_condition("d.key", sorted(keys))
    sql = (
        "SELECT d.key, r.key, r.id FROM projects_rateridentity d"  # noqa: S608  # fixed names
        f" JOIN projects_rater r ON r.id = d.rater_id WHERE d.project_id = %s AND {condition}"
    )
    return [(sql, [project.pk, *values])]
