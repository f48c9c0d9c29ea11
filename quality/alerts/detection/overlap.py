"""Items that are not rated as often as they should be: a count, no test."""

from __future__ import annotations

import datetime

import numpy as np

from projects.models import Item, Question
from projects.models.item import ASKED
from quality.models import Kind
from ratings.services.days import EPOCH

from .candidates import Raisable, counted

BEGUN_AGO = 14  # days since its first rating after which an item should have all of them
LOOKED_BACK = 60  # days in which it was begun
LEAST_ITEMS = 20
LEAST_SHARE = 0.1


def behind(question: Question, said: np.ndarray, today: datetime.date) -> list[Raisable]:
    """Items of the queue that were begun two weeks ago or more, and lately, and have fewer ratings
    than the project wants: 20 or more, and a tenth of those that were begun then.

    ``said``: all standing ratings of people (looking.SAID).
    """
    now = (today - EPOCH).days
    item, place = np.unique(said["item"], return_inverse=True)
    first = np.full(item.size, np.iinfo(np.int64).max)
    np.minimum.at(first, place, said["day"])
    lately = (first <= now - BEGUN_AGO) & (first > now - LOOKED_BACK)
    wanted = question.project.overlap
    few = lately & (np.bincount(place, minlength=item.size) < wanted)
    if few.sum() < LEAST_ITEMS:
        return []
    asked = Item.objects.filter(ASKED, project=question.project_id, places_taken__lt=wanted)
    open_items = set(asked.filter(places_taken__gt=0).values_list("pk", flat=True))
    late = few & np.isin(item, np.fromiter(open_items, np.int64, len(open_items)))
    n, begun = int(late.sum()), int(lately.sum())
    if n < LEAST_ITEMS or n < LEAST_SHARE * begun:
        return []
    since = int(first[late].min())
    facts = {"wanted": wanted, "share": n / begun}
    return [counted(Kind.OVERLAP_BEHIND, n, since=since, now=now, facts=facts)]
