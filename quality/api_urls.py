from django.urls import path

from .alerts import api
from .exams import api as exams_api
from .gold import api as gold_api
from .gold import intervention_api
from .labels import api as labels_api
from .review import api as review_api

QUALITY = "projects/<int:project_id>/quality/"

urlpatterns = [
    path(
        "projects/<int:project_id>/labels/", labels_api.LabelListView.as_view(), name="api-labels"
    ),
    path(f"{QUALITY}alarms/", api.AlertListView.as_view(), name="api-alarms"),
    path(f"{QUALITY}alarms/<int:alarm_id>/", api.AlertDetailView.as_view(), name="api-alarm"),
    path(f"{QUALITY}rules/", review_api.LabelRulesView.as_view(), name="api-rules"),
    path(f"{QUALITY}second/", review_api.SecondOpinionsView.as_view(), name="api-second-opinions"),
    path(f"{QUALITY}appeals/", review_api.AppealListView.as_view(), name="api-appeals"),
    path(
        f"{QUALITY}appeals/<int:appeal_id>/",
        review_api.AppealDetailView.as_view(),
        name="api-appeal",
    ),
    path(f"{QUALITY}exam/", exams_api.ExamRulesView.as_view(), name="api-exam-rules"),
    path(f"{QUALITY}exams/", exams_api.ExamListView.as_view(), name="api-exams"),
    path(f"{QUALITY}acts/", intervention_api.GoldInterventionListView.as_view(), name="api-acts"),
    path(
        f"{QUALITY}acts/<int:act_id>/",
        intervention_api.GoldInterventionDetailView.as_view(),
        name="api-act",
    ),
    path(f"{QUALITY}gold/", gold_api.GoldListView.as_view(), name="api-golds"),
    path(f"{QUALITY}gold/<path:item_key>/", gold_api.GoldDetailView.as_view(), name="api-gold"),
    path(f"{QUALITY}raters/", api.RaterStatusListView.as_view(), name="api-scorecards"),
]
