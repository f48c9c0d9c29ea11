"""API of items: content, numbers of ratings, and gold answers."""

from __future__ import annotations

from itertools import islice
from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import INVALID_PARAMETERS, BadRequest
from core.api.parameters import get_attribute_parameters, parse_query_parameters, parse_rows
from core.api.parsers import UploadParser
from core.api.schema import (
    DRY_RUN_PARAMETER,
    PAGE_PARAMETERS,
    build_attribute_parameter,
    build_one_or_many_schema,
    build_ordering_parameter,
    build_page_serializer,
    build_parameter,
    build_since_parameter,
    describe_delete,
    describe_get,
    describe_write,
)
from core.api.strict_fields import StrictSerializer
from core.text import has_nul
from projects.api.base import (
    ApiView,
    ResultPending,
    change_row,
    get_question,
    store_unless_dry_run,
)
from projects.api.serializers import ItemIn, ItemPatch, UpsertCounts
from projects.authentication import TokenAuthentication
from projects.models import Item, Member, Project, Question
from projects.services import item_upsert
from projects.services.item_upsert import upsert_items
from projects.services.project_validation import InvalidProjectChange
from ratings.files import media
from ratings.items import item_search, removal

from .query_times import parse_since

MAX_FILES = 100  # as many as Django reads of a form


class MediaIn(StrictSerializer):
    files = serializers.ListField(
        child=serializers.FileField(),
        max_length=MAX_FILES,
        help_text="Each becomes, or is added to, the item with the name of the file",
    )


class MediaView(ApiView):
    # As at imports: a session's CSRF check would read the form before its size is known.
    authentication_classes = [TokenAuthentication]
    parser_classes = [UploadParser]

    @describe_write(
        "uploadMedia",
        "Upload images, audio and video as items",
        body={"multipart/form-data": MediaIn},
        response=UpsertCounts,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Store the files, all or none. The type of a file is read from its content."""
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        files = self.parse_body(request, MediaIn)["files"]
        try:
            counts = media.add_media_items(project=project, files=files, by=request.user)
        except InvalidProjectChange as error:
            raise BadRequest("No file was stored.", fields=error.fields) from None
        return Response(counts)


FILTERS = ("since", "min_ratings", "max_ratings", "search", "state")
ORDERINGS = {"key": "key", "created_at": "created_at", "changed_at": "changed_at"}
RANKINGS = ("-disagreement", "-ratings", "-rated_at")  # of a question
ATTRIBUTE_PREFIX = "attribute."
MAX_ATTRIBUTES = 3


class ItemOut(serializers.Serializer):
    key = serializers.CharField()
    body = serializers.DictField()
    attributes = serializers.DictField()
    gold = serializers.DictField(
        required=False,
        help_text="For leads alone: the right answer by question, a label, several, or shares",
    )
    ratings = serializers.IntegerField(help_text="Number of current ratings, of all questions")
    version = serializers.IntegerField(help_text="Of the content; other content is the next one")
    withdrawn = serializers.BooleanField()
    has_content = serializers.BooleanField(help_text="Whether there is anything to show")
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()


class RemovedItem(serializers.Serializer):
    deleted = serializers.BooleanField(help_text="Gone for good: it had no ratings")
    withdrawn = serializers.BooleanField(help_text="It has ratings: it stays with them")


# What raters see of a body: docs/api.md.
ITEM_EXAMPLES = {
    "Text": [{"key": "doc-1", "body": {"text": "First"}, "attributes": {"lang": "en"}}],
    "HTML": [{"key": "doc-2", "body": {"html": "<p>The <b>claim</b></p>"}}],
    "Image": [{"key": "doc-3", "body": {"image": "/projects/1/media/scan-7.png"}}],
    "Conversation": [
        {"key": "doc-4", "body": {"turns": [{"role": "user", "text": "Hi"}]}, "gold": {"kind": "a"}}
    ],
}


class ItemsView(ApiView):
    @describe_write(
        "putItems",
        "Create or change items by key",
        body=build_one_or_many_schema("ItemOrItems", ItemIn),
        response=UpsertCounts,
        parameters=[DRY_RUN_PARAMETER],
        examples=ITEM_EXAMPLES,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Create or change one item, or up to 10,000. The same request twice changes nothing."""
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        with store_unless_dry_run(request):
            rows = parse_rows(request.data)
            return Response(upsert_items(project=project, rows=rows, by=request.user))

    @describe_get(
        "listItems",
        "Items, for leads and viewers",
        build_page_serializer("Item", ItemOut),
        [
            build_since_parameter("Changed at or after this time; ratings change no item"),
            build_parameter("min_ratings", "Minimum number of current ratings, of all questions"),
            build_parameter("max_ratings", "Maximum number of current ratings, of all questions"),
            build_parameter("search", "A text of the key or the content"),
            build_parameter("state", "", enum=item_search.STATES),
            build_attribute_parameter(
                "attributes[NAME]=VALUE: the item's attribute NAME has this value; three at most"
            ),
            build_ordering_parameter(ORDERINGS, further=RANKINGS),
            build_parameter(
                "question",
                "Of the orders by disagreement, ratings and rated_at, which list items with"
                " ratings of this question; may be left out where the project has one",
            ),
            *PAGE_PARAMETERS,
        ],
        may_be_pending=True,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Return a page of the items. It may be short, or empty, while there is a `next`."""
        project = self.get_project(request, project_id, role=Member.Role.VIEWER)
        attributes = get_attribute_parameters(request, ATTRIBUTE_PREFIX)
        query = parse_query_parameters(
            request,
            (
                *(*FILTERS, "ordering", "question"),
                *(*attributes.values(), *pagination.PAGE_PARAMETER_NAMES),
            ),
        )
        filters = _build_filters(
            query, {name: query[parameter] for name, parameter in attributes.items()}
        )
        allowed = (*pagination.list_ordering_values(ORDERINGS), *RANKINGS)
        ordering = pagination.parse_ordering(query, allowed)
        if "question" in query and ordering not in RANKINGS:
            raise _build_bad_request("question", f"only with ordering {', '.join(RANKINGS)}")
        if ordering in RANKINGS:
            question = get_question(project, query.get("question"))
            question.project = project
            return Response(_build_ranked_page(request, query, question, filters))
        if ordering:
            return Response(_build_sorted_page(request, query, project, filters))

        def read(
            after: pagination.CursorKey | None, size: int
        ) -> tuple[list[Any], pagination.CursorKey | None]:
            page = item_search.search_item_page(
                project, filters, after=after[0] if after else 0, size=size
            )
            return format_items(project, page.items), None if page.after is None else [page.after]

        return Response(pagination.paginate_search(request, query, key_length=1, read=read))


def _build_sorted_page(
    request: Request, query: dict[str, str], project: Project, filters: item_search.ItemFilters
) -> pagination.JsonPage:
    """Return a page of the items in the order of a column."""
    order = pagination.RowOrder.parse(query, ORDERINGS)
    rows = order.filter_after(Item.objects.filter(project=project), query.get("cursor"))
    items, last = item_search.search_sorted_page(
        project, filters, order.sort(rows), size=pagination.parse_page_size(query)
    )
    next_url = None if last is None else pagination.build_next_url(request, order.get_key(last))
    return pagination.JsonPage(next=next_url, results=format_items(project, items))


def _build_ranked_page(
    request: Request, query: dict[str, str], question: Question, filters: item_search.ItemFilters
) -> pagination.JsonPage:
    """Return a page of the items with ratings in a computed order (ITEM_RANKINGS).

    Raises ResultPending if the order is not yet computed. The cursor is a position in this order.
    """
    ids = item_search.ITEM_RANKINGS[query["ordering"].removeprefix("-")](question)
    if ids is None:
        raise ResultPending

    def read(
        after: pagination.CursorKey | None, size: int
    ) -> tuple[list[Any], pagination.CursorKey | None]:
        remaining = ids[max(0, after[0]) if after else 0 :]
        items = list(islice(item_search.iter_matches(project, filters, remaining), size + 1))
        position = [ids.index(items[size].pk)] if len(items) > size else None
        return format_items(project, items[:size]), position

    project = question.project
    return pagination.paginate_search(request, query, key_length=1, read=read)


class ItemView(ApiView):
    @describe_get("getItem", "One item, for leads and viewers", ItemOut)
    def get(self, request: Request, project_id: int, item_key: str) -> Response:
        project = self.get_project(request, project_id, role=Member.Role.VIEWER)
        parse_query_parameters(request)
        return Response(format_items(project, [_get_item_or_404(project, item_key)])[0])

    @describe_write(
        "changeItem",
        "Change some fields of an item; leads alone may",
        body=ItemPatch,
        response=ItemOut,
        examples={"Content": {"body": {"text": "Corrected"}}, "Gold": {"gold": {"kind": "a"}}},
    )
    def patch(self, request: Request, project_id: int, item_key: str) -> Response:
        """Change the fields that are sent. Another body is the next version of the item."""
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        parse_query_parameters(request)
        key = _get_item_or_404(project, item_key).key
        change_row(upsert_items, project=project, key=key, data=request.data, by=request.user)
        return Response(format_items(project, [_get_item_or_404(project, key)])[0])

    @describe_delete(
        "removeItem", "Withdraw an item; one without ratings is gone for good", RemovedItem
    )
    def delete(self, request: Request, project_id: int, item_key: str) -> Response:
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        parse_query_parameters(request)
        is_deleted = removal.delete_or_withdraw_item(
            item=_get_item_or_404(project, item_key), by=request.user
        )
        return Response({"deleted": is_deleted, "withdrawn": not is_deleted})


def format_items(project: Project, items: list[Item]) -> list[dict[str, Any]]:
    """Return items for the response, with their numbers of ratings, and gold answers for leads."""
    ids = [item.pk for item in items]
    rating_counts = item_search.count_ratings_by_item(ids)
    is_lead = project.can_manage
    gold: Any = {}
    if is_lead:
        gold = item_upsert.get_gold_by_item(project.questions.prefetch_related("categories"), ids)
    rows = []
    for item in items:
        row = {
            "key": item.key,
            "body": item.body,
            "attributes": item.attributes,
            "ratings": rating_counts.get(item.pk, 0),
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


def _get_item_or_404(project: Project, key: str) -> Item:
    """Return the project's item with this key; raise Http404 if there is none."""
    item = None if has_nul(key) else Item.objects.filter(project=project, key=key).first()
    if item is None:
        raise Http404("No such item.")
    return item


def _build_filters(query: dict[str, str], attributes: dict[str, str]) -> item_search.ItemFilters:
    """Return the filters of a query; raise BadRequest for an invalid value."""
    state = query.get("state", "")
    if state and state not in item_search.STATES:
        raise _build_bad_request("state", f"one of {', '.join(item_search.STATES)}")
    return item_search.ItemFilters(
        search=query.get("search", ""),
        attributes=_validate_attributes(attributes),
        min_ratings=_parse_number(query, "min_ratings"),
        max_ratings=_parse_number(query, "max_ratings"),
        since=parse_since(query["since"]) if "since" in query else None,
        state=state,
    )


def _validate_attributes(attributes: dict[str, str]) -> list[tuple[str, str]]:
    """Return (name, value) of each attribute; raise BadRequest for invalid or too many names."""
    for name in attributes:
        if not item_search.is_attribute_name(name):
            raise _build_bad_request(
                f"{ATTRIBUTE_PREFIX}{name[:60]}",
                "the name of an attribute is a text, and no number",
            )
    if len(attributes) > MAX_ATTRIBUTES:
        raise _build_bad_request("attributes", f"{MAX_ATTRIBUTES} attributes at most")
    return list(attributes.items())


def _parse_number(query: dict[str, str], name: str) -> int | None:
    """Return a parameter's number, None if it is missing; raise BadRequest if it is invalid."""
    text = query.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise _build_bad_request(name, "a whole number from 0")
    return int(text)


def _build_bad_request(name: str, message: str) -> BadRequest:
    return BadRequest(INVALID_PARAMETERS, fields={name: message})
