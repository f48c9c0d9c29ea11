"""URLs of the API."""

from django.http import HttpRequest, JsonResponse
from django.urls import include, path, reverse
from django.views.decorators.http import require_safe
from drf_spectacular.views import SpectacularJSONAPIView

from agreement_site.audit_log import api
from ratings.imports.api.views import ImportsView
from ratings.label_studio import api as connections

CONNECTIONS = "projects/<int:project_id>/connections/"
CONNECTION = f"{CONNECTIONS}<int:connection_id>/"


@require_safe
def show_index(request: HttpRequest) -> JsonResponse:
    """Return the addresses from which a program can find everything else."""
    names = {
        "projects": "api-projects",
        "events": "api-site-events",
        "webhooks": "api-site-webhooks",
        "schema": "api-schema",
        "reference": "api_reference",
    }
    return JsonResponse(
        {name: request.build_absolute_uri(reverse(route)) for name, route in names.items()}
    )


# Public: authors of clients can read the schema, with or without a valid token.
schema = SpectacularJSONAPIView.as_view(
    authentication_classes=[], http_method_names=["get", "head"]
)

urlpatterns = [
    path("", show_index, name="api-index"),
    path("", include("quality.api_urls")),  # before ratings: raters/status/ is no rater's key
    path("", include("ratings.api.urls")),
    path("projects/<int:project_id>/imports/", ImportsView.as_view(), name="api-imports"),
    path(CONNECTIONS, connections.ConnectionListView.as_view(), name="api-connections"),
    path(CONNECTION, connections.ConnectionDetailView.as_view(), name="api-connection"),
    path(
        f"{CONNECTION}pull/", connections.ConnectionPullView.as_view(), name="api-connection-pull"
    ),
    path(
        f"{CONNECTION}restart/",
        connections.ConnectionRestartView.as_view(),
        name="api-connection-restart",
    ),
    path("schema/", schema, name="api-schema"),
    path("audit-log/", api.SiteAuditLog.as_view(), name="api-site-audit-log"),
    path(
        "projects/<int:project_id>/audit-log/",
        api.ProjectAuditLog.as_view(),
        name="api-project-audit-log",
    ),
    path("", include("events.api_urls")),
    path("", include("metrics.api.urls")),
    path("", include("projects.api.urls")),
]
