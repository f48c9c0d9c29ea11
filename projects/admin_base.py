"""Two kinds of rows in the admin of every app: those that nobody changes there, and those whose
changes are lines of the trail."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from core import security_log

from .models import Project


class ReadOnly(admin.ModelAdmin):
    """To look at only: these rows belong to the application's own actions."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class InTrail(admin.ModelAdmin):
    """What is made, changed and removed in the admin leaves a line each in the trail, with those
    values that changed, before and after."""

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        told = form.instance if hasattr(form, "instance") else form.user  # a new password's form
        _tell("admin_added" if add else "admin_changed", request, told, form)
        for inline in [one for formset in formsets or () for one in formset.forms]:
            if inline.cleaned_data.get("DELETE"):
                _tell_gone(request, inline.instance)
            elif inline.has_changed():
                is_new = inline.instance in inline_made(formsets)
                _tell(
                    "admin_added" if is_new else "admin_changed", request, inline.instance, inline
                )
        return super().construct_change_message(request, form, formsets, add)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for gone in queryset:
            _tell_gone(request, gone)
        return super().log_deletions(request, queryset)


def inline_made(formsets: Any) -> list[Any]:
    return [made for formset in formsets for made in formset.new_objects]


def _tell(what: str, request: HttpRequest, row: Any, form: Any) -> None:
    moved = form.changed_data
    if moved:
        before = {} if what == "admin_added" else _plain(form.initial, moved)
        _event(what, request, row, before=before, after=_plain(form.cleaned_data, moved))


def _tell_gone(request: HttpRequest, gone: Any) -> None:
    _event("admin_removed", request, gone, before={"was": str(gone)}, after=None)


def _event(what: str, request: HttpRequest, row: Any, **values: Any) -> None:
    security_log.event(
        what,
        project_id=row.pk if isinstance(row, Project) else getattr(row, "project_id", None),
        by=request.user.pk,
        model=row._meta.label,
        target=row.pk,
        name=str(row),
        **values,
    )


def _plain(values: Any, names: list[str]) -> dict[str, Any]:
    """Of the values of a form those that a line may hold; of a password that there is one."""
    found = {}
    for name in names:
        value = values.get(name)
        if "password" in name:
            value = "***"
        elif hasattr(value, "__iter__") and not isinstance(value, str):
            value = [str(one) for one in value]
        elif isinstance(value, Model):
            value = str(value)
        found[name] = value
    return found
