from django.urls import path

from . import exporting, views_export, views_import, views_media, views_rate

PROJECT = "projects/<int:project_id>/"

urlpatterns = [
    path(f"{PROJECT}rate/", views_rate.rate, name="rate"),
    path(f"{PROJECT}rate/next/", views_rate.rate_next, name="rate_next"),
    path(f"{PROJECT}rate/last/", views_rate.rate_last, name="rate_last"),
    path(f"{PROJECT}rate/<int:item_id>/", views_rate.rate_item, name="rate_item"),
    path(f"{PROJECT}rate/<int:item_id>/skip/", views_rate.rate_skip, name="rate_skip"),
    path(f"{PROJECT}my-ratings/", views_rate.my_ratings, name="my_ratings"),
    path(f"{PROJECT}set-aside/", views_rate.set_aside, name="set_aside"),
    path(f"{PROJECT}data/", views_import.data, name="data"),
    path(f"{PROJECT}data/media/", views_media.media_new, name="media_new"),
    path(f"{PROJECT}media/<str:name>", views_media.media, name="media"),
    *(
        path(f"{PROJECT}data/export.{kind}", views_export.export, {"kind": kind}, name=f"export_{kind}")
        for kind in exporting.KINDS
    ),
    path(f"{PROJECT}data/import/", views_import.import_new, name="import_new"),
    path(f"{PROJECT}data/import/<int:run_id>/", views_import.import_run, name="import_run"),
    path(f"{PROJECT}data/import/<int:run_id>/progress/", views_import.import_progress, name="import_progress"),
    path("projects/import/", views_import.import_project, name="import_project"),
    path("projects/import/<int:run_id>/", views_import.import_run, name="import_project_run"),
    path("projects/import/<int:run_id>/progress/", views_import.import_progress, name="import_project_progress"),
]
