"""Read-only admin of events and webhooks."""

from __future__ import annotations

from django.contrib import admin

from projects.admin_base import ReadOnlyAdmin, register_read_only

from .models import Delivery, Event, Webhook

register_read_only(Event, "at project kind subject by", filters="kind")


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


register_read_only(Delivery, "id webhook state attempts next_at created_at", filters="state")
