"""Access review for administrators, as a page and as CSV.

One row for each way in which an account can access the site or a project.
"""

from __future__ import annotations

import csv
import datetime
import io
import itertools
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_safe

from core import security_log
from core.text import lower_first
from core.web.tables import escape_formula
from events.models import Webhook
from metrics.models import ShareLink
from projects.models import ApiToken, Member, MemberOffer
from projects.services.joining import OFFER_DAYS
from ratings.models import LabelStudioConnection

ROWS_PER_CHUNK = 500
OFFER_LIFETIME = datetime.timedelta(days=OFFER_DAYS)


@dataclass(frozen=True, slots=True)
class AccessRow:
    """One way in which an account can access the site or a project.

    ``kind``: superuser, staff, member, offer (not accepted yet, so no access), token, link, or
    another server that gets data (webhook, connection). ``account``: who has it; of links and
    servers the creator. ``account_state``: open, closed, or empty for a deleted account.
    ``project_id`` is None for access to all projects of the account. ``access``: a role, the scope
    of a token, the page of a link, or the host of a server. ``last_used``: the last sign-in of an
    account, the last use of a token or link.
    """

    kind: str
    account: str
    full_name: str
    account_state: str
    second_factor: bool | None
    project_id: int | None
    project: str
    access: str
    since: datetime.datetime | None
    until: datetime.datetime | None
    last_used: datetime.datetime | None


COLUMNS = [field.name for field in fields(AccessRow)]
KINDS = ("superuser", "staff", "member", "offer", "token", "link", "webhook", "connection")


def iter_access_rows(*, account: str = "", kind: str = "") -> Iterator[AccessRow]:
    """Yield the access rows, grouped by kind, of accounts whose name contains ``account``.

    An empty ``account`` matches every account, an empty ``kind`` every kind. Tokens and links that
    no longer grant access are left out.
    """
    sources = {
        "superuser": _iter_superusers,
        "staff": _iter_staff,
        "member": _iter_members,
        "offer": _iter_offers,
        "token": _iter_tokens,
        "link": _iter_links,
        "webhook": _iter_webhooks,
        "connection": _iter_connections,
    }
    with_factor = set(User.objects.filter(authenticator__isnull=False).values_list("pk", flat=True))
    for name in KINDS:
        if kind in ("", name):
            yield from sources[name](account, with_factor)


def _build_row(
    kind: str, user: Any, access: str, with_factor: set[int], *, project: Any = None, **values: Any
) -> AccessRow:
    values = {"since": None, "until": None, "last_used": None} | values
    return AccessRow(
        kind=kind,
        account=user.get_username() if user else "",
        full_name=user.get_full_name() if user else "",
        account_state=("open" if user.is_active else "closed") if user else "",
        second_factor=user.pk in with_factor if user else None,
        project_id=project.pk if project else None,
        project=project.name if project else "",
        access=access,
        **values,
    )


def _iter_accounts(kind: str, users: Any, with_factor: set[int]) -> Iterator[AccessRow]:
    for user in users.order_by("username").iterator(ROWS_PER_CHUNK):
        yield _build_row(
            kind, user, kind, with_factor, since=user.date_joined, last_used=user.last_login
        )


def _iter_superusers(account: str, with_factor: set[int]) -> Iterator[AccessRow]:
    users = User.objects.filter(username__icontains=account, is_superuser=True)
    return _iter_accounts("superuser", users, with_factor)


def _iter_staff(account: str, with_factor: set[int]) -> Iterator[AccessRow]:
    users = User.objects.filter(username__icontains=account, is_staff=True, is_superuser=False)
    return _iter_accounts("staff", users, with_factor)


def _iter_members(account: str, with_factor: set[int]) -> Iterator[AccessRow]:
    members = Member.objects.filter(user__username__icontains=account)
    members = members.select_related("user", "project").order_by("project", "user__username")
    for member in members.iterator(ROWS_PER_CHUNK):
        yield _build_row(
            "member",
            member.user,
            member.role,
            with_factor,
            project=member.project,
            last_used=member.user.last_login,
        )


def _iter_offers(account: str, with_factor: set[int]) -> Iterator[AccessRow]:
    since = timezone.now() - OFFER_LIFETIME
    offers = MemberOffer.objects.filter(
        user__isnull=False,
        user__username__icontains=account,
        declined_at=None,
        created_at__gt=since,
    )
    offers = offers.select_related("user", "project").order_by("project", "username")
    for offer in offers.iterator(ROWS_PER_CHUNK):
        yield _build_row(
            "offer",
            offer.user,
            offer.role,
            with_factor,
            project=offer.project,
            since=offer.created_at,
            until=offer.created_at + OFFER_LIFETIME,
        )


def _iter_tokens(account: str, with_factor: set[int]) -> Iterator[AccessRow]:
    valid = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    tokens = ApiToken.objects.filter(
        valid, revoked_at=None, user__is_active=True, user__username__icontains=account
    )
    tokens = tokens.select_related("user", "project").order_by("user__username", "pk")
    for token in tokens.iterator(ROWS_PER_CHUNK):
        yield _build_row(
            "token",
            token.user,
            f"{token.scope} {token.prefix}…",
            with_factor,
            project=token.project,
            since=token.created_at,
            until=token.expires_at,
            last_used=token.last_used_at,
        )


def _iter_links(account: str, with_factor: set[int]) -> Iterator[AccessRow]:
    links = ShareLink.objects.unexpired().filter(created_by__username__icontains=account)
    links = links.select_related("created_by", "view__project").order_by("view__project", "pk")
    for link in links.iterator(ROWS_PER_CHUNK):
        if link.is_active:
            yield _build_row(
                "link",
                link.created_by,
                f"{link.view.page}: {link.view.name}",
                with_factor,
                project=link.view.project,
                since=link.created_at,
                until=link.expires_at,
                last_used=link.opened_at,
            )


def _iter_webhooks(account: str, with_factor: set[int]) -> Iterator[AccessRow]:
    webhooks = Webhook.objects.filter(paused_at=None)
    for webhook in _iter_rows_of_creator(webhooks, account):
        content = "with item content" if webhook.with_items else "without item content"
        yield _build_row(
            "webhook",
            webhook.created_by,
            f"{webhook.host}, {content}",
            with_factor,
            project=webhook.project,
            since=webhook.created_at,
        )


def _iter_connections(account: str, with_factor: set[int]) -> Iterator[AccessRow]:
    connections = LabelStudioConnection.objects.filter(state=LabelStudioConnection.State.ACTIVE)
    for connection in _iter_rows_of_creator(connections, account):
        yield _build_row(
            "connection",
            connection.created_by,
            urlsplit(connection.address).hostname or "",
            with_factor,
            project=connection.project,
            since=connection.created_at,
        )


def _iter_rows_of_creator(rows: QuerySet[Any], account: str) -> Iterator[Any]:
    """Yield the rows created by users whose name contains ``account``; all rows if it is empty."""
    if account:
        rows = rows.filter(created_by__username__icontains=account)
    rows = rows.select_related("created_by", "project").order_by("project", "pk")
    return iter(rows.iterator(ROWS_PER_CHUNK))


def iter_csv(rows: Iterator[AccessRow]) -> Iterator[str]:
    """Yield the lines of the CSV file: the names of the columns, then the rows."""
    yield _format_line(COLUMNS)
    for row in rows:
        yield _format_line([_format_cell(value) for value in astuple(row)])


def _format_line(cells: list[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue()


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value.isoformat() if isinstance(value, datetime.datetime) else escape_formula(str(value))


MAX_SHOWN_ROWS = 500  # the file has all
KIND_LABELS = {
    "superuser": gettext_lazy("administrator"),
    "staff": lower_first(gettext_lazy("Staff")),
    "member": lower_first(gettext_lazy("Member")),
    "offer": gettext_lazy("invited"),
    "token": lower_first(gettext_lazy("Token")),
    "link": lower_first(gettext_lazy("Public link")),
    "webhook": lower_first(gettext_lazy("Webhook")),
    "connection": lower_first(gettext_lazy("Connection")),
}
ACCESS_LABELS = {
    "superuser": gettext_lazy("everything"),
    "staff": gettext_lazy("admin site"),
    **dict(Member.Role.choices),
    **dict(ApiToken.Scope.choices),
}


def _require_superuser(request: HttpRequest) -> None:
    """Raise PermissionDenied for users who are not superusers."""
    if not request.user.is_superuser:
        raise PermissionDenied(_("Only administrators can do this."))


def _get_filters(request: HttpRequest) -> dict[str, str]:
    """Return the filters of the query; an unknown kind shows all kinds."""
    kind = request.GET.get("kind", "")
    account = request.GET.get("account", "").replace("\0", "").strip()[:150]
    return {"account": account, "kind": kind if kind in KIND_LABELS else ""}


@login_required
@require_safe
def show_access_review(request: HttpRequest) -> HttpResponse:
    """Show the access review, filtered by account and kind of access."""
    _require_superuser(request)
    filters = _get_filters(request)
    rows = list(itertools.islice(iter_access_rows(**filters), MAX_SHOWN_ROWS + 1))
    query = urlencode({name: value for name, value in filters.items() if value})
    context = {
        "rows": [
            (row, KIND_LABELS[row.kind], _label_access(row.access)) for row in rows[:MAX_SHOWN_ROWS]
        ],
        "has_more": len(rows) > MAX_SHOWN_ROWS,
        "limit": MAX_SHOWN_ROWS,
        "kinds": KIND_LABELS.items(),
        "filters": filters,
        "file": f"{reverse('access_review_file')}?{query}",
    }
    return render(request, "agreement_site/access_review.html", context)


def _label_access(access: str) -> str:
    word, _blank, detail = access.partition(" ")
    label = ACCESS_LABELS.get(word)
    return access if label is None else f"{label} {detail}".strip()


@login_required
@require_GET
def download_access_review(request: HttpRequest) -> StreamingHttpResponse:
    """Return all rows as CSV. The download is recorded in the audit log."""
    _require_superuser(request)
    filters = _get_filters(request)
    security_log.log_event("export", exported="access_review", kind="csv")
    return StreamingHttpResponse(
        iter_csv(iter_access_rows(**filters)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="concord-access-review.csv"'},
    )
