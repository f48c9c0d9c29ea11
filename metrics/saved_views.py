"""Saved views: create, rename and delete them, and share them by links that need no account."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.exceptions import BadRequest
from django.db import transaction
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _

from core import security_log
from core.text import has_control_character
from core.web.forms import InvalidFields
from metrics.filters import FILTER_NAMES, ITEM_PREFIX, RatingFilter
from metrics.models import SavedView, ShareLink
from projects.models import Approval, Project
from projects.services import approvals
from projects.services.tokens import compute_digest

ViewPage = SavedView.Page
MAX_VIEWS = 200  # in a project
MAX_LINK_DAYS = 366  # until a link expires
MAX_NAME_LENGTH = 80
MAX_QUERY_LENGTH = 1000
OPENED_INTERVAL = datetime.timedelta(hours=1)  # precision of opened_at, and of the audit log
# The query parameters that define a view. Others are a position in it: a page number, an open item.
QUERY_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    ViewPage.DASHBOARD: (
        "question", "weights", "period", "coefficient", "heat_map", "sort", *FILTER_NAMES,
    ),
    ViewPage.RATERS: ("question", "show", "least", "search", "sort", "exclude"),
    ViewPage.ITEMS: (
        "question", "search", "state", "answers", "answer", "other_answer", "rater", "ratings",
        "attribute", "sort",
    ),
}  # fmt: skip
# Pages that may be shared without an account. A list of items shows what others answered, which
# raters who still rate them must not see.
SHAREABLE_PAGES = (ViewPage.DASHBOARD, ViewPage.RATERS)


class InvalidSavedView(InvalidFields):
    """A saved view or share link has invalid fields, or there are too many of them."""


def build_query(page: str, parameters: QueryDict, *, question: str) -> str:
    """Return the query string of a view of this page: its non-empty parameters in fixed order.

    It always names the question, because the default question may change.
    """
    values = {name: parameters.get(name, "") for name in QUERY_PARAMETERS[page]}
    values["question"] = values["question"] or question
    if page == ViewPage.DASHBOARD:
        values |= {
            name: parameters.get(name, "")
            for name in sorted(parameters)
            if name.startswith(ITEM_PREFIX)
        }
    return urlencode({name: value for name, value in values.items() if value})


def list_saved_views(project: Project) -> list[SavedView]:
    """Return the views of a project that its current user (``project.role``) may open.

    Views that show gold answers are for leads only.
    """
    views = list(project.saved_views.select_related("created_by"))
    if project.can_manage:
        return views
    return [view for view in views if QueryDict(view.query).get("state") != "gold"]


@transaction.atomic
def create_saved_view(*, project: Project, page: str, name: str, query: str, by: Any) -> SavedView:
    """Save a view under a name, and return it.

    ``page``: a ViewPage; ``query``: its query string; ``by``: the acting user. Raises
    InvalidSavedView for an invalid page, query or name, and for too many views.
    """
    if page not in QUERY_PARAMETERS:
        raise InvalidSavedView(name=_("This page can't be saved as a view."))
    if len(query) > MAX_QUERY_LENGTH or has_control_character(query):
        raise InvalidSavedView(name=_("Too many filters to save."))
    try:
        RatingFilter.from_query(QueryDict(query if page == ViewPage.DASHBOARD else ""))
    except BadRequest as problem:
        raise InvalidSavedView(name=str(problem)) from None
    Project.objects.select_for_update().get(pk=project.pk)
    if SavedView.objects.filter(project=project).count() >= MAX_VIEWS:
        raise InvalidSavedView(
            name=_("At most %(n)s are allowed. Remove one first.") % {"n": MAX_VIEWS}
        )
    name = _validate_name(project, name)
    view = SavedView.objects.create(
        project=project, page=page, name=name, query=query, created_by=by
    )
    after = {"name": name, "page": page, "query": query}
    security_log.log_event("view_saved", project_id=project.pk, by=by.pk, after=after)
    return view


@transaction.atomic
def rename_saved_view(*, view: SavedView, name: str, by: Any) -> None:
    """Rename a view. Raises InvalidSavedView for an invalid name."""
    Project.objects.select_for_update().get(pk=view.project_id)
    before, view.name = view.name, _validate_name(view.project, name, exclude_id=view.pk)
    view.save(update_fields=["name"])
    security_log.log_event(
        "view_renamed",
        project_id=view.project_id,
        by=by.pk,
        before={"name": before},
        after={"name": view.name},
    )


@transaction.atomic
def delete_saved_view(*, view: SavedView, by: Any) -> None:
    """Delete a saved view and the links that share it."""
    before = {"name": view.name, "page": view.page, "query": view.query}
    view.delete()
    security_log.log_event("view_deleted", project_id=view.project_id, by=by.pk, before=before)


def _validate_name(project: Project, name: str, *, exclude_id: int | None = None) -> str:
    name = name.strip()
    if not name or len(name) > MAX_NAME_LENGTH or has_control_character(name):
        raise InvalidSavedView(name=_("Enter 1 to %(n)s characters.") % {"n": MAX_NAME_LENGTH})
    if SavedView.objects.filter(project=project, name=name).exclude(pk=exclude_id or 0).exists():
        raise InvalidSavedView(name=_("This name already exists."))
    return name


# --- links


def _validate_shareable(view: SavedView, *, shows_names: bool) -> None:
    if not settings.SHARE_LINKS:
        raise InvalidSavedView(until=_("Links are not allowed on this site"))
    if view.page not in SHAREABLE_PAGES:
        raise InvalidSavedView(until=_("Lists of others’ answers can't be shared."))
    if not shows_names and QueryDict(view.query).get("search"):
        raise InvalidSavedView(until=_("Remove the search for names, or show names."))


@transaction.atomic
def create_share_link(
    *, view: SavedView, until: datetime.date, by: Any, shows_names: bool = False
) -> str:
    """Create a link to the view, valid through the day ``until``; return its secret.

    The day is in the project's time zone. Unless ``shows_names``, the page has numbers instead of
    people's names. The secret cannot be retrieved later. Raises InvalidSavedView, and
    PermissionDenied where showing names needs an approval that is missing.
    """
    _validate_shareable(view, shows_names=shows_names)
    zone = ZoneInfo(view.project.time_zone)
    today = timezone.localdate(timezone=zone)
    if not today <= until <= today + datetime.timedelta(days=MAX_LINK_DAYS):
        raise InvalidSavedView(
            until=_("Choose a date within the next %(n)s days.") % {"n": MAX_LINK_DAYS}
        )
    ends = datetime.datetime.combine(until + datetime.timedelta(days=1), datetime.time.min, zone)
    if shows_names:
        approvals.use_approval(project=view.project, action=Approval.Action.SHARE_NAMES, by=by)
    secret = secrets.token_urlsafe(32)
    ShareLink.objects.create(
        view=view,
        digest=compute_digest(secret),
        created_by=by,
        expires_at=ends,
        shows_names=shows_names,
    )
    security_log.log_event(
        "view_shared",
        project_id=view.project_id,
        by=by.pk,
        after={"name": view.name, "expires_at": ends, "shows_names": shows_names},
    )
    return secret


@transaction.atomic
def revoke_share_link(*, link: ShareLink, by: Any) -> None:
    """Revoke a link now, unless it is expired or already revoked."""
    if ShareLink.objects.unexpired().filter(pk=link.pk).update(revoked_at=timezone.now()):
        before = {"name": link.view.name, "expires_at": link.expires_at}
        security_log.log_event(
            "share_link_revoked", project_id=link.view.project_id, by=by.pk, before=before
        )


def find_share_link(secret: str) -> ShareLink | None:
    """Return the link with this secret, also a revoked or expired one; None if there is none."""
    links = ShareLink.objects.filter(digest=compute_digest(secret))
    return links.select_related("view__project", "created_by").first()


@transaction.atomic
def record_link_opened(link: ShareLink) -> None:
    """Store and log, at most once in OPENED_INTERVAL, that a link was opened."""
    now = timezone.now()
    stale = ShareLink.objects.filter(pk=link.pk).exclude(opened_at__gt=now - OPENED_INTERVAL)
    if stale.update(opened_at=now):
        security_log.log_event(
            "share_link_opened", project_id=link.view.project_id, after={"name": link.view.name}
        )


def rename_raters_in_views(project_id: int, renamed: Mapping[str, str]) -> None:
    """Replace the keys of renamed raters in the queries of a project's saved views.

    ``renamed``: old key -> new key.
    """
    for view in SavedView.objects.filter(project=project_id, query__contains="rater="):
        parameters = QueryDict(view.query).dict()
        if parameters.get("rater") in renamed:
            view.query = urlencode(parameters | {"rater": renamed[str(parameters["rater"])]})
            view.save(update_fields=["query"])
