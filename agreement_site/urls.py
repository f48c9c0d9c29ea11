from django.contrib import admin
from django.urls import include, path, re_path

from agreement_site.answers import fixed, health, metrics
from agreement_site.frame import views as frame_views
from agreement_site.operations import views as operations_views
from agreement_site.trail import views as trail_views
from core.api.errors import api_not_found

urlpatterns = [
    path("api/v1/", include("agreement_site.api_urls")),  # first: what is asked most
    re_path(r"^api/.*$", api_not_found),
    path("metrics", metrics.metrics, name="metrics"),
    path("fixed/<str:digest>/<path:name>", fixed.serve, name="fixed"),
    path("livez", health.livez, name="livez"),
    path("healthz", health.healthz, name="healthz"),
    path("", include("agreement_site.accounts.urls")),
    path("find/", frame_views.find, name="find"),
    path("style/", frame_views.style, name="style"),
    path("operations/", operations_views.operations, name="operations"),
    path("trail/", trail_views.trail, name="trail"),
    path("trail.csv", trail_views.trail_file, name="trail_file"),
    path("projects/<int:project_id>/trail/", trail_views.trail, name="project_trail"),
    path("projects/<int:project_id>/trail.csv", trail_views.trail_file, name="project_trail_file"),
    path("admin/", admin.site.urls),
    path("", include("metrics.urls")),
    path("", include("quality.urls")),
    path("", include("ratings.urls")),
    path("", include("projects.urls")),
]
handler400 = "agreement_site.answers.error_pages.bad_request"
handler403 = "agreement_site.answers.error_pages.forbidden"
handler404 = "agreement_site.answers.error_pages.not_found"
handler500 = "agreement_site.answers.error_pages.server_error"
