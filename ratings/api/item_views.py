"""The API of items: what is judged, how often it was, and what is known to be right."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import BadRequest
from core.api.parameters import parameters, rows_of
from core.api.schema import PAGING, one_or_many, page_of, parameter, reads, removes, writes
from core.text import has_nul
from projects.api.base import ApiView
from projects.api.serializers import Counts, ItemIn
from projects.models import Item, Member, Project
from projects.services.items import gold_rows
from projects.services.items.upsert import put_items
from ratings.items import item_search, withdrawal

from .query_times import moment_of

FILTERS = ("since", "min_ratings", "max_ratings", "search", "state")
ATTRIBUTE = "attribute."
MOST_ATTRIBUTES = 3


class ItemOut(serializers.Serializer):
    key = serializers.CharField()
    body = serializers.DictField()
    attributes = serializers.DictField()
    gold = serializers.DictField(
        required=False,
        help_text="For leads alone: the right answer by question, a label, several, or shares",
    )
    ratings = serializers.IntegerField(help_text="That stand, of all questions")
    version = serializers.IntegerField(help_text="Of the content; other content is the next one")
    withdrawn = serializers.BooleanField()
    has_content = serializers.BooleanField(help_text="Whether there is anything to show")
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()


class Removed(serializers.Serializer):
    deleted = serializers.BooleanField(help_text="Gone for good: it had no ratings")
    withdrawn = serializers.BooleanField(help_text="It has ratings: it stays with them")


class Items(ApiView):
    @writes(
        "putItems",
        "Create or change items by key",
        body=one_or_many("ItemOrItems", ItemIn),
        answer=Counts,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """One item or a list of up to 10,000. The same request twice changes nothing."""
        project = self.project(request, project_id, role=Member.Role.LEAD)
        parameters(request)
        return Response(put_items(project=project, rows=rows_of(request.data), by=request.user))

    @reads(
        "listItems",
        "Items, for leads and viewers",
        page_of("Item", ItemOut),
        [
            parameter("since", "Changed at or after this ISO-8601 time; ratings change no item"),
            parameter("min_ratings", "That stand, of all questions"),
            parameter("max_ratings", "That stand, of all questions"),
            parameter("search", "A text of the key or the content"),
            parameter("state", "", enum=item_search.STATES),
            parameter("attribute.NAME", "The item's attribute NAME is this; up to three of them"),
            *PAGING,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        """A page may be shorter than asked for, or empty, while there is a `next`."""
        project = self.project(request, project_id, role=Member.Role.VIEWER)
        asked = [name for name in request.query_params if name.startswith(ATTRIBUTE)]
        found = parameters(request, (*FILTERS, *asked, *pagination.PAGING))
        wanted = _wanted(found)

        def read(
            after: pagination.Key | None, size: int
        ) -> tuple[list[Any], pagination.Key | None]:
            page = item_search.find(project, wanted, after=after[0] if after else 0, size=size)
            return shown(project, page.items), None if page.after is None else [page.after]

        return Response(pagination.searched(request, found, key=1, read=read))


class OneItem(ApiView):
    @reads("getItem", "One item, for leads and viewers", ItemOut)
    def get(self, request: Request, project_id: int, item_key: str) -> Response:
        project = self.project(request, project_id, role=Member.Role.VIEWER)
        parameters(request)
        return Response(shown(project, [_item(project, item_key)])[0])

    @removes("removeItem", "Withdraw an item; one without ratings is gone for good", Removed)
    def delete(self, request: Request, project_id: int, item_key: str) -> Response:
        project = self.project(request, project_id, role=Member.Role.LEAD)
        parameters(request)
        gone = withdrawal.remove_item(item=_item(project, item_key), by=request.user)
        return Response({"deleted": gone, "withdrawn": not gone})


def shown(project: Project, items: list[Item]) -> list[dict[str, Any]]:
    ids = [item.pk for item in items]
    numbers = item_search.n_ratings(ids)
    is_lead = project.role == Member.Role.LEAD  # type: ignore[attr-defined]  # set by the door
    gold: Any = {}
    if is_lead:
        gold = gold_rows.by_item(project.questions.prefetch_related("categories"), ids)
    rows = []
    for item in items:
        row = {
            "key": item.key,
            "body": item.body,
            "attributes": item.attributes,
            "ratings": numbers.get(item.pk, 0),
            "version": item.version,
            "withdrawn": item.withdrawn_at is not None,
            "has_content": item.has_content,
            "created_at": item.created_at,
            "changed_at": item.changed_at,
        }
        if is_lead:
            row["gold"] = gold.get(item.pk, {})
        rows.append(row)
    return rows


def _item(project: Project, key: str) -> Item:
    item = None if has_nul(key) else Item.objects.filter(project=project, key=key).first()
    if item is None:
        raise Http404("No such item.")
    return item


def _wanted(found: dict[str, str]) -> item_search.Wanted:
    state = found.get("state", "")
    if state and state not in item_search.STATES:
        raise _invalid("state", f"one of {', '.join(item_search.STATES)}")
    return item_search.Wanted(
        search=found.get("search", ""),
        attributes=_attributes(found),
        least=_number(found, "min_ratings"),
        most=_number(found, "max_ratings"),
        since=moment_of(found["since"]) if "since" in found else None,
        state=state,
    )


def _attributes(found: dict[str, str]) -> list[tuple[str, str]]:
    wanted = []
    for name, value in found.items():
        if not name.startswith(ATTRIBUTE):
            continue
        short = name.removeprefix(ATTRIBUTE)
        if not item_search.is_name(short):
            raise _invalid(name[:60], "the name of an attribute is a text, and no number")
        wanted.append((short, value))
    if len(wanted) > MOST_ATTRIBUTES:
        raise _invalid(ATTRIBUTE, f"{MOST_ATTRIBUTES} attributes at most")
    return wanted


def _number(found: dict[str, str], name: str) -> int | None:
    text = found.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise _invalid(name, "a whole number from 0")
    return int(text)


def _invalid(name: str, message: str) -> BadRequest:
    return BadRequest("The query has invalid parameters.", fields={name: message})
