"""Read-only admin of events and webhooks."""

from __future__ import annotations

from django.contrib import admin

from projects.admin_base import ReadOnlyAdmin

from .models import Delivery, Event, Webhook


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("at", "project", "kind", "subject", "by")
    list_select_related = ("project", "by")
    list_filter = ("kind",)


@admin.register(Webhook)
class WebhookAdmin(ReadOnlyAdmin):
    list_display = (
        "host",
        "format",
        "project",
        "paused_at",
        "pause_reason",
        "failing_since",
        "created_at",
    )
    list_select_related = ("project",)
    # `url` is left out because it may contain a secret, and `robot_secret` because it is one.
    fields = (
        "host",
        "format",
        "language",
        "project",
        "kinds",
        "with_items",
        "paused_at",
        "pause_reason",
        "failing_since",
    )
    readonly_fields = ("host",)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = ("id", "webhook", "state", "attempts", "next_at", "created_at")
    list_select_related = ("webhook",)
    list_filter = ("state",)
