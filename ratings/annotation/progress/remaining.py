"""How many items a rater may still be given, as things stand: by the very conditions of the queue,
so that "up to so many" is true. It moves when others take the last place of an item, and with
nothing that they say of it.

Between two answers it falls by one, whether the item was a test or not: where tests are mixed in,
what was counted is kept for a while, for a test that is drawn from the new items would take two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.core.cache import cache
from django.db.models import Exists, F, OuterRef, QuerySet

from core.db import bulk
from projects.models import ASKED, Item, Project, Rater
from ratings.annotation.assignments import hidden_checks
from ratings.models import Assignment, Rating

State = Assignment.State

KEPT_SECONDS = 120  # where tests are mixed in
DRAWN_ONE_BY_ONE = 500  # new items between which the tests are counted as they will be drawn

_ASKED = "i.has_content AND i.withdrawn_at IS NULL"  # as ratings.annotation.assignments.candidates has it
# What the queue never gives again.
_MINE = """
    SELECT item_id FROM ratings_rating WHERE rater_id = r.id
    UNION SELECT item_id FROM ratings_assignment WHERE rater_id = r.id AND state <> 'expired'
    """
# Items with a free place less those of them that are the rater's own: the former are counted in the
# queue's index, and the latter are few at first. What is gold and has no place left is given as a
# test alone.
_COUNT = f"""
    SELECT r.id,
        (
            SELECT count(*) FROM projects_item i
            WHERE i.project_id = r.project_id AND i.places_taken < p.overlap AND {_ASKED}
        ) - (
            SELECT count(*) FROM ({_MINE}) AS mine JOIN projects_item i ON i.id = mine.item_id
            WHERE i.project_id = r.project_id AND i.places_taken < p.overlap AND {_ASKED}
        ),
        CASE WHEN p.gold_percent = 0 THEN 0 ELSE (
            SELECT count(DISTINCT g.item_id) FROM projects_question q
            JOIN projects_goldanswer g ON g.question_id = q.id AND g.retired_at IS NULL
            JOIN projects_item i ON i.id = g.item_id
            WHERE q.project_id = r.project_id AND i.places_taken >= p.overlap AND {_ASKED}
                AND i.id NOT IN ({_MINE})
        ) END
    FROM projects_rater r JOIN projects_project p ON p.id = r.project_id
    WHERE r.id IN ({{raters}})
    """  # fixed names
_HELD = f"""
    SELECT r.id,
        (
            SELECT count(*) FROM ratings_assignment a JOIN projects_item i ON i.id = a.item_id
            WHERE a.rater_id = r.id AND a.state = 'open' AND a.why <> 'exam' AND {_ASKED}
        ),
        (SELECT count(*) FROM ratings_assignment WHERE rater_id = r.id AND state = 'done'),
        coalesce((SELECT handed_out FROM ratings_desk WHERE rater_id = r.id), 0)
    FROM projects_rater r WHERE r.id IN ({{raters}})
    """  # fixed names


class Held(NamedTuple):
    """Items that lie before the rater, that they are done with, and that they were given."""

    held: int = 0
    done: int = 0
    handed_out: int = 0


def asking_held(raters: Sequence[Rater]) -> bulk.Statement:
    """The statement that finds (rater, *Held)."""
    return _of(_HELD, raters)


def of_rater(rater: Rater, held: Held) -> int:
    """Up to so many items are still theirs to do."""
    return of_raters([rater], {rater.pk: held})[rater.pk]


def found_none(rater: Rater) -> None:
    """The queue found nothing for the rater: what was counted a while ago holds no more."""
    cache.delete(_key(rater))


def of_raters(raters: Sequence[Rater], held: dict[int, Held] | None = None) -> dict[int, int]:
    """Rater -> up to so many; two statements for all of them. Each has its project."""
    if held is None:
        [rows] = bulk.several([asking_held(raters)]) if raters else [[]]
        held = {pk: Held(*numbers) for pk, *numbers in rows}
    found, unknown = {}, []
    for rater in raters:
        future = None if rater.project.archived_at is None else 0
        if future is None and _is_tested(rater.project):
            future = _kept(rater, held[rater.pk])
        if future is None:
            unknown.append(rater)
        else:
            found[rater.pk] = held[rater.pk].held + future
    rows = bulk.several([_of(_COUNT, unknown)])[0] if unknown else []
    counted = {pk: (new, gold) for pk, new, gold in rows}
    for rater in unknown:
        mine = held[rater.pk]
        future = _to_come(rater, *counted[rater.pk], mine)
        if _is_tested(rater.project):
            cache.set(_key(rater), (future, mine.handed_out), KEPT_SECONDS)
        found[rater.pk] = mine.held + future
    return found


def _of(sql: str, raters: Sequence[Rater]) -> bulk.Statement:
    return sql.format(raters=", ".join(["%s"] * len(raters))), [rater.pk for rater in raters]


def _is_tested(project: Project) -> bool:
    return bool(project.gold_percent or project.repeat_percent)


def _kept(rater: Rater, held: Held) -> int | None:
    """What was counted a while ago, less what was given since; None where that is nothing, or
    nothing any more."""
    future, handed_out = cache.get(_key(rater), (0, 0))
    rest = future - (held.handed_out - handed_out)
    return rest if 0 < rest <= future else None


def _key(rater: Rater) -> str:
    """Of what a lead can change about it, too."""
    project = rater.project
    shares = f"{project.gold_percent}-{project.repeat_percent}-{project.repeat_after_items}"
    return f"left-of-{rater.pk}-{project.overlap}-{shares}-{project.catalogue_version}"


def _to_come(rater: Rater, new: int, gold: int, held: Held) -> int:
    """The new items, and the tests that at most come between them, which nobody is asked after the
    last one."""
    if not _is_tested(rater.project):
        return new
    if new > DRAWN_ONE_BY_ONE:
        share = rater.project.gold_percent + rater.project.repeat_percent
        return new + new * share // (100 - share)
    place = held.handed_out
    while new > 0:
        answered = held.done + held.held + place - held.handed_out
        why = hidden_checks.drawn(rater, place)
        if why == Assignment.Why.GOLD and gold:
            gold -= 1
        elif why != Assignment.Why.REPEAT or answered < rater.project.repeat_after_items:
            new -= 1
        place += 1
    return place - held.handed_out


# --- by the rater's own doing alone


def has_left(rater: Rater) -> bool:
    """Whether the project asks for an item that the rater neither rated nor skipped."""
    return _with_something_left(Rater.objects.filter(pk=rater.pk)).exists()


def done_by(user: Any, projects: Iterable[Project]) -> set[int]:
    """Of these projects, those in which the user rates and has rated or skipped every item; one
    query."""
    mine = Rater.objects.filter(user=user, project__in=list(projects))
    left = _with_something_left(mine).values("pk")
    asked = Item.objects.filter(ASKED, project=OuterRef("project"))
    done = mine.exclude(pk__in=left).filter(Exists(asked))
    return set(done.values_list("project_id", flat=True))


def _with_something_left(raters: QuerySet[Rater]) -> QuerySet[Rater]:
    mine = Assignment.objects.filter(rater=OuterRef(OuterRef("pk")), item=OuterRef("pk"))
    said = Rating.objects.filter(rater=OuterRef(OuterRef("pk")), item=OuterRef("pk"))
    asked = Item.objects.filter(ASKED, project=OuterRef("project"))
    new = asked.exclude(Exists(mine.exclude(state=State.EXPIRED))).exclude(Exists(said))
    held = Assignment.objects.filter(rater=OuterRef("pk"), state=State.OPEN)
    held = held.exclude(why=Assignment.Why.EXAM).filter(
        item__in=Item.objects.filter(ASKED).values("pk")
    )
    # Behind the item they were given last something is found at once, where there is anything.
    ahead = new.filter(pk__gt=OuterRef("position"))
    raters = raters.annotate(position=F("desk__position"))
    return raters.filter(Exists(held) | Exists(ahead) | Exists(new))
