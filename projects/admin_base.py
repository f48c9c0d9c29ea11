"""Base classes for the admin of every app.

They are for read-only models, and for models whose changes go to the audit log.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from core import security_log

from .models import Project


class ReadOnlyAdmin(admin.ModelAdmin):
    """An admin without changes: these rows are written by the application's own services."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class AuditedAdmin(admin.ModelAdmin):
    """An admin that records every addition, change and removal in the audit log.

    Changed values are recorded before and after.
    """

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        changed_object = (
            form.instance if hasattr(form, "instance") else form.user
        )  # the form of a new password has only a user
        _record_change("admin_added" if add else "admin_changed", request, changed_object, form)
        for inline in [inline_form for formset in formsets or () for inline_form in formset.forms]:
            if inline.cleaned_data.get("DELETE"):
                _record_removal(request, inline.instance)
            elif inline.has_changed():
                is_new = inline.instance in list_created_inlines(formsets)
                _record_change(
                    "admin_added" if is_new else "admin_changed", request, inline.instance, inline
                )
        return super().construct_change_message(request, form, formsets, add)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for deleted in queryset:
            _record_removal(request, deleted)
        return super().log_deletions(request, queryset)


def list_created_inlines(formsets: Any) -> list[Any]:
    return [created for formset in formsets for created in formset.new_objects]


def _record_change(event_type: str, request: HttpRequest, row: Any, form: Any) -> None:
    changed_fields = form.changed_data
    if changed_fields:
        before = (
            {} if event_type == "admin_added" else _serialize_values(form.initial, changed_fields)
        )
        _record_admin_event(
            event_type,
            request,
            row,
            before=before,
            after=_serialize_values(form.cleaned_data, changed_fields),
        )


def _record_removal(request: HttpRequest, deleted: Any) -> None:
    _record_admin_event(
        "admin_removed", request, deleted, before={"object": str(deleted)}, after=None
    )


def _record_admin_event(event_type: str, request: HttpRequest, row: Any, **values: Any) -> None:
    security_log.log_event(
        event_type,
        project_id=row.pk if isinstance(row, Project) else getattr(row, "project_id", None),
        by=request.user.pk,
        model=row._meta.label,
        target=row.pk,
        name=str(row),
        **values,
    )


def _serialize_values(values: Any, names: list[str]) -> dict[str, object]:
    """Return the values of a form as the audit log may store them; passwords are masked."""
    serialized = {}
    for name in names:
        value = values.get(name)
        if "password" in name:
            value = "***"
        elif hasattr(value, "__iter__") and not isinstance(value, str):
            value = [str(element) for element in value]
        elif isinstance(value, Model):
            value = str(value)
        serialized[name] = value
    return serialized


def register_read_only(
    model: type[Model],
    columns: str,
    *,
    search: str = "",
    filters: str = "",
    base: type[admin.ModelAdmin] = ReadOnlyAdmin,
    **options: Any,
) -> None:
    """Register a model's admin: its columns, searched fields and filters, divided by blanks.

    Related objects in the columns are loaded with the rows.
    """
    names = columns.split()
    fields = {field.name: field for field in model._meta.fields}
    related = [name for name in names if name in fields and fields[name].is_relation]
    admin.site.register(
        model,
        base,
        list_display=names,
        list_select_related=related,
        search_fields=search.split(),
        list_filter=filters.split(),
        **options,
    )
