"""API of invitations to a project."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import INVALID_FIELDS, BadRequest
from core.api.schema import describe_write
from projects.models import Member
from projects.services.members import invitation_links, membership
from projects.services.project_validation import InvalidProjectChange

from .base import ApiView
from .serializers import InvitationIn, InvitationOut


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
            path = invitation_links.create_invitation_path(member)
            link = request.build_absolute_uri(path)
        body = {
            "username": member.user.get_username() if member else data["username"],
            "role": data["role"],
            "state": "member" if member else "invited",
            "link": link,
        }
        return Response(body, status=201)
