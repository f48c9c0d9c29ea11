"""API of projects, and of invitations to them."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import prefetch_related_objects
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import INVALID_FIELDS, BadRequest
from core.api.pagination import PAGE_PARAMETER_NAMES as PAGING_NAMES
from core.api.pagination import paginate_rows
from core.api.parameters import get_choice, parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    build_flag_parameter,
    build_ordering_parameter,
    build_page_serializer,
    build_parameter,
    describe_get,
    describe_write,
)
from projects.models import Member, Project
from projects.permissions import get_effective_role, require_can_create_projects
from projects.services import joining, membership, projects
from projects.services.project_validation import InvalidProjectChange
from projects.services.question_validation import InvalidQuestions

from .base import ApiView, build_location, get_token_project_id
from .serializers import (
    ArchiveIn,
    CopyIn,
    InvitationIn,
    InvitationOut,
    ProjectIn,
    ProjectOut,
    ProjectPatch,
)

LEAD = Member.Role.LEAD
ORDERINGS = {"name": "name", "created_at": "created_at"}
PROJECT_EXAMPLE = {
    "name": "Reviews",
    "questions": [
        {
            "key": "severity",
            "text": "How bad is it?",
            "scale": "ordinal",
            "categories": [{"label": "none"}, {"label": "minor"}, {"label": "major"}],
        }
    ],
}


def _serialize_project(project: Project, role: str | None) -> dict[str, Any]:
    project.role = get_effective_role(project, role)  # of the caller, read by ProjectOut
    prefetch_related_objects([project], "questions__categories")
    return ProjectOut(project).data


MAX_SETTINGS_BYTES = (
    3 << 20
)  # two texts of 200,000 characters, all written as \uXXXX, and 50 questions


class ProjectListView(ApiView):
    max_body_bytes = MAX_SETTINGS_BYTES

    @describe_get(
        "listProjects",
        "The projects that the caller is a member of",
        build_page_serializer("Project", ProjectOut),
        [
            build_parameter("name", "Only projects of this name"),
            build_flag_parameter("archived", "true: the archived projects; false: the others"),
            build_ordering_parameter(ORDERINGS),
            *PAGE_PARAMETERS,
        ],
    )
    def get(self, request: Request) -> Response:
        query = parse_query_parameters(request, ("name", "archived", "ordering", *PAGING_NAMES))
        user: Any = request.user
        visible = Project.objects.visible_to(user)
        if (token_project_id := get_token_project_id(request)) is not None:
            visible = visible.filter(pk=token_project_id)

        if "name" in query:
            visible = visible.filter(name=query["name"])
        if "archived" in query:
            archived = get_choice(query, "archived", ("true", "false"), default="")
            visible = visible.filter(archived_at__isnull=archived == "false")

        def serialize(rows: list[Project]) -> list[Any]:
            members = Member.objects.filter(project__in=rows, user=user)
            roles = dict(members.values_list("project", "role"))
            if user.is_superuser:
                roles = {row.pk: LEAD.value for row in rows}
            return [_serialize_project(row, roles[row.pk]) for row in rows if row.pk in roles]

        projects_read = visible.prefetch_related("questions__categories")
        return Response(
            paginate_rows(request, query, projects_read, serialize=serialize, orderings=ORDERINGS)
        )

    @describe_write(
        "createProject",
        "A new project, led by the caller",
        body=ProjectIn,
        response=ProjectOut,
        status=201,
        examples={"One question": PROJECT_EXAMPLE},
    )
    def post(self, request: Request) -> Response:
        _require_can_create_projects(request)
        data = self.parse_body(request, ProjectIn)
        try:
            project = projects.create_project(by=request.user, **data)
        except InvalidQuestions as error:
            raise BadRequest(INVALID_FIELDS, fields={"questions": error.problems}) from None
        except InvalidProjectChange as error:
            raise BadRequest(INVALID_FIELDS, fields=error.fields) from None
        headers = build_location(request, project.pk)
        return Response(_serialize_project(project, LEAD), status=201, headers=headers)


def _require_can_create_projects(request: Request) -> None:
    """Raise PermissionDenied for a token of one project, or a user who may not create projects."""
    if get_token_project_id(request) is not None:
        raise PermissionDenied("This token is limited to one project.")
    require_can_create_projects(request.user)


class ProjectDetailView(ApiView):
    max_body_bytes = MAX_SETTINGS_BYTES

    @describe_get("getProject", "One project with its questions and categories", ProjectOut)
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id)
        parse_query_parameters(request)
        return Response(_serialize_project(project, project.role))

    @describe_write(
        "changeProject",
        "Change a project; its lead alone may",
        body=ProjectPatch,
        response=ProjectOut,
    )
    def patch(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        data = self.parse_body(request, ProjectPatch)
        if data:
            try:
                projects.change_project(project=project, by=request.user, **data)
            except InvalidProjectChange as error:
                raise BadRequest(INVALID_FIELDS, fields=error.fields) from None
        return Response(_serialize_project(project, LEAD))


class ArchiveView(ApiView):
    @describe_write(
        "archiveProject",
        "Archive a project, or restore it; its lead alone may",
        body=ArchiveIn,
        response=ProjectOut,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Archive a project or restore it.

        Nobody rates in an archived project; its ratings and results stay.
        """
        project = self.get_project(request, project_id, role=LEAD)
        data = self.parse_body(request, ArchiveIn)
        projects.archive_project(project=project, archived=data["archived"], by=request.user)
        project.refresh_from_db(fields=["archived_at"])
        return Response(_serialize_project(project, LEAD))


class CopyView(ApiView):
    @describe_write(
        "copyProject",
        "A new project with the questions and settings of this one; its lead alone may",
        body=CopyIn,
        response=ProjectOut,
        status=201,
        examples={"Next round": {"name": "Reviews, round 2"}},
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Copy a project without its items, ratings, raters, members and exams.

        The caller leads the copy. Gates that filter by more than the kind of raters are left out.
        """
        project = self.get_project(request, project_id, role=LEAD)
        _require_can_create_projects(request)
        data = self.parse_body(request, CopyIn)
        try:
            copy = projects.copy_project(project=project, name=data["name"], by=request.user)
        except InvalidProjectChange as error:
            raise BadRequest(INVALID_FIELDS, fields=error.fields) from None
        location = request.build_absolute_uri(reverse("api-project", args=[copy.pk]))
        data = _serialize_project(copy, LEAD)
        return Response(data, status=201, headers={"Location": location})


class InvitationListView(ApiView):
    @describe_write(
        "inviteMember",
        "Give a person a role in the project; its lead alone may",
        body=InvitationIn,
        response=InvitationOut,
        status=201,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Add an account that the caller knows, or offer the role to the owner of another.

        An account is known if it is in a project that the caller leads. With `account` "new" an
        account is created, and the response has its invitation link.
        """
        project = self.get_project(request, project_id, role=Member.Role.LEAD)
        data = self.parse_body(request, InvitationIn)
        is_new = data["account"] == "new"
        values = {"username": data["username"], "role": data["role"], "by": request.user}
        try:
            member = (
                membership.create_invited_account(project=project, email=data["email"], **values)
                if is_new
                else membership.add_member(project=project, **values)
            )
        except InvalidProjectChange as error:
            raise BadRequest(INVALID_FIELDS, fields=error.fields) from None
        link = None
        if is_new and member is not None:
            path = joining.create_invitation_path(member)
            link = request.build_absolute_uri(path)
        body = {
            "username": member.user.get_username() if member else data["username"],
            "role": data["role"],
            "state": "member" if member else "invited",
            "link": link,
        }
        return Response(body, status=201)
