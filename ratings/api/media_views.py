"""API of media: images, audio and video become items."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import BadRequest
from core.api.parameters import parse_query_parameters
from core.api.parsers import UploadParser
from core.api.schema import describe_write
from core.api.strict_fields import StrictSerializer
from projects.api.base import ApiView
from projects.api.serializers import UpsertCounts
from projects.authentication import TokenAuthentication
from projects.models import Member
from projects.services.project_validation import InvalidProjectChange
from ratings.files import media

MAX_FILES = 100  # as many as Django reads of a form


class MediaIn(StrictSerializer):
    files = serializers.ListField(
        child=serializers.FileField(),
        max_length=MAX_FILES,
        help_text="Each becomes, or is added to, the item with the name of the file",
    )


class MediaView(ApiView):
    # As at imports: a session's CSRF check would read the form before its size is known.
    authentication_classes = [TokenAuthentication]
    parser_classes = [UploadParser]

    @describe_write(
        "uploadMedia",
        "Upload images, audio and video as items",
        body={"multipart/form-data": MediaIn},
        response=UpsertCounts,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """All files or none. The type of a file is read from its content."""
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        parse_query_parameters(request)
        serializer = MediaIn(data=request.data)
        serializer.is_valid(raise_exception=True)
        files: Any = serializer.validated_data["files"]
        try:
            counts = media.add_media_items(project=project, files=files, by=request.user)
        except InvalidProjectChange as error:
            raise BadRequest("No file was stored.", fields=error.fields) from None
        return Response(counts)
