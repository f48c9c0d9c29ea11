"""URLs of the API of events and webhooks."""

from __future__ import annotations

from typing import Any

from django.urls import URLPattern, path
from drf_spectacular.utils import extend_schema, extend_schema_view

from events import api
from projects.api.base import ApiView

PROJECT = "projects/<int:project_id>/"
WEBHOOK = "webhooks/<int:webhook_id>/"


# Address, suffix of the name, view, and operations of a webhook.
ROUTES: list[tuple[str, str, type[ApiView], dict[str, str]]] = [
    (
        "webhooks/",
        "s",
        api.WebhookListView,
        {"get": "list{}Webhooks", "post": "create{}Webhook"},
    ),
    (
        WEBHOOK,
        "",
        api.WebhookDetailView,
        {"get": "get{}Webhook", "patch": "update{}Webhook", "delete": "delete{}Webhook"},
    ),
    (f"{WEBHOOK}rotate/", "-rotate", api.WebhookSecretView, {"post": "rotate{}WebhookSecret"}),
    (f"{WEBHOOK}test/", "-test", api.WebhookTestView, {"post": "test{}Webhook"}),
    (
        f"{WEBHOOK}deliveries/",
        "-deliveries",
        api.DeliveryListView,
        {"get": "list{}WebhookDeliveries"},
    ),
    (
        "deliveries/<int:delivery_id>/retry/",
        "-retry",
        api.DeliveryRetryView,
        {"post": "retry{}WebhookDelivery"},
    ),
]


def _build_webhook_urls(prefix: str, name: str, scope: str) -> list[URLPattern]:
    """Return the URL patterns of the webhook API under a prefix: a project's, or the site's.

    ``name``: beginning of the URL names; ``scope``: distinguishes the operations in the schema.
    """
    patterns = []
    for route, suffix, view, operations in ROUTES:
        schemas = {
            method: extend_schema(operation_id=operation.format(scope))
            for method, operation in operations.items()
        }
        scoped_view: Any = extend_schema_view(**schemas)(type(view.__name__, (view,), {}))
        patterns.append(path(prefix + route, scoped_view.as_view(), name=f"{name}{suffix}"))
    return patterns


urlpatterns = [
    path("events/", api.EventListView.as_view(), name="api-site-events"),
    path(f"{PROJECT}events/", api.ProjectEventListView.as_view(), name="api-events"),
    *_build_webhook_urls("", "api-site-webhook", "Site"),
    *_build_webhook_urls(PROJECT, "api-webhook", ""),
]
