"""Read-only admin of events."""

from __future__ import annotations

from django.contrib import admin

from projects.admin_base import ReadOnlyAdmin

from .models import Event


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("at", "project", "kind", "subject", "by")
    list_select_related = ("project", "by")
    list_filter = ("kind",)
