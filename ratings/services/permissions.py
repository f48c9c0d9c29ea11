"""What an annotator may say: one rule for the desk and the API. Leads, files and the admin are not
asked.

* A paused rater says nothing.
* Who has an exam to pass (ratings.services.exam_gate) says nothing but its answers, and these
  stand.
* Only of items that were given to the rater, or that they rated (a lead may bring ratings in by a
  file); not of one that they skipped or whose time was over, until they take its place again.
* Where the project's ``corrections`` are closed, what they have said stands.
* When a rating was given is for the site's clock to say.
"""

from __future__ import annotations

from collections.abc import Collection

from projects.models import Rater
from ratings.models import NOTHING, Assignment

# In these states of an assignment the rater may speak of its item.
HELD = (Assignment.State.OPEN, Assignment.State.DONE)


class Refused(Exception):
    """What the rater wants cannot be done; nothing has changed."""


class Paused(Refused):
    """The lead has paused the rater."""


class PausedForGold(Paused):
    """For what the rater said of items whose right answer is known."""


class NotExamined(Refused):
    """The rater has an exam to pass first."""


class NotAsked(Refused):
    """The item was never given to this rater."""


class Archived(Refused):
    """The project rests: nobody rates in it, not even a file."""


class CorrectionsClosed(Refused):
    """The project does not let raters change what they rated."""


class ExamStands(CorrectionsClosed):
    """Answers of an exam are given once."""


def refuse_paused(paused: bool, told: str = "") -> None:
    """Raises Paused, and PausedForGold where the rater is told so (Rater.told)."""
    if paused:
        raise PausedForGold if told == Rater.Told.PAUSED else Paused


def refuse_unexamined(due: int | None) -> None:
    """Raises NotExamined where an exam of this question is due."""
    if due is not None:
        raise NotExamined


def refuse_correction(item_id: int, standing: int | None, closed: Collection[int] | None) -> None:
    """Raises CorrectionsClosed for a change of what the rater says of the item, where a rating of
    this code stands, or where the rater is done with the item.

    ``closed`` are the ids of the items that the rater is done with; None where corrections are
    open.
    """
    if closed is None:
        return
    stands = standing is not None and standing != NOTHING
    if stands or item_id in closed:
        raise CorrectionsClosed
