"""API of a project with its deletion, which is started here and carried out by workers."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.parameters import parse_query_parameters
from core.api.schema import describe_delete
from projects.api.views import ProjectDetailView
from projects.models import Deletion, Member

from . import purge


class ProjectDeletionOut(serializers.Serializer):
    deleted = serializers.BooleanField(help_text="true: it is archived at once and then deleted")
    counts = serializers.DictField(
        child=serializers.IntegerField(), help_text="What is deleted, by kind"
    )


class DeletableProjectView(ProjectDetailView):
    @describe_delete(
        "deleteProject", "Delete a project with everything in it for good", ProjectDeletionOut
    )
    def delete(self, request: Request, project_id: int) -> Response:
        """Start the deletion, which workers finish within minutes; 403 while under legal hold."""
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        parse_query_parameters(request)
        deletion = purge.start_deletion(kind=Deletion.Kind.PROJECT, target=project, by=request.user)
        return Response({"deleted": True, "counts": deletion.counts})
