"""The inbox over all projects, and the actions on several of its alerts and raters."""

from __future__ import annotations

import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from core.text import parse_id
from core.web.tables import get_page_size
from metrics.views.common.number_formats import format_count
from metrics.views.common.selection import get_page_number
from projects.models import Project, Question
from projects.models.roles import Capability
from quality.alerts import services
from quality.alerts.kinds import KINDS
from quality.models import Alert, AlertState
from quality.rater_status.status_texts import describe_checked_raters

from . import entry_counts, inbox_entries
from .inbox_entries import InboxScope

ROWS_PER_PAGE = 50
CHECK = "check"  # the action on selected raters alone
ACTIONS = ("resolve", "dismiss", "mute", "investigate", CHECK)


@login_required
@require_safe
def show_inbox(request: HttpRequest) -> HttpResponse:
    """Show the entries of all the user's projects, or of ``?project=``, most impact first."""
    project = _get_project(request)
    scope = inbox_entries.InboxScope(request.user, project.pk if project else None)
    size = inbox_entries.count_entries(scope)
    paginator = Paginator(range(size.n_entries), get_page_size(ROWS_PER_PAGE))
    number = get_page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("Page not found."))
    page = paginator.page(number)
    start = max(page.start_index() - 1, 0)  # the index of an empty page is 0
    stored_entries = inbox_entries.read_entries(scope, len(page), start)
    shown_entries = inbox_entries.load_entries(stored_entries, scope)
    shown_projects = {row.project.pk for row in shown_entries}
    led = scope.projects.select(Capability.MANAGE)
    led_ids = set(led.filter(pk__in=shown_projects).values_list("pk", flat=True))
    context: dict[str, object] = {
        "page": page,
        "rows": shown_entries,
        "size": size,
        "only_project": project,
        "led_ids": led_ids,
        "can_select": any(
            (row.alert or row.is_to_check) and row.project.pk in led_ids for row in shown_entries
        ),
    }
    return render(request, "quality/inbox/inbox.html", context)


def _get_project(request: HttpRequest) -> Project | None:
    text = request.GET.get("project")
    if not text:
        return None
    return get_object_or_404(Project.objects.visible_to(request.user), pk=parse_id(text) or 0)


@login_required
@require_POST
def act_on_entries(request: HttpRequest) -> HttpResponse:
    """Carry out ``do``, one of ACTIONS, on the selected open alerts and raters to check.

    ``alert``: ids; ``raters``: ids of questions, whose raters to check are marked as checked by
    every action except "investigate".
    """
    action = request.POST.get("do", "")
    alert_ids, question_ids = (
        [row_id for text in request.POST.getlist(name) if (row_id := parse_id(text))]
        for name in ("alert", "raters")
    )
    if action not in ACTIONS or len(alert_ids) + len(question_ids) > ROWS_PER_PAGE:
        raise BadRequest(_("Choose an action and at most %(n)s rows.") % {"n": ROWS_PER_PAGE})
    scope = inbox_entries.InboxScope(request.user)
    try:
        with transaction.atomic():
            texts = []
            if alert_ids and action != CHECK:
                texts.append(_change_alerts(request, scope, alert_ids, action=action))
            if question_ids and action != "investigate":
                texts.append(_mark_checked(request, scope, question_ids))
        if texts:
            messages.success(request, " ".join(texts))
        else:
            messages.error(request, _("Select at least one row."))
    except services.InvalidAlertStep as error:
        messages.error(request, error.message)
    project = parse_id(request.POST.get("project", ""))
    return redirect(f"{reverse('inbox')}?project={project}" if project else reverse("inbox"))


def _change_alerts(request: HttpRequest, scope: InboxScope, ids: list[int], *, action: str) -> str:
    """Change the state of these open alerts of led projects; return what was done."""
    led = scope.projects.select(Capability.MANAGE)
    open_alerts = entry_counts.get_open_alerts().filter(question__project__in=led, pk__in=ids)
    if action == "investigate":
        open_alerts = open_alerts.filter(state=AlertState.OPEN)
    alerts = list(open_alerts.order_by("pk").select_related("question"))
    for alert in alerts:
        step = _build_step(alert, action, request.POST.get("reason", ""))
        services.change_alert_state(alert=alert, by=request.user, **step)
    return _describe_action(action, len(alerts))


def _mark_checked(request: HttpRequest, scope: InboxScope, question_ids: list[int]) -> str:
    """Mark the raters to check of these questions of led projects; return what was done."""
    led = scope.projects.select(Capability.MANAGE)
    questions = Question.objects.filter(project__in=led, pk__in=question_ids).order_by("pk")
    n_raters = 0
    for question_id in questions.values_list("pk", flat=True):
        check = scope.raters_to_check.get(question_id)
        if check is not None:
            services.mark_raters_checked(
                question_id=question_id, rater_ids=check.rater_ids, by=request.user
            )
            n_raters += check.n_raters
    return describe_checked_raters(n_raters)


def _build_step(alert: Alert, action: str, reason: str) -> dict[str, Any]:
    """Return the arguments of ``change_alert_state`` for an action on an alert."""
    if action == "investigate":
        return {"state": AlertState.ACKNOWLEDGED}
    if action == "mute":
        muted_until = timezone.now().date() + datetime.timedelta(weeks=1)
        reason = reason.strip() or _("Muted")
        return {"state": AlertState.MUTED, "muted_until": muted_until, "reason": reason}
    confirmed, dismissed = KINDS[alert.kind].causes
    cause = confirmed if action == "resolve" else dismissed
    return {"state": AlertState.RESOLVED, "cause": cause, "reason": reason}


def _describe_action(action: str, n: int) -> str:
    """Return a sentence that says what was done with ``n`` alerts."""
    if action == "mute":
        text = ngettext("%(n)s alert muted for a week.", "%(n)s alerts muted for a week.", n)
    elif action == "investigate":
        text = ngettext("%(n)s alert assigned to you.", "%(n)s alerts assigned to you.", n)
    elif action == "dismiss":
        text = ngettext("%(n)s alert dismissed.", "%(n)s alerts dismissed.", n)
    else:
        text = ngettext("%(n)s alert confirmed.", "%(n)s alerts confirmed.", n)
    return text % {"n": format_count(n)}
