"""The admin of events: to look at only."""

from __future__ import annotations

from django.contrib import admin

from projects.admin_base import ReadOnly

from .models import Event


@admin.register(Event)
class EventAdmin(ReadOnly):
    list_display = ("at", "project", "kind", "subject", "by")
    list_select_related = ("project", "by")
    list_filter = ("kind",)
