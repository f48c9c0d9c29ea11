"""Tests of names: which role, question or rater the name of a column suggests."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Sequence

from ratings.imports.problems import UnreadableFileError, truncate_text

from . import role_words

# Parts of an item's body that the annotation page renders specially, one column each.
CONTENT_ROLES = ("text", "html", "image", "audio", "video")
MEDIA_ROLES = ("image", "audio", "video")
# Roles that one column can have.
ROLES = (
    "item",
    *CONTENT_ROLES,
    "gold",
    "rater",
    "label",
    "rated_at",
    "comment",
    "seconds",
    "guidelines",
    "question",
    "model",
    "prompt_version",
    "count",
)
MODEL_ROLES = ("model", "prompt_version")  # roles that describe a rater who is a model
# Roles that several columns can have. The columns of `ignore` are not imported.
MULTI_COLUMN_ROLES = ("content", "attributes", "ignore")
# Roles of a table with a row for each rater and a column for each item.
RESPONDENT_ROLES = frozenset({"rater", "rated_at"})
ITEM_ID_PATTERN = re.compile(r"[\w]+_id")
_SUFFIX_RANK = 1000  # names with one of these words are less reliable than those listed above
_QUESTION_NAME = re.compile(
    r"(q|question|item|frage|criterion|aspect|dim)[\s_.-]*\d+[a-z]?", re.IGNORECASE
)
_NUMBERED_START = re.compile(r"([^\W\d_]{3,})[\s_.-]*\d+")
_ORDINAL_NAME = re.compile(
    r"(first|second|third|fourth|fifth|1st|2nd|3rd|4th|primary|secondary)[\s_.-]+([^\W\d_]+)",
    re.IGNORECASE,
)
_NUMBER_WORD = re.compile(r"(.*[^\W\d_])[\s_.-]+(one|two|three|four|five)", re.IGNORECASE)
_NUMBERED_PATTERNS = (
    re.compile(r"(.*[^\W\d_])[\s_.#-]*(\d{1,3})"),  # rater_1, R1, label 2
    re.compile(r"(.*\w)[\s_.-]+([^\W\d_])"),  # rater_a, Gutachter A
    re.compile(r"(.*[a-z])([A-Z])"),  # RaterA
    re.compile(r"(.*[\u3040-\u9fff])([A-Za-z甲乙丙丁戊一二三四五])"),  # 评审员甲
)


def validate_column_names(cells: Sequence[str], line: int) -> list[str]:
    """Return the stripped column names; raise UnreadableFileError if one is empty or used twice."""
    names = [cell.strip() for cell in cells]
    positions: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if not name:
            raise UnreadableFileError("name_empty", line=line, place=position)
        first_position = positions.setdefault(name, position)
        if first_position != position:
            raise UnreadableFileError(
                "duplicate_column_name",
                line=line,
                name=truncate_text(name),
                first=first_position,
                second=position,
            )
    return names


@functools.lru_cache(maxsize=10_000)  # also called with the rater of each row
def normalize_name(name: str) -> str:
    """Return a column name in lower case with underscores between its words."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\W_]+", "_", words.casefold()).strip("_")


def compact_name(name: str) -> str:
    """Return a column name in lower case without separators."""
    return normalize_name(name).replace("_", "")


def rank_name(name: str, role: str) -> int | None:
    """Return the rank of a name for a role, 0 for the most reliable; None without a rank."""
    rank = _RANKS.get(role, {}).get(compact_name(name))
    if rank is None and role in CONTENT_ROLES:
        # `data.text`: a field in an object of the item's content.
        container, _, last = name.rpartition(".")
        if compact_name(container) in role_words.CONTENT_CONTAINERS:
            rank = _RANKS[role].get(compact_name(last))
    if role == "gold" and normalize_name(name).endswith("_gold"):
        return _SUFFIX_RANK
    if rank is not None or role not in ("item", "rater"):
        return rank
    if role == "rater" and _ORDINAL_NAME.fullmatch(name.strip()):
        return None  # first_reviewer, second_reviewer: a column for each rater
    words = normalize_name(name).split("_")
    if role == "rater" and words[-1].endswith(("ologist", "ologe", "ologin", "ologue")):
        return _SUFFIX_RANK
    if len(words) > 1 and words[-1] in role_words.ENDINGS:
        rank = _RANKS[role].get("".join(words[:-1]))
    if rank is None and len(words) > 1:
        # `Excerpt Creator`, `participant private id`: the last word, or the first before an ID.
        is_id = words[-1] in ("id", "ids")
        telling = [
            word
            for word in (words[:-1] if is_id else words[-1:])
            if word in role_words.TELLING_WORDS
        ]
        if role == "rater" and words[0] in role_words.LABEL_STARTS:
            return None  # label_reviewer: the label of the reviewer
        rank = _RANKS[role].get(telling[0]) if telling else None
    return None if rank is None else rank + _SUFFIX_RANK


def is_survey_name(name: str) -> bool:
    """Return whether this name, such as Completion time, occurs only in responses to a survey."""
    return compact_name(_remove_survey_code(name)) in role_words.SURVEY_NAMES


def is_agreement_result_name(name: str) -> bool:
    """Return whether a column of this name has computed agreement, such as Kappa."""
    return compact_name(name) in role_words.RESULT_NAMES


def is_index_name(name: str) -> bool:
    """Return whether a column of this name has row names of a data frame, as Unnamed: 0 has."""
    return name.startswith("(") or compact_name(name) == "unnamed0"


def is_frequency_name(name: str) -> bool:
    """Return whether a column of this name says how often a row occurs: Freq, count."""
    return compact_name(name) in role_words.FREQUENCY_NAMES


def is_role_name(name: str) -> bool:
    """Return whether a name suggests a column of items, raters or labels."""
    number = split_numbered_name(name)
    return bool(number and number[0] in role_words.RATER_STEMS) or any(
        rank_name(name, role) is not None for role in ("item", "rater", "label")
    )


def is_content_part_name(name: str) -> bool:
    """Return whether a name suggests content that raters see."""
    return compact_name(name) in _CONTENT_PARTS


def is_answer_name(name: str) -> bool:
    """Return whether a column of this name has answers, also of programs: human_label, votes."""
    return not role_words.ANSWER_WORDS.isdisjoint(normalize_name(name).split("_"))


def is_grader_list_name(name: str) -> bool:
    """Return whether a list of this name, such as results, may have one result per grader."""
    return normalize_name(name).split("_")[-1] in role_words.GRADER_LISTS


def is_count_name(name: str) -> bool:
    """Return whether a column of this name counts ratings: toxic_count, n_toxic."""
    normalized = normalize_name(name)
    container = normalize_name(name.rpartition(".")[0])
    return (
        normalized.endswith("_count")
        or normalized.startswith(("n_", "num_", "count_"))
        or container.split("_")[-1] in role_words.COUNTERS
    )


def is_criterion_name(name: str) -> bool:
    """Return whether a column of this name is a question of its own: fluency, severe_toxic."""
    return not role_words.CRITERIA.isdisjoint(normalize_name(name).split("_"))


def is_comparison_name(name: str) -> bool:
    """Return whether a column of a wide table compares the raters: Match, Same?, Diff."""
    return compact_name(name) in role_words.COMPARISON_NAMES


def is_model_name(name: str) -> bool:
    """Return whether a column of this name has the answers of a language model: gpt-4o."""
    return normalize_name(name).startswith(role_words.MODEL_STARTS)


def is_model_column_name(name: str) -> bool:
    """Return whether a column of this name names models in its cells: model, llm_name."""
    return compact_name(name) in role_words.MODEL_COLUMNS


def is_preference_name(name: str) -> bool:
    """Return whether a column of this name has the preferred one of several options: winner."""
    return not role_words.PREFERENCE_WORDS.isdisjoint(normalize_name(name).split("_"))


def is_question_name(name: str) -> bool:
    """Return whether a column is named like a numbered question or item, such as "Q2a"."""
    text = name.strip()
    match = _NUMBERED_START.match(text)
    is_other = match is not None and compact_name(match[1]) in role_words.OTHER_STEMS
    return is_other or _QUESTION_NAME.fullmatch(text) is not None


def is_difficulty_name(name: str) -> bool:
    """Return whether a column of this name says how hard, sure or important items are."""
    return compact_name(name) in role_words.DIFFICULTY_NAMES


def is_score_name(name: str) -> bool:
    """Return whether the name ends in "score" and no word says that the score was computed.

    Such a score may be a rater's.
    """
    normalized = normalize_name(name)
    return normalized.endswith(("_score", "_scores")) and role_words.DERIVED_WORDS.isdisjoint(
        normalized.split("_")
    )


def is_author_name(name: str) -> bool:
    """Return whether the name, such as author, may mean the rater or the author of the item."""
    return compact_name(name) in ("author", "creator", "createdby")


def may_name_rater_or_rated_person(name: str) -> bool:
    """Return whether the name, such as participant, may mean the rater or the person rated."""
    words = [word for word in normalize_name(name).split("_") if word not in role_words.ENDINGS]
    stem = "".join(words).removesuffix("id")
    return is_author_name(name) or stem in ("user", "username", "participant", "respondent")


def is_derived_name(name: str) -> bool:
    """Return whether a column of this name was computed: majority, final_label, MACE_pred."""
    normalized = normalize_name(name)
    return (
        name.strip().casefold() == "_trust"  # of crowd workers; without the line, it is a criterion
        or not role_words.DERIVED_WORDS.isdisjoint(normalized.split("_"))
        or (normalized.endswith(role_words.DERIVED_ENDINGS) and not _begins_with_rater(name))
        or normalized.startswith(role_words.DERIVED_STARTS)
    )


def _begins_with_rater(name: str) -> bool:
    """Return whether a name begins with a human, model or numbered rater: Reader1 Lesion Count."""
    first, *others = normalize_name(name).split("_")
    numbers = [split_numbered_name(part) for part in (first, "_".join([first, *others[:1]]))]
    return (
        first == "human"
        or is_model_name(name)
        or any(number and number[0] in role_words.RATER_STEMS for number in numbers)
    )


def is_descriptive_name(name: str) -> bool:
    """Return whether a column of this name describes items, raters or the survey: sex, Progress."""
    normalized = normalize_name(_remove_survey_code(name))
    return (
        normalized.replace("_", "") in role_words.DESCRIPTIVE_NAMES
        or not role_words.DESCRIPTIVE_WORDS.isdisjoint(normalized.split("_"))
        or normalized.endswith(role_words.DESCRIPTIVE_ENDINGS)
        or normalized.startswith(role_words.DESCRIPTIVE_STARTS)
    )


def is_key_part_name(name: str) -> bool:
    """Return whether a column of this name may number the parts of an item: turn, sentence no.

    Also True for a name of nothing but ENDINGS, such as id, key, name, email or code.
    """
    words = [word for word in normalize_name(name).split("_") if word not in role_words.ENDINGS]
    return len(words) < 2 and (not words or words[0].removesuffix("s") in role_words.KEY_PARTS)


def is_counting_name(name: str) -> bool:
    """Return whether numbers in a column of this name count parts or repeats: turn, trial."""
    return is_key_part_name(name) or compact_name(name) in role_words.REPEAT_NAMES


def is_rating_or_rater_id_name(name: str) -> bool:
    """Return whether a name is that of IDs of ratings or raters, not of items: annotation_id."""
    stem = normalize_name(name).removesuffix("_id").replace("_", "")
    return stem in role_words.RATING_ID_STEMS or stem in _RANKS["rater"]


def is_aggregate_rater_name(name: str) -> bool:
    """Return whether a rater of this name, such as Consensus, stands for the result of several."""
    return compact_name(name) in role_words.MERGED_RATERS


def asks_for_comment(text: str) -> bool:
    """Return whether a question of a survey asks for a comment, as "Any further comments?" does."""
    words = normalize_name(text).split("_")
    return not role_words.COMMENT_WORDS.isdisjoint(words)


def is_beside_other_name(name: str, names: Collection[str]) -> bool:
    """Return whether a column has the comment on, or the time of, another column: Comment Anna.

    ``names`` are the normalized names of all columns, among them that of the other one: Anna.
    """
    container, _, last = name.rpartition(".")
    if container and rank_name(last, "comment") is not None:  # quality.score, quality.reason
        prefix = f"{normalize_name(container)}_"
        return any(other.startswith(prefix) and other != normalize_name(name) for other in names)
    words = normalize_name(name).split("_")
    for word, rest in ((words[0], words[1:]), (words[-1], words[:-1])):
        if rest and word in role_words.BESIDE_WORDS:
            other = "_".join(rest)
            return any(
                f"_{column}_".startswith(f"_{other}_") or f"_{column}_".endswith(f"_{other}_")
                for column in names
                if role_words.BESIDE_WORDS.isdisjoint(column.split("_"))
            )
    return False


def is_form_person_name(name: str) -> bool:
    """Return whether a column of a form names the person who filled it in: Email Address."""
    return compact_name(name) in role_words.FORM_PERSON_NAMES


def is_respondent_name(name: str) -> bool:
    """Return whether a column of a survey identifies who filled it in: ResponseId, email."""
    return compact_name(_remove_survey_code(name)) in role_words.RESPONDENT_NAMES


def _remove_survey_code(name: str) -> str:
    """Return the name without the code that LimeSurvey puts before it, as in "id. Response ID"."""
    code, separator, text = name.partition(". ")
    return text if separator and code.isalnum() else name


def split_numbered_name(name: str) -> tuple[str, str] | None:
    """Return (stem, number or letter) of a numbered name such as rater_1, or None.

    The stem is in lower case without separators.
    """
    if match := _ORDINAL_NAME.fullmatch(name.strip()):
        return compact_name(match[2]), match[1].casefold()
    for pattern in (*_NUMBERED_PATTERNS, _NUMBER_WORD):
        if match := pattern.fullmatch(name.strip()):
            return compact_name(match[1]), match[2].casefold()
    return None


def are_rater_numbers(parts: Collection[str]) -> bool:
    """Return whether parts of column names number raters, as R1 and R2, or rater_a and rater_b."""
    numbered = [split_numbered_name(part) for part in parts]
    stems = {number[0] for number in numbered if number}
    return len(parts) >= 2 and all(numbered) and len(stems) == 1 and stems <= role_words.RATER_STEMS


def _rank_names(names: Iterable[str]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for rank, name in enumerate(names):
        ranks.setdefault(compact_name(name), rank)
    return ranks


_RANKS = {role: _rank_names(names.split()) for role, names in role_words.NAMES_BY_ROLE.items()}
_CONTENT_PARTS = {compact_name(name) for name in role_words.CONTENT_PART_NAMES.split()}
