"""What is made a moment after the readings, by the sweep: intervals by the bootstrap, and what
there is to say of disagreement.

Both look at more than what a changed rating moved, so no rater waits for them. A page shows the
older ones meanwhile. ``CountState.bootstrapped`` is the version for which they were made.
"""

from __future__ import annotations

import logging
import math
import random
import time

from django.db import transaction
from django.db.models import F

from metrics import changes
from metrics.models import CountState
from metrics.scale import QuestionScale
from ratings.recording import waiting

from . import bootstrap, findings, means

logger = logging.getLogger(__name__)


def sweep(*, seconds: float = math.inf) -> None:
    """Renew what is older than the readings; a failure of one question does not keep the others
    waiting. After ``seconds`` ratings that wait to be counted come first.

    In any order, so that workers who sweep at the same time seldom make the same.
    """
    until = time.monotonic() + seconds
    behind = CountState.objects.exclude(bootstrapped=F("version"))
    ids = list(behind.values_list("pk", flat=True))
    random.shuffle(ids)
    for question_id in ids:
        if time.monotonic() > until and waiting.questions():
            return
        try:
            renew(question_id)
        except Exception:
            logger.exception(
                "what follows the readings of question %s failed; the next sweep tries again",
                question_id,
            )


def renew(question_id: int) -> None:
    """Make both anew where they are behind. Counting may go on meanwhile: then they are not stored,
    but made again."""
    behind = CountState.objects.exclude(bootstrapped=F("version"))
    state = behind.select_related("question").filter(pk=question_id).first()
    if state is None:
        return
    scale = QuestionScale.of(state.question)
    version = state.version
    intervals, of_people = bootstrap.of_question(question_id, scale)
    pairwise = means.of_question(question_id, scale)
    diagnosis = findings.diagnosis_of(question_id, scale, pairwise)
    same = CountState.objects.filter(pk=question_id, version=version)
    with transaction.atomic():
        # The version rises, so that open pages show what is new.
        made = {"bootstrap": intervals, "bootstrap_people": of_people, "pairwise": pairwise}
        if same.update(**made, bootstrapped=version + 1, version=version + 1):
            diagnosis.save()  # of a key that is there, or not yet
            changes.announce(question_id)
