"""URLs of the pages of webhooks."""

from django.urls import path

from . import views

PROJECT = "projects/<int:project_id>/settings/"

urlpatterns = [
    path("webhooks/", views.list_webhooks, name="site_webhooks"),
    path("webhooks/<int:webhook_id>/", views.show_webhook, name="site_webhook"),
    path(
        "webhooks/<int:webhook_id>/action/", views.apply_webhook_action, name="site_webhook_action"
    ),
    path(f"{PROJECT}webhooks/", views.list_webhooks, name="webhooks"),
    path(f"{PROJECT}webhooks/<int:webhook_id>/", views.show_webhook, name="webhook"),
    path(
        f"{PROJECT}webhooks/<int:webhook_id>/action/",
        views.apply_webhook_action,
        name="webhook_action",
    ),
]
