"""API of files of ratings, for programs that have a token."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from core.api.files import FileView, describe_file
from core.api.parameters import get_choice, parse_query_parameters
from core.api.schema import build_parameter
from projects.api.base import ApiView, get_question
from projects.models import Member
from ratings.files import parquet_file

from .rating_files import FORMATS
from .views import stream_ratings


class ExportView(FileView, ApiView):
    @describe_file(
        "exportRatings",
        "The current ratings as a file, of all questions or of one",
        {kind: content_type for kind, (_stream, content_type) in FORMATS.items()},
        [build_parameter("question", "Key of a question; all questions when left out")],
    )
    def get(self, request: Request, project_id: int) -> HttpResponseBase:
        project = self.get_project(request, project_id, role=Member.Role.VIEWER)
        params = parse_query_parameters(request, ("format", "question"))
        kind = get_choice(params, "format", list(FORMATS), default="csv")
        parquet_file.require_parquet_support(kind)
        questions = (
            [get_question(project, params["question"])]
            if "question" in params
            else list(project.questions.all())
        )
        return stream_ratings(project, questions, kind)
