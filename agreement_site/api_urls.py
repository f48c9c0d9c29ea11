from django.urls import include, path
from drf_spectacular.views import SpectacularJSONAPIView

# Public: whoever writes a client may read how to speak to it, with or without a good token.
schema = SpectacularJSONAPIView.as_view(
    authentication_classes=[], http_method_names=["get", "head"]
)

urlpatterns = [
    path("", include("ratings.api.urls")),  # first: what is asked most
    path("schema/", schema, name="api-schema"),
    path("", include("metrics.api.urls")),
    path("", include("quality.api.urls")),
    path("", include("projects.api.urls")),
]
