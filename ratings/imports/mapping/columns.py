"""What the columns of a table are called, and what they probably mean. The lead has the last
word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from projects.services import question_validation
from ratings.imports.problems import Unreadable, shown

FEW_ROWS = 10  # fewer are a poor sample
SHORT_LABEL = 20  # characters that a label may have in a poor sample

# Parts of an item's body that have a meaning at the desk, one column each.
CONTENT = ("text", "html", "image", "audio", "video")
MEDIA = ("image", "audio", "video")
# What one column can be.
ROLES = (
    "item",
    *CONTENT,
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
)
OF_MODEL = ("model", "prompt_version")  # of a rater who is a model
# Role -> the names that a column of it may have, the surest first.
NAMES = {
    "item": (
        "item item_id itemid id key task task_id document document_id doc doc_id text_id unit "
        "unit_id example example_id segment segment_id subject subject_id image object record "
        "record_id sample"
    ),
    "rater": (
        "rater rater_id raterid annotator annotator_id worker worker_id workerid user user_id "
        "username coder judge labeler labeller reviewer evaluator expert author completed_by"
    ),
    "label": (
        "label labels rating category code answer score value annotation judgement judgment "
        "severity class choice response verdict grade"
    ),
    "rated_at": (
        "rated_at timestamp time date datetime created created_at submitted submitted_at "
        "submit_time updated_at ts"
    ),
    "comment": "comment comments note notes remark remarks rationale explanation reason",
    "question": "question question_key",
    "seconds": "seconds lead_time duration time_spent seconds_spent",
    "guidelines": "guidelines guidelines_version",
    "model": "model",
    "prompt_version": "prompt_version",
    "gold": "gold gold_label ground_truth truth expected correct_label",
    "text": (
        "text content sentence body passage message tweet utterance post review review_text "
        "document_text input prompt"
    ),
    "html": "html",
    "image": "image image_url picture picture_url photo img",
    "audio": "audio audio_url sound sound_url recording",
    "video": "video video_url film film_url",
}
# Names of columns that are shown to raters under these names.
PARTS = (
    "source target translation reference hypothesis premise instruction question prompt context "
    "title response response1 response2 response_1 response_2 response_a response_b answer_a "
    "answer_b completion output summary"
)
MEDIA_FILE = re.compile(
    r"(https?://|/)?[^\s]*\.(png|jpe?g|gif|webp|avif|mp3|ogg|wav|flac|m4a|mp4|webm)(\?[^\s]*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Look:
    """The start of a file: its delimiter (empty where it has none), the names of its columns, and
    its first rows as (line, cells)."""

    delimiter: str
    names: list[str]
    sample: list[tuple[int, Sequence[Any]]]


@dataclass
class Guess:
    layout: str = "long"
    columns: dict[str, int] = field(default_factory=dict)  # role -> index
    # in the wide layout, columns that are no raters
    leave_out: list[int] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    attributes: list[int] = field(default_factory=list)


def checked_names(cells: Sequence[str], line: int) -> list[str]:
    """The names of the columns, each given and given once; Unreadable otherwise."""
    names = [cell.strip() for cell in cells]
    seen: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if not name:
            raise Unreadable("name_empty", line=line, place=place)
        first = seen.setdefault(name, place)
        if first != place:
            raise Unreadable("name_doubled", line=line, name=shown(name), first=first, second=place)
    return names


def guess_columns(look: Look, *, labels: Iterable[str] = ()) -> Guess:
    """Long where columns named like rater or label stand; else wide where the other columns share
    a few values; else items alone, where there is content.

    ``labels`` are those that the project's questions know already.
    """
    columns: dict[str, int] = {}
    for role, words in NAMES.items():
        place = _named(look, role, words.split(), taken=columns.values())
        if place is not None:
            columns[role] = place
    if not {"rater", "model", "prompt_version"} <= columns.keys():
        # alone, `model` mostly names who wrote what is judged
        columns = {role: place for role, place in columns.items() if role not in OF_MODEL}
    parts = _parts(look, columns)
    described = bool(parts) or any(role in columns for role in CONTENT)
    rest = [
        place
        for place in range(len(look.names))
        if place not in columns.values() and place not in parts
    ]
    if "rater" in columns or "label" in columns:
        attributes = _told_alike(look, columns, rest) if described else []
        return Guess("long", columns, parts=parts, attributes=attributes)
    # No rating of a wide file has these.
    for role in ("rated_at", "comment", "question", "seconds", "guidelines"):
        if (place := columns.pop(role, None)) is not None:
            rest = sorted([*rest, place])
    if not described:
        return _wide(look, columns, set(labels))
    known = {"item": columns.get("item", -1)}
    raters, others = _raters_among(look, known["item"], set(labels), among=rest, sure=True)
    if len(raters) >= 2:
        return Guess("wide", columns, parts=parts, attributes=others)
    return Guess("items", columns, parts=parts, attributes=rest)


def _wide(look: Look, columns: dict[str, int], labels: set[str]) -> Guess:
    """A table without anything to show."""
    item = columns.get("item", 0)
    everywhere = range(len(look.names))
    raters, others = _raters_among(look, item, labels, among=everywhere, sure=False)
    gold = {"gold": columns["gold"]} if "gold" in columns else {}
    if len(raters) >= 2 and ("item" in columns or len(look.names) > 3):
        return Guess("wide", {"item": item}, others)
    return Guess("long", {**columns, **gold})


def _named(look: Look, role: str, words: Sequence[str], *, taken: Collection[int]) -> int | None:
    """The first free column that has the first of these names which any has."""
    for word in words:
        for place, name in enumerate(look.names):
            if place not in taken and _plain(name) == word and _may_be(look, role, place):
                return place
    return None


def _may_be(look: Look, role: str, place: int) -> bool:
    """Whether the cells of a column do not speak against its name."""
    texts = _texts(look, place)
    if role == "question":
        return all(question_validation.KEY.fullmatch(text) for text in texts)
    if role == "guidelines":
        return all(text.isdigit() for text in texts)
    if role in MEDIA:
        return bool(texts) and all(MEDIA_FILE.fullmatch(text) for text in texts)
    if role == "item" and _plain(look.names[place]) in MEDIA:
        return not _may_be(look, "image", place)
    return True


def _parts(look: Look, columns: dict[str, int]) -> list[int]:
    """Further columns that are shown to raters: by their names, or for their length where nothing
    has such a name."""
    free = [place for place in range(len(look.names)) if place not in columns.values()]
    named = [place for place in free if _plain(look.names[place]) in PARTS.split()]
    if named or any(role in columns for role in CONTENT):
        return named
    long = []
    for place in free:
        texts = _texts(look, place)
        if texts and sum(map(len, texts)) > 2 * SHORT_LABEL * len(texts):
            long.append(place)
    return long


def _told_alike(look: Look, columns: dict[str, int], rest: Sequence[int]) -> list[int]:
    """Columns that say the same wherever an item stands: something about it, not about a rating."""
    item = columns.get("item")
    if item is None:
        return list(rest)
    alike = []
    for place in rest:
        told: dict[str, str] = {}
        texts = [(_text(cells, item), _text(cells, place)) for _line, cells in look.sample]
        if all(told.setdefault(key, text) == text for key, text in texts):
            alike.append(place)
    return alike


def _raters_among(
    look: Look, item: int, labels: set[str], *, among: Iterable[int], sure: bool
) -> tuple[list[int], list[int]]:
    """Columns whose cells mostly say what other columns say, too (raters of one scale), and those
    that are not.

    An empty cell speaks for a rater. A short sample says little: then every short text may be a
    label, unless one has to be ``sure``.
    """
    places = [place for place in among if place != item]
    texts = {place: _texts(look, place) for place in places}
    n_columns: Counter[str] = Counter()  # text -> in how many columns it stands
    for found in texts.values():
        n_columns.update(set(found))
    short = len(look.sample) < FEW_ROWS and not sure

    def may_be_a_label(text: str) -> bool:
        return text in labels or n_columns[text] > 1 or (short and len(text) <= SHORT_LABEL)

    raters: list[int] = []
    others: list[int] = []
    for place, found in texts.items():
        known = sum(map(may_be_a_label, found))
        is_rater = 2 * known >= len(found) and bool(found or not sure)
        (raters if is_rater else others).append(place)
    return raters, others


def _texts(look: Look, place: int) -> list[str]:
    """What stands in the filled cells of a column of the sample."""
    cells = [_text(cells, place) for _line, cells in look.sample]
    return [cell for cell in cells if cell]


def _text(cells: Sequence[Any], place: int) -> str:
    if place >= len(cells) or cells[place] is None:
        return ""
    return str(cells[place]).strip()


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
