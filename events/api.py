"""API of the feed of events, and of the webhooks of a project and of the site."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import BadRequest
from core.api.pagination import PAGE_PARAMETER_NAMES, CursorKey, paginate, paginate_rows
from core.api.parameters import get_choice, parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    DeletedOut,
    build_page_serializer,
    build_parameter,
    describe_delete,
    describe_get,
    describe_write,
)
from core.api.strict_fields import BoundedListField, StrictCharField, StrictSerializer
from events.feed import get_project_feed, get_user_feed
from events.kinds import KINDS, list_kinds
from events.models import Delivery, Event, Webhook
from events.webhooks import services
from events.webhooks.http_client import MAX_URL_LENGTH
from events.webhooks.services import InvalidWebhook
from projects.api.base import ApiView, build_location, get_token_project_id
from projects.models import Member
from projects.permissions import get_project_or_site

DEFAULT_LIMIT = 200
MAX_LIMIT = 1_000
MAX_NUMBER = 2**62


class EventOut(serializers.Serializer):
    id = serializers.IntegerField(help_text="Place in the feed; grows, and is never used again")
    kind = serializers.CharField(
        help_text="\n".join(f"* `{name}`: {kind.meaning}" for name, kind in KINDS.items()),
    )
    at = serializers.DateTimeField()
    project = serializers.IntegerField()
    question = serializers.CharField(allow_null=True, help_text="Key of a question")
    data = serializers.DictField(  # type: ignore[assignment]  # the name is part of the API
        help_text="Figures, intervals and evidence: docs/api.md"
    )


PARAMETERS = [
    OpenApiParameter(
        "after", OpenApiTypes.INT, description="Only events with a greater `id`; 0 by default"
    ),
    build_parameter("kind", "Only events of this kind", enum=list(KINDS)),
    OpenApiParameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        description="Number of events in the response",
    ),
]


class ProjectEventListView(ApiView):
    @describe_get(
        "listProjectEvents",
        "What happened in the project, oldest first; never with a gap",
        build_page_serializer("ProjectEvent", EventOut),
        PARAMETERS,
    )
    def get(self, request: Request, project_id: int) -> Response:
        """Return the events: to leads all kinds, to viewers and adjudicators those of results."""
        project: Any = self.get_project(request, project_id, role=Member.Role.VIEWER)
        events = get_project_feed(project, project.role)
        return _build_page(request, events, list_kinds(project.role))


class EventListView(ApiView):
    @describe_get(
        "listEvents",
        "What happened in the caller's projects, oldest first; never with a gap",
        build_page_serializer("Event", EventOut),
        PARAMETERS,
    )
    def get(self, request: Request) -> Response:
        """Return the events of the caller's projects that the caller may see, oldest first.

        A token of one project sees only that project's events.
        """
        events = get_user_feed(request.user, project_id=get_token_project_id(request))
        return _build_page(request, events, list(KINDS))


def _build_page(request: Request, events: QuerySet[Event], kinds: list[str]) -> Response:
    query = parse_query_parameters(request, ("after", "kind", "limit"))
    after = _parse_number(query, "after", 0, bounds=(0, MAX_NUMBER))
    limit = _parse_number(query, "limit", DEFAULT_LIMIT, bounds=(1, MAX_LIMIT))
    if "kind" in query:
        events = events.filter(kind=get_choice(query, "kind", kinds, default=""))
    rows = list(events.filter(number__gt=after)[: limit + 1])
    next_url = None
    if len(rows) > limit:
        rows = rows[:limit]
        parameters = request.query_params.copy()
        parameters["after"] = str(rows[-1].number)
        next_url = f"{request.build_absolute_uri(request.path)}?{parameters.urlencode()}"
    return Response({"next": next_url, "results": [serialize_event(event) for event in rows]})


def serialize_event(event: Event) -> dict[str, Any]:
    return {
        "id": event.number,
        "kind": event.kind,
        "at": event.at,
        "project": event.project_id,
        "question": event.data.get("question"),
        "data": event.data,
    }


def _parse_number(
    query: dict[str, str], name: str, default: int, *, bounds: tuple[int, int]
) -> int:
    lowest, highest = bounds
    text = query.get(name, str(default))
    if not text.isascii() or not text.isdigit() or not lowest <= int(text[:20]) <= highest:
        raise BadRequest(
            f"Invalid {name}.", fields={name: f"a whole number from {lowest} to {highest}"}
        )
    return int(text)


class WebhookOut(serializers.ModelSerializer):
    paused = serializers.BooleanField(source="is_paused")
    pause_reason = serializers.ChoiceField(
        Webhook.PauseReason.values,
        allow_blank=True,
        help_text="person; gone: it answered 410; failing: it failed for five days",
    )
    kinds = serializers.ListField(
        child=serializers.CharField(), help_text="Kinds of events; empty: all"
    )

    format = serializers.ChoiceField(Webhook.Format.values)

    class Meta:
        model = Webhook
        fields = [
            "id", "project", "url", "format", "language", "kinds", "with_items", "paused",
            "pause_reason", "failing_since", "created_at",
        ]  # fmt: skip


class SecretOut(serializers.Serializer):
    secret = serializers.CharField(help_text="`whsec_...`; shown this once")


class NewWebhookOut(WebhookOut):
    secret = serializers.CharField(
        allow_blank=True, help_text="`whsec_...`; shown this once; empty for a chat"
    )

    class Meta(WebhookOut.Meta):
        fields = [*WebhookOut.Meta.fields, "secret"]


class WebhookIn(StrictSerializer):
    url = StrictCharField(max_length=MAX_URL_LENGTH, help_text="https://...")
    kinds = BoundedListField(
        child=StrictCharField(max_length=40),
        max_length=len(KINDS),
        required=False,
        help_text="Kinds of events; all when empty or left out",
    )
    with_items = serializers.BooleanField(
        required=False, help_text="Send the contents of the items that an event names"
    )
    format = serializers.ChoiceField(
        Webhook.Format.values,
        required=False,
        help_text="`concord` (the default): JSON with a signature. The others show messages in a"
        " chat, of the kinds that people should read unless you name kinds",
    )
    language = serializers.ChoiceField(
        list(dict(settings.LANGUAGES)), required=False, help_text="Of the messages in a chat"
    )
    robot_secret = StrictCharField(
        max_length=services.MAX_ROBOT_SECRET_LENGTH,
        required=False,
        allow_blank=True,
        write_only=True,
        help_text="Secret of a DingTalk or Feishu robot that verifies signatures; never shown",
    )


class WebhookPatch(WebhookIn):
    url = StrictCharField(max_length=MAX_URL_LENGTH, required=False)
    paused = serializers.BooleanField(required=False)


class AttemptOut(serializers.Serializer):
    at = serializers.DateTimeField()
    status = serializers.IntegerField(allow_null=True, help_text="null: no answer")
    error = serializers.CharField(
        allow_blank=True,
        help_text="Why there was none: url, not_found, not_allowed, certificate, timeout, "
        "connection; rejected: the body says that a chat did not accept the message",
    )
    answer = serializers.CharField(allow_blank=True, help_text="Beginning of the answer")
    seconds = serializers.FloatField()


class DeliveryOut(serializers.Serializer):
    id = serializers.IntegerField()
    event = serializers.IntegerField(
        allow_null=True, source="event.number", help_text="null: a test"
    )
    message_id = serializers.CharField(help_text="Header `webhook-id`")
    state = serializers.ChoiceField(Delivery.State.values)
    next_at = serializers.DateTimeField(format=None, allow_null=True, help_text="Next attempt")
    created_at = serializers.DateTimeField(format=None)
    attempts = AttemptOut(many=True, source="log", help_text="Oldest first, the last 50")


# ``project_id`` is None for the webhooks of the site.
class WebhookListView(ApiView):
    @describe_get(
        "listWebhooks",
        "Webhooks of the project, for its leads, or of the site, for administrators",
        build_page_serializer("Webhook", WebhookOut),
        PAGE_PARAMETERS,
    )
    def get(self, request: Request, project_id: int | None = None) -> Response:
        project = get_project_or_site(request.user, project_id, token=request.auth)
        query = parse_query_parameters(request, PAGE_PARAMETER_NAMES)

        rows = services.list_webhooks(project)
        return Response(paginate_rows(request, query, rows, WebhookOut))

    @describe_write(
        "createWebhook", "A new webhook", body=WebhookIn, response=NewWebhookOut, status=201
    )
    def post(self, request: Request, project_id: int | None = None) -> Response:
        """Create a webhook for events from now on; earlier ones are in the feed."""
        project = get_project_or_site(request.user, project_id, token=request.auth)
        fields = self.parse_body(request, WebhookIn)
        try:
            webhook, secret = services.create_webhook(
                project=project, **{"kinds": [], **fields}, by=request.user
            )
        except InvalidWebhook as error:
            raise BadRequest("The webhook was not created.", fields=error.fields) from None
        body = {**WebhookOut(webhook).data, "secret": secret}
        return Response(body, status=201, headers=build_location(request, webhook.pk))


class WebhookDetailView(ApiView):
    @describe_get("getWebhook", "A webhook", WebhookOut)
    def get(self, request: Request, webhook_id: int, project_id: int | None = None) -> Response:
        webhook = _get_webhook(request, project_id, webhook_id)
        parse_query_parameters(request)
        return Response(WebhookOut(webhook).data)

    @describe_write(
        "updateWebhook", "Change or pause a webhook", body=WebhookPatch, response=WebhookOut
    )
    def patch(self, request: Request, webhook_id: int, project_id: int | None = None) -> Response:
        """Change the given fields of a webhook."""
        webhook = _get_webhook(request, project_id, webhook_id)
        fields = self.parse_body(request, WebhookPatch)
        try:
            webhook = services.change_webhook(webhook=webhook, by=request.user, **fields)
        except InvalidWebhook as error:
            raise BadRequest("The webhook was not changed.", fields=error.fields) from None
        return Response(WebhookOut(webhook).data)

    @describe_delete("deleteWebhook", "Delete a webhook with its log", DeletedOut)
    def delete(self, request: Request, webhook_id: int, project_id: int | None = None) -> Response:
        webhook = _get_webhook(request, project_id, webhook_id)
        parse_query_parameters(request)
        services.delete_webhook(webhook=webhook, by=request.user)
        return Response({"deleted": True})


class WebhookSecretView(ApiView):
    @describe_write(
        "rotateWebhookSecret",
        "A new secret; the old one stays valid for 24 hours",
        body=None,
        response=SecretOut,
    )
    def post(self, request: Request, webhook_id: int, project_id: int | None = None) -> Response:
        webhook = _get_webhook(request, project_id, webhook_id)
        parse_query_parameters(request)
        try:
            secret = services.rotate_secret(webhook=webhook, by=request.user)
        except InvalidWebhook as error:
            raise BadRequest("It has no secret to change.", fields=error.fields) from None
        return Response({"secret": secret})


class WebhookTestView(ApiView):
    @describe_write("testWebhook", "Send a test", body=None, response=DeliveryOut, status=202)
    def post(self, request: Request, webhook_id: int, project_id: int | None = None) -> Response:
        """Queue a test, which a worker sends at once; its answer is in the list of deliveries."""
        webhook = _get_webhook(request, project_id, webhook_id)
        parse_query_parameters(request)
        try:
            delivery = services.send_test(webhook=webhook, by=request.user)
        except InvalidWebhook as error:
            raise BadRequest("No test was sent.", fields=error.fields) from None
        return Response(DeliveryOut(delivery).data, status=202)


class DeliveryListView(ApiView):
    @describe_get(
        "listWebhookDeliveries",
        "What was sent to a webhook, and its answers, newest first",
        build_page_serializer("WebhookDelivery", DeliveryOut),
        PAGE_PARAMETERS,
    )
    def get(self, request: Request, webhook_id: int, project_id: int | None = None) -> Response:
        """Return the deliveries; ended ones are deleted 30 days after their creation."""
        webhook = _get_webhook(request, project_id, webhook_id)
        query = parse_query_parameters(request, PAGE_PARAMETER_NAMES)
        deliveries = webhook.deliveries.select_related("event").order_by("-pk")

        def read(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
            rows = deliveries.filter(pk__lt=-after[0]) if after else deliveries
            return [((-row.pk,), DeliveryOut(row).data) for row in rows[:size]]

        return Response(paginate(request, query, key_length=1, read=read))


class DeliveryRetryView(ApiView):
    @describe_write(
        "retryWebhookDelivery",
        "Send a delivery again, with the same `webhook-id`",
        body=None,
        response=DeliveryOut,
        status=202,
    )
    def post(self, request: Request, delivery_id: int, project_id: int | None = None) -> Response:
        project = get_project_or_site(request.user, project_id, token=request.auth)
        parse_query_parameters(request)
        deliveries = Delivery.objects.filter(webhook__in=services.list_webhooks(project))
        delivery = deliveries.select_related("webhook").filter(pk=delivery_id).first()
        if delivery is None:
            raise Http404("No such delivery.")
        try:
            delivery = services.resend_delivery(delivery=delivery, by=request.user)
        except InvalidWebhook as error:
            raise BadRequest("It was not sent again.", fields=error.fields) from None
        return Response(DeliveryOut(delivery).data, status=202)


def _get_webhook(request: Request, project_id: int | None, webhook_id: int) -> Webhook:
    return services.get_webhook(request.user, project_id, webhook_id, token=request.auth)
