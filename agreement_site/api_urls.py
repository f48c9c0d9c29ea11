from django.urls import include, path
from drf_spectacular.views import SpectacularJSONAPIView

from agreement_site.audit_log import api

# Public: whoever writes a client may read how to speak to it, with or without a good token.
schema = SpectacularJSONAPIView.as_view(
    authentication_classes=[], http_method_names=["get", "head"]
)

urlpatterns = [
    path("", include("ratings.api.urls")),  # first: what is asked most
    path("schema/", schema, name="api-schema"),
    path("trail/", api.SiteTrail.as_view(), name="api-site-trail"),
    path("projects/<int:project_id>/trail/", api.ProjectTrail.as_view(), name="api-project-trail"),
    path("", include("metrics.api.urls")),
    path("", include("quality.api_urls")),
    path("", include("projects.api.urls")),
]
