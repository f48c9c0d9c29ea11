"""Views under a name: what makes, changes and removes them, and the links by which others read
them without an account."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.core.exceptions import BadRequest
from django.db import transaction
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _

from core import security_log
from core.text import has_control
from metrics.filters import ITEM, Filter
from metrics.models import NamedView, ViewLink
from projects.authentication import digest
from projects.models import Member, Project

Page = NamedView.Page
MOST = 200  # views of a project
MOST_DAYS = 366  # until a link ends
LONGEST_NAME = 80
LONGEST_QUERY = 1000
OPENED_EVERY = datetime.timedelta(hours=1)  # how exact opened_at is, and how often it is told
_FILTER = ("from", "to", "kind", "group", "content", "without", "drawn")
# What an address says of a view; all else is a place in it: the page of a list, the open item.
SAYS: Mapping[str, tuple[str, ...]] = {
    Page.DASHBOARD: ("question", "weights", "period", "coefficient", "who", "sort", *_FILTER),
    Page.RATERS: ("question", "show", "least", "search", "sort", "without"),
    Page.ITEMS: (
        "question", "search", "state", "answers", "said", "and_said", "rater", "ratings",
        "attribute", "sort",
    ),
}  # fmt: skip
# Of these may others read without an account. A list of items tells what others answered, which
# whoever still rates them must not see.
LINKED = (Page.DASHBOARD, Page.RATERS)


class Refused(ValueError):
    """``fields``: name -> what is wrong with it."""

    def __init__(self, **fields: str) -> None:
        super().__init__(" ".join(fields.values()))
        self.fields = fields


def query_of(page: str, given: QueryDict, *, question: str) -> str:
    """What an address of this page says of the view, always in the same order and with its
    question: the first one may be another one tomorrow."""
    said = {name: given.get(name, "") for name in SAYS[page]}
    said["question"] = said["question"] or question
    if page == Page.DASHBOARD:
        said |= {name: given.get(name, "") for name in sorted(given) if name.startswith(ITEM)}
    return urlencode({name: value for name, value in said.items() if value})


def named(project: Any) -> list[NamedView]:
    """Those that the caller may open (``project.role``): what tells of gold answers is the
    leads'."""
    found = list(project.named_views.select_related("by"))
    if project.role == Member.Role.LEAD:
        return found
    return [one for one in found if QueryDict(one.query).get("state") != "gold"]


@transaction.atomic
def name_view(*, project: Project, page: str, name: str, query: str, by: Any) -> NamedView:
    """Keep a view. Raises Refused with the reason for what cannot be kept."""
    if page not in SAYS:
        raise Refused(name=_("This page cannot be kept under a name."))
    if len(query) > LONGEST_QUERY or has_control(query):
        raise Refused(name=_("This view says too much to be kept: choose less."))
    try:
        Filter.of(QueryDict(query if page == Page.DASHBOARD else ""))
    except BadRequest as problem:
        raise Refused(name=str(problem)) from None
    Project.objects.select_for_update().get(pk=project.pk)
    if NamedView.objects.filter(project=project).count() >= MOST:
        raise Refused(name=_("A project has at most %(n)s views: delete one first.") % {"n": MOST})
    name = _checked(project, name)
    view = NamedView.objects.create(project=project, page=page, name=name, query=query, by=by)
    after = {"name": name, "page": page, "query": query}
    security_log.event("view_named", project_id=project.pk, by=by.pk, after=after)
    return view


@transaction.atomic
def rename_view(*, view: NamedView, name: str, by: Any) -> None:
    """Raises Refused for a name that cannot be."""
    Project.objects.select_for_update().get(pk=view.project_id)
    before, view.name = view.name, _checked(view.project, name, but=view.pk)
    view.save(update_fields=["name"])
    security_log.event(
        "view_renamed",
        project_id=view.project_id,
        by=by.pk,
        before={"name": before},
        after={"name": view.name},
    )


@transaction.atomic
def delete_view(*, view: NamedView, by: Any) -> None:
    """With its links, which lead nowhere from now on."""
    before = {"name": view.name, "page": view.page, "query": view.query}
    view.delete()
    security_log.event("view_deleted", project_id=view.project_id, by=by.pk, before=before)


def _checked(project: Project, name: str, *, but: int | None = None) -> str:
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or has_control(name):
        raise Refused(name=_("A name of 1 to %(n)s signs is needed.") % {"n": LONGEST_NAME})
    if NamedView.objects.filter(project=project, name=name).exclude(pk=but or 0).exists():
        raise Refused(name=_("There is a view of this name already."))
    return name


# --- links


@transaction.atomic
def share(*, view: NamedView, until: datetime.date, by: Any) -> str:
    """Make a link to the view that ends with the day ``until`` of the project, and return its
    secret; it cannot be shown again. Raises Refused for a day that cannot be."""
    if view.page not in LINKED:
        raise Refused(
            until=_(
                "A list of items tells what others answered: who still rates must not see it. It "
                "has no link."
            )
        )
    zone = ZoneInfo(view.project.time_zone)
    today = timezone.localdate(timezone=zone)
    if not today <= until <= today + datetime.timedelta(days=MOST_DAYS):
        raise Refused(until=_("A day from today to %(n)s days ahead is needed.") % {"n": MOST_DAYS})
    ends = datetime.datetime.combine(until + datetime.timedelta(days=1), datetime.time.min, zone)
    secret = secrets.token_urlsafe(32)
    ViewLink.objects.create(view=view, digest=digest(secret), by=by, expires_at=ends)
    security_log.event(
        "view_shared",
        project_id=view.project_id,
        by=by.pk,
        after={"name": view.name, "expires_at": ends},
    )
    return secret


@transaction.atomic
def revoke(*, link: ViewLink, by: Any) -> None:
    """End a link now; one that has ended stays as it is."""
    now = timezone.now()
    open_ones = ViewLink.objects.filter(pk=link.pk, revoked_at=None, expires_at__gt=now)
    if open_ones.update(revoked_at=now):
        before = {"name": link.view.name, "expires_at": link.expires_at}
        security_log.event(
            "view_link_revoked", project_id=link.view.project_id, by=by.pk, before=before
        )


def linked(secret: str) -> ViewLink | None:
    """The link of this secret, whether it has ended or not; None when there is none."""
    found = ViewLink.objects.filter(digest=digest(secret))
    return found.select_related("view__project").first()


@transaction.atomic
def note_opened(link: ViewLink) -> None:
    """Somebody opened the link: its lead and the trail are told, once an hour at most."""
    now = timezone.now()
    stale = ViewLink.objects.filter(pk=link.pk).exclude(opened_at__gt=now - OPENED_EVERY)
    if stale.update(opened_at=now):
        security_log.event(
            "view_link_opened", project_id=link.view.project_id, after={"name": link.view.name}
        )


def rename_raters(project_id: int, renamed: Mapping[str, str]) -> None:
    """Views of one rater's items stay that under another key."""
    for view in NamedView.objects.filter(project=project_id, query__contains="rater="):
        said = QueryDict(view.query).dict()
        if said.get("rater") in renamed:
            view.query = urlencode(said | {"rater": renamed[str(said["rater"])]})
            view.save(update_fields=["query"])
