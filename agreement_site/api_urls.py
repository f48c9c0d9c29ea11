"""URLs of the API, with a description of each area and an example of each body.

The descriptions are a hook of drf-spectacular.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, JsonResponse
from django.urls import include, path, reverse
from django.views.decorators.http import require_safe
from drf_spectacular.views import SpectacularJSONAPIView

from agreement_site.audit_log import api
from ratings.imports.api import ImportsView
from ratings.label_studio import api as connections

AREAS = {
    "agreement": "Coefficients of questions, pairs, raters, periods and categories",
    "alerts": "Alerts about raters and questions",
    "audit-log": "Who did what",
    "connections": "Projects of Label Studio whose annotations are ratings here",
    "events": "What happened, in order",
    "exams": "Exams before the first item",
    "gates": "Whether the data are good enough, as a signed verdict",
    "gold": "Right answers that are known, and what follows from wrong ones",
    "inbox": "What needs an action of the caller",
    "items": "What is rated",
    "labels": "Final labels, decisions and appeals",
    "projects": "Projects, their questions and members",
    "raters": "People and models that rate, and their status",
    "ratings": "Ratings in, and files of ratings in and out",
    "views": "Saved views",
    "webhooks": "Messages about events",
}

_CATEGORIES = [{"label": "none"}, {"label": "minor"}, {"label": "major"}]
_QUESTION = {
    "key": "severity",
    "text": "How bad is it?",
    "scale": "ordinal",
    "categories": _CATEGORIES,
}
_WEBHOOK = {"url": "https://example.org/concord", "kinds": ["alert.opened", "gate.failed"]}
_RULES = [{"measure": "headline", "at_least": 0.6}, {"measure": "coverage", "at_least": 1}]

# Name of the operation -> a body that it accepts.
EXAMPLES: dict[str, object] = {
    "changeProject": {"overlap": 2, "guidelines": "# Severity"},
    "archiveProject": {"archived": True},
    "addQuestion": _QUESTION,
    "changeQuestion": {"categories": [*_CATEGORIES[:2], {"label": "serious", "renames": "major"}]},
    "changeWeights": {"weights": "quadratic", "reason": "Two steps are worse than two times one"},
    "inviteMember": {"username": "ann", "role": "annotator", "email": "ann@example.org"},
    "decideLabel": {"item": "doc-1", "label": "major", "reason": "The dose is wrong"},
    "submitAnswers": {"item": "doc-1", "answers": {"severity": "major"}},
    "updateAlert": {"state": "resolved", "cause": "real", "reason": "New guidelines"},
    "createGate": {"name": "release", "question": "severity", "rules": _RULES},
    "updateGate": {"rules": _RULES[:1]},
    "createAppeal": {"item": "doc-1", "text": "The dose is right: see line 3."},
    "answerAppeal": {"state": "refused", "answer": "Line 3 is of another patient."},
    "changeExamRules": {"required": True, "max_attempts": 3},
    "decideExam": {"rater": "ann", "do": "grant", "reason": "A wrong gold answer"},
    "setGold": {"answer": ["minor", "major"], "explanation": "Both are defensible"},
    "decideGoldIntervention": {"do": "carry_out"},
    "updateLabelRules": {"method": "dawid_skene", "certain_from": 0.9},
    "createSavedView": {"page": "raters", "name": "Few ratings", "query": "show=few"},
    "createWebhook": _WEBHOOK,
    "updateWebhook": {"paused": True},
    "createSiteWebhook": _WEBHOOK,
    "updateSiteWebhook": {"paused": True},
    # Forms: a file is its content, which a client reads from the file of this name.
    "importFile": {"file": "verdicts.csv", "question": "severity", "map": ["item=doc"]},
    "uploadMedia": {"files": ["scan-7.png"]},
}


def describe_api(result: Any, generator: Any, request: Any, public: bool) -> Any:
    """Add descriptions of areas and examples of bodies to the schema (a drf-spectacular hook)."""
    result["tags"] = [{"name": name, "description": text} for name, text in AREAS.items()]
    for operations in result["paths"].values():
        for operation in operations.values():
            example = EXAMPLES.get(operation["operationId"])
            if example is not None:
                for body in operation["requestBody"]["content"].values():
                    body["example"] = example
    return result


CONNECTIONS = "projects/<int:project_id>/connections/"
CONNECTION = f"{CONNECTIONS}<int:connection_id>/"


@require_safe
def show_index(request: HttpRequest) -> JsonResponse:
    """Return the URLs of the entry points: projects, events, webhooks, schema and reference."""
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
