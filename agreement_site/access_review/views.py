"""Access review for administrators: all ways to access the site, as a page and as CSV."""

from __future__ import annotations

import itertools

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_safe

from core import security_log
from projects.models import ApiToken, Member

from . import selectors

MAX_SHOWN_ROWS = 500  # the file has all
KIND_LABELS = {
    "superuser": gettext_lazy("administrator"),
    "staff": gettext_lazy("staff"),
    "member": gettext_lazy("member"),
    "offer": gettext_lazy("invited"),
    "token": gettext_lazy("token"),
    "link": gettext_lazy("public link"),
    "webhook": gettext_lazy("webhook"),
    "connection": gettext_lazy("connection"),
}
ACCESS_LABELS = {
    "superuser": gettext_lazy("everything"),
    "staff": gettext_lazy("admin site, by permission"),
    **dict(Member.Role.choices),
    **dict(ApiToken.Scope.choices),
}


def _require_superuser(request: HttpRequest) -> None:
    """Raise PermissionDenied for everybody but superusers."""
    if not request.user.is_superuser:
        raise PermissionDenied(_("Only administrators can open this."))


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
    rows = list(itertools.islice(selectors.iter_access(**filters), MAX_SHOWN_ROWS + 1))
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
        selectors.iter_csv(selectors.iter_access(**filters)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="concord-access-review.csv"'},
    )
