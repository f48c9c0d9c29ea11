"""The API of projects."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import prefetch_related_objects
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import BadRequest
from core.api.pagination import PAGING as PAGING_NAMES
from core.api.pagination import Key, page
from core.api.parameters import parameters
from core.api.schema import PAGING, page_of, reads, writes
from projects.models import Member, Project
from projects.permissions import refuse_new_projects
from projects.services import projects
from projects.services.project_validation import Refused
from projects.services.question_validation import InvalidQuestions

from .base import ApiView, bound_to
from .serializers import ProjectChange, ProjectIn, ProjectOut

LEAD = Member.Role.LEAD


def _shown(project: Project, role: str) -> dict[str, Any]:
    project.role = role  # type: ignore[attr-defined]  # the caller's role, read by ProjectOut
    prefetch_related_objects([project], "questions__categories")
    return ProjectOut(project).data


SETUP_BYTES = 3 << 20  # two texts of 200,000 signs, each written as \uXXXX, and 50 questions


class Projects(ApiView):
    longest_body = SETUP_BYTES

    @reads(
        "listProjects",
        "The projects that the caller is a member of",
        page_of("Project", ProjectOut),
        PAGING,
    )
    def get(self, request: Request) -> Response:
        found = parameters(request, PAGING_NAMES)
        user: Any = request.user
        mine = Project.objects.visible_to(user)
        if (only := bound_to(request)) is not None:
            mine = mine.filter(pk=only)

        def read(after: Key | None, size: int) -> list[tuple[Key, Any]]:
            ids = mine.filter(pk__gt=after[0]) if after else mine
            chosen = list(ids.order_by("pk").values_list("pk", flat=True)[:size])
            roles = dict(
                Member.objects.filter(project__in=chosen, user=user).values_list("project", "role")
            )
            if user.is_superuser:
                roles = dict.fromkeys(chosen, LEAD)
            rows = (
                Project.objects.prefetch_related("questions__categories")
                .filter(pk__in=list(roles))
                .order_by("pk")
            )
            return [((row.pk,), _shown(row, roles[row.pk])) for row in rows]

        return Response(page(request, found, key=1, read=read))

    @writes(
        "createProject",
        "A new project, led by the caller",
        body=ProjectIn,
        answer=ProjectOut,
        status=201,
    )
    def post(self, request: Request) -> Response:
        parameters(request)
        if bound_to(request) is not None:
            raise PermissionDenied(_("This token is for one project alone."))
        refuse_new_projects(request.user)
        given = ProjectIn(data=request.data)
        given.is_valid(raise_exception=True)
        try:
            project = projects.create_project(by=request.user, **given.validated_data)
        except InvalidQuestions as error:
            raise BadRequest(
                "The request has invalid fields.", fields={"questions": error.problems}
            ) from None
        except Refused as error:
            raise BadRequest("The request has invalid fields.", fields=error.fields) from None
        return Response(_shown(project, LEAD), status=201)


class OneProject(ApiView):
    longest_body = SETUP_BYTES

    @reads("getProject", "One project with its questions and categories", ProjectOut)
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id)
        parameters(request)
        return Response(_shown(project, project.role))  # type: ignore[attr-defined]  # set by the door

    @writes(
        "changeProject",
        "Change a project; its lead alone may",
        body=ProjectChange,
        answer=ProjectOut,
    )
    def patch(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=LEAD)
        parameters(request)
        given = ProjectChange(data=request.data)
        given.is_valid(raise_exception=True)
        if given.validated_data:
            try:
                projects.change_project(project=project, by=request.user, **given.validated_data)
            except Refused as error:
                raise BadRequest("The request has invalid fields.", fields=error.fields) from None
        return Response(_shown(project, LEAD))
