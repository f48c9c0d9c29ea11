"""Limits on how often an hour one account may create accounts, links, projects or tokens.

They apply to the pages and are counted in the database, like attempts to sign in.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from agreement_site.error_pages import render_error
from agreement_site.middleware.base import BaseMiddleware
from core import security_log

from . import attempt_limits

# Maximum number of POST requests per account and hour, by URL name.
POSTS_PER_HOUR = {
    "label_studio_connections": 30,  # each calls an address of the user's choice
    "member_create": 60,
    "members_invite": 10,  # up to 100 at a time
    "member_link": 120,
    "project_create": 60,
    "tokens": 30,
}


class RateLimitMiddleware(BaseMiddleware):
    """Answer with 429 when an account exceeds the limit of a route."""

    def process_view(
        self, request: HttpRequest, view: Any, view_args: Any, view_kwargs: Any
    ) -> HttpResponse | None:
        match = request.resolver_match
        name = match.url_name or "" if match is not None else ""
        if (
            request.method != "POST"
            or name not in POSTS_PER_HOUR
            or not request.user.is_authenticated
        ):
            return None
        wait_seconds = attempt_limits.count_action(request.user.pk, name, POSTS_PER_HOUR[name])
        if not wait_seconds:
            return None
        security_log.log_event("too_many_requests", action=name)
        message = _("Too many attempts. Try again in %(minutes)s minutes.")
        response = render_error(request, 429, message % {"minutes": -(-wait_seconds // 60)})
        response["Retry-After"] = str(wait_seconds)
        return response
