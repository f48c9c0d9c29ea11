"""URLs of the API of raters' status, alerts, labels, review, exams, gates, gold and the inbox."""

from django.urls import path

from .alerts import api as alerts_api
from .exams import api as exams_api
from .gates import api as gates_api
from .gold import api
from .gold import api as gold_api
from .inbox import api as inbox_api
from .labels import api as labels_api
from .rater_status import api as rater_status_api
from .review import api as review_api

PROJECT = "projects/<int:project_id>/"
QUALITY = f"{PROJECT}quality/"
GATE = f"{PROJECT}gates/<str:gate_name>/"

urlpatterns = [
    path("inbox/", inbox_api.InboxView.as_view(), name="api-inbox"),
    path(f"{PROJECT}labels/", labels_api.LabelListView.as_view(), name="api-labels"),
    path(f"{PROJECT}gates/", gates_api.GateListView.as_view(), name="api-gates"),
    path(GATE, gates_api.GateDetailView.as_view(), name="api-gate"),
    path(f"{GATE}verdict/", gates_api.GateVerdictView.as_view(), name="api-gate-verdict"),
    path(f"{PROJECT}alerts/", alerts_api.AlertListView.as_view(), name="api-alerts"),
    path(
        f"{PROJECT}alerts/<int:alert_id>/", alerts_api.AlertDetailView.as_view(), name="api-alert"
    ),
    path(f"{QUALITY}label-rules/", review_api.LabelRulesView.as_view(), name="api-label-rules"),
    path(
        f"{QUALITY}second-opinions/",
        review_api.SecondOpinionsView.as_view(),
        name="api-second-opinions",
    ),
    path(f"{QUALITY}appeals/", review_api.AppealListView.as_view(), name="api-appeals"),
    path(
        f"{QUALITY}appeals/<int:appeal_id>/",
        review_api.AppealDetailView.as_view(),
        name="api-appeal",
    ),
    path(f"{QUALITY}exam/", exams_api.ExamRulesView.as_view(), name="api-exam-rules"),
    path(f"{QUALITY}exams/", exams_api.ExamListView.as_view(), name="api-exams"),
    path(
        f"{QUALITY}interventions/",
        api.GoldInterventionListView.as_view(),
        name="api-gold-interventions",
    ),
    path(
        f"{QUALITY}interventions/<int:intervention_id>/",
        api.GoldInterventionDetailView.as_view(),
        name="api-gold-intervention",
    ),
    path(f"{QUALITY}gold/", gold_api.GoldListView.as_view(), name="api-golds"),
    path(f"{QUALITY}gold/<path:item_key>/", gold_api.GoldDetailView.as_view(), name="api-gold"),
    path(
        f"{PROJECT}raters/status/",
        rater_status_api.RaterStatusListView.as_view(),
        name="api-rater-status",
    ),
]
