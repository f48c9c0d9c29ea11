"""Tests that the rater does not see: items with a gold answer, and items that they rated before,
among those that the desk asks.

They look like all others: the same addresses, pages, states and figures. What is said of them
stands apart (ratings.services.check_answers), and they take no place of their item. Which of a rater's
items are tests is drawn by a key that only this site knows; it is the same whenever it is asked
again. A gold item comes once a rater at most, those shown least often first. An item is asked again
once a rater at most, so many of their own items and days later as the project says, never two in a
row, and none that they flagged or commented, or that says something else now.
"""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection
from django.utils import timezone
from django.utils.crypto import salted_hmac

from core.db import bulk
from projects.models import Item, Rater
from ratings.models import Assignment
from ratings.services.days import aware

from .candidates import ASKED

Why = Assignment.Why

LOOKED_AT = 64  # gold answers, or ratings of old, behind a start that is drawn
CHOSEN_FROM = 16  # gold items: the one that was shown least often

_LOCK_DESK = "SELECT last_closed_at FROM ratings_desk WHERE rater_id = %s"
_NEW_DESK = """
    INSERT INTO ratings_desk (rater_id, position, handed_out) VALUES (%s, 0, 0)
    ON CONFLICT DO NOTHING
    """
_LOCK = " FOR NO KEY UPDATE"
_HANDED_OUT = "SELECT handed_out FROM ratings_desk WHERE rater_id = %s"
_COUNT = "UPDATE ratings_desk SET handed_out = handed_out + 1 WHERE rater_id = %s"

_GOLD_END = """
    (SELECT {end}(item_id) FROM projects_goldanswer WHERE question_id = q.id AND retired_at IS NULL)
    """
_GOLD_OF = f"""
    SELECT id, lowest, highest FROM (
        SELECT q.id,
            {_GOLD_END.format(end="min")} AS lowest,
            {_GOLD_END.format(end="max")} AS highest
        FROM projects_question q WHERE q.project_id = %s
    ) AS ends WHERE lowest IS NOT NULL ORDER BY id
    """
_GOLD_SIDE = """
    SELECT item_id FROM (
        SELECT item_id FROM projects_goldanswer
        WHERE question_id = %s AND retired_at IS NULL AND item_id {side} %s
        ORDER BY item_id LIMIT {looked_at}
    ) AS side
    """
_GOLD_SIDES = " UNION ALL ".join(
    _GOLD_SIDE.format(side=side, looked_at=LOOKED_AT) for side in (">=", "<")
)
# Those that the rater was never asked and never rated, with how often each was shown to others.
_GOLD = f"""
    SELECT new.id, (
        SELECT count(*) FROM ratings_assignment shown
        WHERE shown.item_id = new.id AND shown.why = 'gold'
    )
    FROM (
        SELECT i.id FROM ({_GOLD_SIDES}) AS gold
        JOIN projects_item i ON i.id = gold.item_id AND {ASKED}
        WHERE NOT EXISTS (
            SELECT 1 FROM ratings_rating said
            WHERE said.item_id = i.id AND said.rater_id + 0 = %s
        ) AND NOT EXISTS (
            SELECT 1 FROM ratings_assignment mine
            WHERE mine.item_id = i.id AND mine.rater_id = %s AND mine.state <> 'expired'
        )
        LIMIT {CHOSEN_FROM}
    ) AS new
    """
# What the rater has done, by the time; the index of ratings.models.assignment serves it.
_DONE = """
    SELECT closed_at FROM ratings_assignment WHERE rater_id = %s AND state = 'done'
    ORDER BY closed_at {order} LIMIT 1 OFFSET %s
    """
_EARLIEST, _SO_MANY_AGO = _DONE.format(order="ASC"), _DONE.format(order="DESC")
_DONE_SIDE = """
    SELECT id, item_id FROM (
        SELECT id, item_id FROM ratings_assignment
        WHERE rater_id = %s AND state = 'done' AND why = '' AND NOT flagged
            AND closed_at >= %s AND closed_at < %s
        ORDER BY closed_at LIMIT {looked_at}
    ) AS side
    """
_DONE_SIDES = " UNION ALL ".join([_DONE_SIDE.format(looked_at=LOOKED_AT)] * 2)
_OWN = "r.item_id = done.item_id AND r.rater_id + 0 = %s"
_REPEATABLE = f"""
    SELECT done.id, done.item_id FROM ({_DONE_SIDES}) AS done
    JOIN projects_item i ON i.id = done.item_id AND {ASKED}
    WHERE EXISTS (SELECT 1 FROM ratings_rating r WHERE {_OWN})
        AND NOT EXISTS (
            SELECT 1 FROM ratings_rating r WHERE {_OWN} AND (
                r.code < 0 OR r.comment <> '' OR r.changed_at >= %s
                OR coalesce(r.item_version, 1) <> i.version
            )
        )
    """
_GIVE_REPEAT = """
    UPDATE ratings_assignment SET
        state = 'open',
        why = 'repeat',
        created_at = %s,
        leased_until = %s,
        closed_at = NULL
    WHERE id = %s
    """
_GIVE = """
    INSERT INTO ratings_assignment
        (item_id, rater_id, state, why, created_at, leased_until, skip_reason, flagged)
    VALUES (%s, %s, 'open', %s, %s, %s, '', false)
    ON CONFLICT (item_id, rater_id) DO UPDATE SET
        state = 'open',
        why = excluded.why,
        created_at = excluded.created_at,
        leased_until = excluded.leased_until,
        closed_at = NULL,
        skip_reason = ''
    """


def lease_time() -> datetime.timedelta:
    """So long an item is a rater's who was given it, a test or not."""
    return datetime.timedelta(seconds=settings.LEASE_SECONDS)


def locking_desk(rater: Rater) -> list[bulk.Statement]:
    """Made first where there is none, so that nothing that follows is locked before it."""
    return [(_NEW_DESK, [rater.pk]), (_LOCK_DESK + locking(), [rater.pk])]


def locking() -> str:
    """What a SELECT says at its end to lock its rows."""
    return _LOCK if connection.features.has_select_for_update else ""


class Due(NamedTuple):
    """What the rater's next item is to be, and how many they were given before it."""

    why: str
    handed_out: int


def due(rater: Rater) -> Due | None:
    """Whether the rater's next item is to be a test. Inside the transaction that holds the rater's
    desk."""
    if not rater.project.gold_percent and not rater.project.repeat_percent:
        return None
    [[(handed_out,)]] = bulk.several([(_HANDED_OUT, [rater.pk])])
    why = drawn(rater, handed_out)
    return Due(why, handed_out) if why else None


def drawn(rater: Rater, handed_out: int) -> str:
    """What the rater's item behind so many is to be, where there is any such test."""
    why = _wanted(rater, handed_out)
    if why == Why.REPEAT and _wanted(rater, handed_out - 1) == Why.REPEAT:
        return Why.ORDINARY
    return why


def give(rater: Rater, test: Due) -> int | None:
    """Put a test before the rater, where there is any: the id of its item. In the same
    transaction."""
    give_one = _give_gold if test.why == Why.GOLD else _give_repeat
    given = give_one(rater, test.handed_out)
    if given is not None:
        bulk.several([(_COUNT, [rater.pk])])
    return given


def put_before(rater: Rater, item_id: int, why: str) -> None:
    """Open an item for the rater that takes no place. In the same transaction."""
    bulk.several([(_GIVE, [item_id, rater.pk, str(why), *_times()])])


def _wanted(rater: Rater, handed_out: int) -> str:
    """What this item of the rater is to be."""
    drawn = _drawn(rater, handed_out, "test") * 100
    if drawn < rater.project.gold_percent:
        return Why.GOLD
    if drawn < rater.project.gold_percent + rater.project.repeat_percent:
        return Why.REPEAT
    return Why.ORDINARY


def reopen(rater: Rater, item: Item) -> bool:
    """Put a test before the rater again who skipped it or let its time pass; False where it is
    none. It needs no place."""
    now = timezone.now()
    mine = Assignment.objects.apart().filter(rater=rater, item=item)
    return bool(
        mine.update(
            state=Assignment.State.OPEN,
            created_at=now,
            leased_until=now + lease_time(),
            closed_at=None,
            skip_reason="",
        )
    )


def _drawn(rater: Rater, handed_out: int, what: str) -> float:
    """In [0, 1), for this item of the rater."""
    seed = f"{rater.pk}:{handed_out}:{what}"
    digest = salted_hmac(
        "ratings.annotation.assignments.hidden_checks", seed, algorithm="sha256"
    ).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _times() -> list[Any]:
    """When it is given, and until when it is theirs."""
    moment = connection.ops.adapt_datetimefield_value
    now = timezone.now()
    return [moment(now), moment(now + lease_time())]


def _give_gold(rater: Rater, handed_out: int) -> int | None:
    [questions] = bulk.several([(_GOLD_OF, [rater.project_id])])
    if not questions:
        return None
    place = _drawn(rater, handed_out, "question") * len(questions)
    question_id, lowest, highest = questions[int(place)]
    start = lowest + int(_drawn(rater, handed_out, "start") * (highest - lowest + 1))
    asking = [question_id, start, question_id, start, rater.pk, rater.pk]
    [found] = bulk.several([(_GOLD, asking)])
    if not found:
        return None
    item_id = min(found, key=lambda row: row[1])[0]
    put_before(rater, item_id, Why.GOLD)
    return item_id


def _give_repeat(rater: Rater, handed_out: int) -> int | None:
    project = rater.project
    asking = [
        (_EARLIEST, [rater.pk, 0]),
        (_SO_MANY_AGO, [rater.pk, project.repeat_after_items - 1]),
    ]
    earliest, so_many_ago = bulk.several(asking)
    if not so_many_ago:
        return None
    first = aware(earliest[0][0])
    days_ago = timezone.now() - datetime.timedelta(days=project.repeat_after_days)
    before = min(aware(so_many_ago[0][0]), days_ago)
    if first >= before:
        return None
    moment = connection.ops.adapt_datetimefield_value
    start = first + (before - first) * _drawn(rater, handed_out, "start")
    ends = [moment(one) for one in (first, start, before)]
    sides = [rater.pk, ends[1], ends[2], rater.pk, ends[0], ends[1]]
    [found] = bulk.several([(_REPEATABLE, [*sides, rater.pk, rater.pk, ends[2]])])
    if not found:
        return None
    pk, item_id = found[int(_drawn(rater, handed_out, "repeat") * len(found))]
    bulk.several([(_GIVE_REPEAT, [*_times(), pk])])
    return item_id
