"""The admin's first page: what staff come for first, what the counting keeps for itself last."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

FIRST = ("User", "Group", "Project", "Member", "ApiToken")
# Django names the others itself.
FIRST_NAMED = {
    "Project": gettext_lazy("Projects"),
    "Member": gettext_lazy("Members"),
    "ApiToken": gettext_lazy("API tokens"),
}
# What rooms are called whose own names say nothing to staff.
NAMED = {
    "agreement_site": gettext_lazy("What was done"),
    "mfa": gettext_lazy("Second factors"),
    "quality": gettext_lazy("Labels, gold and alarms"),
    "ratings": gettext_lazy("Ratings"),
    "projects": gettext_lazy("What projects consist of"),
    "socialaccount": gettext_lazy("Other ways to sign in"),
    "usersessions": gettext_lazy("Sessions"),
}
INTERNAL = ("metrics", "events")  # rooms whose tables hold counts and what waits


class Administration(admin.AdminSite):
    site_header = site_title = gettext_lazy("Concord: administration")
    index_title = gettext_lazy("What the pages of projects do not offer")

    def get_app_list(
        self, request: HttpRequest, app_label: str | None = None
    ) -> list[dict[str, Any]]:
        apps: list[dict[str, Any]] = super().get_app_list(request, app_label)
        if app_label is not None:
            return apps
        models = [(app, model) for app in apps for model in app["models"]]
        first = [model for _app, model in models if model["object_name"] in FIRST]
        first.sort(key=lambda model: FIRST.index(model["object_name"]))
        for model in first:
            model["name"] = FIRST_NAMED.get(model["object_name"], model["name"])
        internal = [model for app, model in models if app["app_label"] in INTERNAL]
        others = [app for app in apps if app["app_label"] not in INTERNAL]
        for app in others:
            app["name"] = NAMED.get(app["app_label"], app["name"])
            app["models"] = [one for one in app["models"] if one["object_name"] not in FIRST]
        grouped = [
            self._group("first", _("People and projects"), first),
            *(app for app in others if app["models"]),
            self._group("internals", _("Internals"), internal),
        ]
        return [group for group in grouped if group["models"]]

    @staticmethod
    def _group(label: str, name: str, models: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "name": name,
            "app_label": label,
            "app_url": "#",
            "has_module_perms": True,
            "models": models,
        }
