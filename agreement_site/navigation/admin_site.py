"""The admin's index: the models that staff need most come first, internal ones last."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

PRIMARY_MODELS = ("User", "Group", "Project", "Member", "ApiToken")
# Display names; the others keep Django's.
PRIMARY_MODEL_NAMES = {
    "Project": gettext_lazy("Projects"),
    "Member": gettext_lazy("Members"),
    "ApiToken": gettext_lazy("API tokens"),
}
# Display names of apps whose own names mean nothing to staff.
APP_NAMES = {
    "agreement_site": gettext_lazy("Activity"),
    "mfa": gettext_lazy("Second factors"),
    "quality": gettext_lazy("Labels, gold answers and alerts"),
    "ratings": gettext_lazy("Ratings"),
    "projects": gettext_lazy("Project contents"),
    "socialaccount": gettext_lazy("Other ways to sign in"),
    "usersessions": gettext_lazy("Sessions"),
}
INTERNAL_APPS = ("metrics", "events")  # apps whose tables hold counts and pending work


class ConcordAdminSite(admin.AdminSite):
    """Django's admin site with our own order and names on the index."""

    site_header = site_title = gettext_lazy("Concord: administration")
    index_title = gettext_lazy("Administration beyond the project pages")

    def get_app_list(
        self, request: HttpRequest, app_label: str | None = None
    ) -> list[dict[str, Any]]:
        apps: list[dict[str, Any]] = super().get_app_list(request, app_label)
        if app_label is not None:
            return apps
        models = [(app, model) for app in apps for model in app["models"]]
        primary = [model for _app, model in models if model["object_name"] in PRIMARY_MODELS]
        primary.sort(key=lambda model: PRIMARY_MODELS.index(model["object_name"]))
        for model in primary:
            model["name"] = PRIMARY_MODEL_NAMES.get(model["object_name"], model["name"])
        internal = [model for app, model in models if app["app_label"] in INTERNAL_APPS]
        other_apps = [app for app in apps if app["app_label"] not in INTERNAL_APPS]
        for app in other_apps:
            app["name"] = APP_NAMES.get(app["app_label"], app["name"])
            app["models"] = [
                model_entry
                for model_entry in app["models"]
                if model_entry["object_name"] not in PRIMARY_MODELS
            ]
        groups = [
            self._build_group("first", _("People and projects"), primary),
            *(app for app in other_apps if app["models"]),
            self._build_group("internals", _("Internals"), internal),
        ]
        return [group for group in groups if group["models"]]

    @staticmethod
    def _build_group(label: str, name: str, models: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "name": name,
            "app_label": label,
            "app_url": "#",
            "has_module_perms": True,
            "models": models,
        }
