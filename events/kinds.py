"""Registry of the kinds of events: what each means, and which capability shows it."""

from __future__ import annotations

from dataclasses import dataclass

from projects.models.roles import Capability, may


@dataclass(frozen=True)
class EventKind:
    """A kind of events: its meaning, in English for the API, and the capability to see it.

    ``is_mailed_to_rater``: the rater gets a mail about it. `record_event` then requires the subject
    to be rater/ID.
    """

    meaning: str
    capability: Capability = Capability.SEE_RESULTS
    is_mailed_to_rater: bool = False


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
    "label_rules.changed": EventKind("The rules of labels were changed", Capability.MANAGE),
    "exam_rules.changed": EventKind("The rules of an exam were changed", Capability.MANAGE),
    "rater.paused": EventKind(
        "A rater gets no more items; `reason` is lead or gold",
        Capability.MANAGE,
        is_mailed_to_rater=True,
    ),
    "rater.resumed": EventKind("A paused rater gets items again", Capability.MANAGE),
    "rater.messaged": EventKind(
        "A lead wrote to a rater", Capability.MANAGE, is_mailed_to_rater=True
    ),
    "exam.started": EventKind("A rater began an exam", Capability.MANAGE),
    "exam.passed": EventKind("A rater passed an exam", Capability.MANAGE),
    "exam.failed": EventKind("A rater did not pass an exam", Capability.MANAGE),
    "exam.waived": EventKind("A lead waived an exam", Capability.MANAGE),
    "exam.retry_granted": EventKind("A lead granted another attempt of an exam", Capability.MANAGE),
    "gold.warn_proposed": EventKind(
        "A warning is proposed: too many wrong gold answers", Capability.MANAGE
    ),
    "gold.warn_carried_out": EventKind("A rater was warned for gold answers", Capability.MANAGE),
    "gold.pause_proposed": EventKind(
        "A pause is proposed: too many wrong gold answers", Capability.MANAGE
    ),
    "gold.pause_carried_out": EventKind("A rater was paused for gold answers", Capability.MANAGE),
    "gold.overridden": EventKind("A lead overrode a warning or a pause", Capability.MANAGE),
    "webhook.paused": EventKind(
        "A webhook was paused for its answers: `reason`", Capability.MANAGE
    ),
    "appeal.answered": EventKind("A lead answered an appeal", Capability.MANAGE),
}
# Fields of an event's data that contain a rater's key.
RATER_KEY_FIELDS = ("rater", "other_rater")


def list_kinds(role: str) -> list[str]:
    """Return the names of the kinds that a member with this role may see."""
    return [name for name, kind in KINDS.items() if may(role, kind.capability)]
