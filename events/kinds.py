"""Registry of the kinds of events: what each means, and who may see it."""

from __future__ import annotations

from dataclasses import dataclass

from projects.models import Member

VIEWER, LEAD = Member.Role.VIEWER.value, Member.Role.LEAD.value


@dataclass(frozen=True)
class EventKind:
    """Meaning of a kind, in English for the API, and the role that may see it.

    ``role`` is VIEWER (everybody but annotators) or LEAD.
    """

    meaning: str
    role: str = VIEWER


KINDS: dict[str, EventKind] = {
    "alert.opened": EventKind("An alert was raised, with its numbers"),
    "question.fell": EventKind("The agreement of a question fell (an alert of this kind)"),
    "rater.drifted": EventKind("A rater rates otherwise than before (an alert of this kind)"),
    "alert.acknowledged": EventKind("Somebody looked at an alert"),
    "alert.muted": EventKind("An alert was muted"),
    "alert.reopened": EventKind("An alert is open again"),
    "alert.resolved": EventKind("An alert was resolved"),
    "label.changed": EventKind(
        "Final labels changed: `changes` of them, the keys of the first 100 in `items`;"
        " at most one event a question and minute"
    ),
    "item.reviewed": EventKind("An adjudicator or lead decided an item, or took a decision back"),
    "question.complete": EventKind(
        "Every item has the wanted number of ratings, or a decision; once for each number of items"
    ),
    "gate.passed": EventKind("A gate passes that did not before, with its numbers"),
    "gate.failed": EventKind("A gate fails that did not before, with its numbers"),
    "gate.not_enough": EventKind("A gate is undecided that was not before: more items are needed"),
    "import.finished": EventKind("An import is done, or failed: `state`"),
    "guidelines.changed": EventKind("The guidelines have a new version"),
    "label_rules.changed": EventKind("The rules of labels were changed", LEAD),
    "exam_rules.changed": EventKind("The rules of an exam were changed", LEAD),
    "rater.paused": EventKind("A rater gets no more items; `reason` is lead or gold", LEAD),
    "rater.resumed": EventKind("A paused rater gets items again", LEAD),
    "rater.messaged": EventKind("A lead wrote to a rater", LEAD),
    "exam.started": EventKind("A rater began an exam", LEAD),
    "exam.passed": EventKind("A rater passed an exam", LEAD),
    "exam.failed": EventKind("A rater did not pass an exam", LEAD),
    "exam.waived": EventKind("A lead waived an exam", LEAD),
    "exam.retry_granted": EventKind("A lead granted another attempt of an exam", LEAD),
    "gold.warn_proposed": EventKind("A warning is proposed: too many wrong gold answers", LEAD),
    "gold.warn_carried_out": EventKind("A rater was warned for gold answers", LEAD),
    "gold.pause_proposed": EventKind("A pause is proposed: too many wrong gold answers", LEAD),
    "gold.pause_carried_out": EventKind("A rater was paused for gold answers", LEAD),
    "gold.overridden": EventKind("A lead overrode a warning or a pause", LEAD),
    "webhook.paused": EventKind("A webhook was paused for its answers: `reason`", LEAD),
    "appeal.answered": EventKind("A lead answered an appeal", LEAD),
}


def list_kinds(role: str) -> list[str]:
    """Return the names of the kinds that a member with this role may see."""
    visible_roles = {LEAD: {LEAD, VIEWER}, Member.Role.ANNOTATOR.value: set()}
    roles = visible_roles.get(role, {VIEWER})
    return [name for name, kind in KINDS.items() if kind.role in roles]
