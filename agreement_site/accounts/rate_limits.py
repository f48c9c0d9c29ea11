"""How often an hour one account may do what makes accounts, links, projects or tokens,
by the pages: counted in the database, as tries to sign in are."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from agreement_site.error_pages import answer
from agreement_site.middleware.base import Around
from core import security_log

from . import sign_in_limit

# Name of a route -> posts an hour.
AN_HOUR = {
    "member_add": 60,
    "members_invite": 10,  # up to 100 at a time
    "member_link": 120,
    "project_new": 60,
    "tokens": 30,
}


class Pace(Around):
    """429 for more."""

    def process_view(
        self, request: HttpRequest, view: Any, arguments: Any, named: Any
    ) -> HttpResponse | None:
        match = request.resolver_match
        name = match.url_name or "" if match is not None else ""
        if request.method != "POST" or name not in AN_HOUR or not request.user.is_authenticated:
            return None
        wait = sign_in_limit.count_act(request.user.pk, name, AN_HOUR[name])
        if not wait:
            return None
        security_log.event("too_many", act=name)
        said = _("You have done this very often within the hour. Try again in %(minutes)s minutes.")
        refusal = answer(request, 429, said % {"minutes": -(-wait // 60)})
        refusal["Retry-After"] = str(wait)
        return refusal
