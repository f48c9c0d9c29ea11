"""URLs of the site."""

from django.contrib import admin
from django.urls import include, path, re_path

from agreement_site import system_status
from agreement_site.accounts import access_review
from agreement_site.audit_log import views as audit_log_views
from agreement_site.middleware import static_bundles
from agreement_site.monitoring import health, prometheus
from agreement_site.navigation import views as navigation_views
from agreement_site.notifications import views as notification_views
from core.api.errors import api_not_found

admin.autodiscover()

urlpatterns = [
    path("api/v1/", include("agreement_site.api_urls")),  # first: requested most often
    re_path(r"^api/.*$", api_not_found),
    path("metrics", prometheus.serve_metrics, name="metrics"),
    path("bundles/<str:digest>/<path:name>", static_bundles.serve_bundle, name="static_bundle"),
    path("livez", health.livez, name="livez"),
    path("healthz", health.healthz, name="healthz"),
    path("", include("agreement_site.accounts.urls")),
    path("account/notifications/", notification_views.edit_notifications, name="notifications"),
    path("unsubscribe/<str:token>/", notification_views.unsubscribe_by_link, name="unsubscribe"),
    path("search/", navigation_views.search_page, name="search"),
    path("api-reference/", navigation_views.show_api_reference, name="api_reference"),
    path("style-guide/", navigation_views.show_style_guide, name="style_guide"),
    path("system-status/", system_status.show_system_status, name="system_status"),
    path("audit-log/", audit_log_views.show_audit_log, name="audit_log"),
    path("audit-log.csv", audit_log_views.download_audit_log, name="audit_log_file"),
    path(
        "projects/<int:project_id>/audit-log/",
        audit_log_views.show_audit_log,
        name="project_audit_log",
    ),
    path(
        "projects/<int:project_id>/audit-log.csv",
        audit_log_views.download_audit_log,
        name="project_audit_log_file",
    ),
    path("access-review/", access_review.show_access_review, name="access_review"),
    path(
        "access-review.csv",
        access_review.download_access_review,
        name="access_review_file",
    ),
    path("admin/", admin.site.urls),
    path("", include("events.urls")),
    path("", include("metrics.urls")),
    path("", include("quality.urls")),
    path("", include("ratings.urls")),
    path("", include("projects.urls")),
]
handler400 = "agreement_site.error_pages.bad_request"
handler403 = "agreement_site.error_pages.forbidden"
handler404 = "agreement_site.error_pages.not_found"
handler500 = "agreement_site.error_pages.server_error"
