"""Hooks through which higher apps react to changes of projects, questions and raters.

Functions called after a change run inside its transaction, so that an exception undoes the change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from core.hooks import Hook

from .models import Member, MemberOffer, Project, Question, Rater

# (question id, codes of categories) -> {code: number of uses}, without codes that are not used
COUNT_IN_USE: Hook[Callable[[int, Iterable[int]], dict[int, int]]] = Hook("count_in_use")
# After a change of a project's time zone, with its id
ZONE_CHANGED: Hook[Callable[[int], None]] = Hook("zone_changed")
# After a change of a question's categories, their order, values or weights, with its id
SCALE_CHANGED: Hook[Callable[[int], None]] = Hook("scale_changed")
# (question id, weights (k, k)) -> the headline now and under these weights, as {"name", "now",
# "then"}; None while there is no result
WEIGHTS_PREVIEW: Hook[Callable[[int, list[list[float]]], dict[str, object] | None]] = Hook(
    "weights_preview"
)
# After raters got new keys: (project id, {old key: new key})
RATERS_RENAMED: Hook[Callable[[int, Mapping[str, str]], None]] = Hook("raters_renamed")
# After a project was copied: (original, copy, {question of the original: its copy}, acting user)
PROJECT_COPIED: Hook[Callable[[Project, Project, Mapping[Question, Question], Any], None]] = Hook(
    "project_copied"
)
# After a new version of the guidelines, and after a pause or its end, with the acting user
GUIDELINES_CHANGED: Hook[Callable[[Project, Any], None]] = Hook("guidelines_changed")
RATER_PAUSED: Hook[Callable[[Rater, Any], None]] = Hook("rater_paused")
# After somebody else made a person a member, or asks for another invitation, with the acting user
# and the e-mail address of a new account ("" where it is unknown)
MEMBER_INVITED: Hook[Callable[[Member, Any, str], None]] = Hook("member_invited")
# After a role was offered to the owner of an account, with the acting user
ROLE_OFFERED: Hook[Callable[[MemberOffer, Any], None]] = Hook("role_offered")


def count_category_uses(question_id: int, codes: Iterable[int]) -> dict[int, int]:
    """Return {code: number of uses} of a question's categories, summed over all apps."""
    uses: Counter[int] = Counter()
    for counts in COUNT_IN_USE.call(question_id, list(codes)):
        uses.update(counts)
    return dict(uses)
