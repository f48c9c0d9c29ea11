"""What is made a moment after the readings, by the sweep: intervals by the bootstrap, what there is
to say of disagreement, and what is read first where items were chosen for what others had said.

All look at more than what a changed rating moved, so no rater waits for them. A page shows the
older ones meanwhile. ``CountState.bootstrapped`` is the version for which they were made.
"""

from __future__ import annotations

import logging
import math
import random
import time

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from metrics import result_listeners
from metrics.models import CountState, Reading, Span
from metrics.scale import QuestionScale
from ratings.services import uncounted

from . import bootstrap
from .all_time import Ever
from .disagreement import findings
from .headline import random_sample, variants
from .pairs import mean_kappas

logger = logging.getLogger(__name__)


def sweep(*, seconds: float = math.inf) -> None:
    """Renew what is older than the readings; a failure of one question does not keep the others
    waiting. After ``seconds`` ratings that wait to be counted come first.

    In any order, so that workers who sweep at the same time seldom make the same.
    """
    until = time.monotonic() + seconds
    ids = list(CountState.objects.filter(_behind()).values_list("pk", flat=True))
    random.shuffle(ids)
    for question_id in ids:
        if time.monotonic() > until and uncounted.questions():
            return
        try:
            renew(question_id)
        except Exception:
            logger.exception(
                "what follows the readings of question %s failed; the next sweep tries again",
                question_id,
            )


def _behind() -> Q:
    rested = Q(drawn_behind=True, drawn_rests_until__lte=timezone.now())
    return ~Q(bootstrapped=F("version")) | rested


def renew(question_id: int) -> None:
    """Make all anew where they are behind. Counting may go on meanwhile: then they are not stored,
    but made again."""
    behind = CountState.objects.filter(_behind())
    state = behind.select_related("question").filter(pk=question_id).first()
    if state is None:
        return
    scale = QuestionScale.of(state.question)
    version = state.version
    ever = Ever.of(question_id, scale)
    intervals, of_people = bootstrap.of_question(ever)
    pairwise = mean_kappas.of_question(ever)
    diagnosis = findings.diagnosis_of(ever, pairwise)
    whole = Reading.objects.filter(question=question_id, span=Span.ALL).only("headline").first()
    first = variants.of_all(whole.headline) if whole is not None else {}
    of_drawn = random_sample.renewed(state, first, scale) if first else {}
    same = CountState.objects.filter(pk=question_id, version=version)
    with transaction.atomic():
        # The version rises, so that open pages show what is new.
        made = {"bootstrap": intervals, "bootstrap_people": of_people, "pairwise": pairwise}
        if same.update(**made, **of_drawn, bootstrapped=version + 1, version=version + 1):
            if whole is not None and "drawn" in of_drawn:
                whole.headline = variants.merged(first, of_drawn["drawn"])
                whole.save(update_fields=["headline"])
            diagnosis.save()  # of a key that is there, or not yet
            result_listeners.announce(question_id)
