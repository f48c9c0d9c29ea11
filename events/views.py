"""Pages of the webhooks of a project, and of those of the site."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from core.text import describe_saved, parse_id
from core.web import tables
from core.web.forms import add_form_errors
from projects.models import Project
from projects.permissions import get_project_or_site

from .kinds import KINDS
from .models import Delivery, Webhook
from .webhooks import services
from .webhooks.http_client import MAX_URL_LENGTH
from .webhooks.services import MAX_ROBOT_SECRET_LENGTH


class WebhookForm(forms.Form):
    """Form of a new webhook, or of changes of one."""

    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=MAX_URL_LENGTH,
        widget=forms.URLInput({"placeholder": "https://"}),
    )
    format = forms.ChoiceField(
        label=gettext_lazy("Send as"), choices=Webhook.Format.choices, required=False
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        choices=settings.LANGUAGES,
        required=False,
        widget=forms.Select({"translate": "no"}),  # each language has its own name
    )
    robot_secret = forms.CharField(
        label=gettext_lazy("Robot secret"),
        required=False,
        max_length=MAX_ROBOT_SECRET_LENGTH,
        widget=forms.TextInput({"autocomplete": "off", "class": "mono"}),
        help_text=gettext_lazy("Only for DingTalk and Feishu."),
    )
    kinds = forms.MultipleChoiceField(
        label=gettext_lazy("Only these events"),
        required=False,
        choices=[(kind, kind) for kind in KINDS],
        widget=forms.SelectMultiple({"size": 8, "class": "mono", "translate": "no"}),
        help_text=gettext_lazy(
            "Leave blank for all events. Chat channels only receive events meant for people."
        ),
    )
    with_items = forms.BooleanField(label=gettext_lazy("Include item content"), required=False)

    def clean_format(self) -> str:
        return self.cleaned_data["format"] or Webhook.Format.CONCORD


DELIVERIES_PER_PAGE = 50
ERROR_TEXTS = {
    "url": gettext_lazy("Address no longer allowed."),
    "not_found": gettext_lazy("The host is unknown. Check the address."),
    "not_allowed": gettext_lazy("The host is in a private network."),
    "certificate": gettext_lazy("The certificate is invalid."),
    "timeout": gettext_lazy("No response in time."),
    "connection": gettext_lazy("The connection failed."),
    "rejected": gettext_lazy("The chat rejected the message."),
}


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("secret")
def list_webhooks(request: HttpRequest, project_id: int | None = None) -> HttpResponse:
    """List the webhooks; a POST creates one and shows its secret once.

    ``project_id``: the project, None for the webhooks of the site.
    """
    project = get_project_or_site(request.user, project_id)
    form = WebhookForm(request.POST or None)
    secret = ""
    if request.method == "POST" and form.is_valid():
        try:
            _webhook, secret = services.create_webhook(
                project=project, by=request.user, **form.cleaned_data
            )
        except services.InvalidWebhook as error:
            add_form_errors(form, error.fields)
        else:
            form = WebhookForm()
    webhooks = list(services.list_webhooks(project))
    context = {
        "project": project,
        "form": form,
        "secret": secret,
        "webhooks": [(webhook, _get_url("webhook", webhook)) for webhook in webhooks],
        "address": _get_list_url(project),
    }
    status = 400 if form.errors else 200
    return render(request, "events/webhooks.html", context, status=status)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("secret")
def show_webhook(
    request: HttpRequest, webhook_id: int, project_id: int | None = None
) -> HttpResponse:
    """Show a webhook with its log; a POST changes it.

    ``project_id``: the project, None for a webhook of the site.
    """
    webhook = services.get_webhook(request.user, project_id, webhook_id)
    form = WebhookForm(request.POST or None, initial=_get_initial(webhook))
    if request.method == "POST" and form.is_valid():
        changes = form.cleaned_data
        if not changes["robot_secret"]:  # it is never shown, so empty means unchanged
            del changes["robot_secret"]
        try:
            services.change_webhook(webhook=webhook, by=request.user, **changes)
        except services.InvalidWebhook as error:
            add_form_errors(form, error.fields)
        else:
            messages.success(request, describe_saved(_("Webhook")))
            return redirect(_get_url("webhook", webhook))
    return _render_webhook(request, webhook, form)


@never_cache
@login_required
@require_POST
@sensitive_variables("secret")
def apply_webhook_action(
    request: HttpRequest, webhook_id: int, project_id: int | None = None
) -> HttpResponse:
    """Test, pause, resume or delete a webhook, replace its secret, or send a delivery again.

    ``do`` is test, pause, resume, delete, rotate or again; raises Http404 for anything else.
    ``project_id``: the project, None for a webhook of the site.
    """
    webhook = services.get_webhook(request.user, project_id, webhook_id)
    action = request.POST.get("do")
    by: Any = request.user
    try:
        if action == "rotate":
            secret = services.rotate_secret(webhook=webhook, by=by)
            form = WebhookForm(initial=_get_initial(webhook))
            return _render_webhook(request, webhook, form, secret=secret)
        if action == "test":
            services.send_test(webhook=webhook, by=by)
            messages.success(request, _("Sent. See the log."))
        elif action == "again":
            services.resend_delivery(delivery=_get_delivery(request, webhook), by=by)
            messages.success(request, _("Sent. See the log."))
        elif action in ("pause", "resume"):
            services.change_webhook(webhook=webhook, by=by, paused=action == "pause")
        elif action == "delete":
            services.delete_webhook(webhook=webhook, by=by)
            messages.success(request, _("Deleted."))
            return redirect(_get_list_url(webhook.project))
        else:
            raise Http404
    except services.InvalidWebhook as error:
        messages.error(request, " ".join(error.fields.values()))
    return redirect(_get_url("webhook", webhook))


def _get_initial(webhook: Webhook) -> dict[str, Any]:
    names = ("url", "format", "language", "kinds", "with_items")
    return {name: getattr(webhook, name) for name in names}


def _render_webhook(
    request: HttpRequest, webhook: Webhook, form: WebhookForm, *, secret: str = ""
) -> HttpResponse:
    deliveries = webhook.deliveries.select_related("event").order_by("-pk")
    page = Paginator(deliveries, tables.get_page_size(DELIVERIES_PER_PAGE)).get_page(
        request.GET.get("page")
    )
    context = {
        "project": webhook.project,
        "webhook": webhook,
        "form": form,
        "secret": secret,
        "page": page,
        "deliveries": [
            (
                delivery,
                [(attempt, ERROR_TEXTS.get(attempt["error"], "")) for attempt in delivery.log],
            )
            for delivery in page
        ],
        "address": _get_url("webhook", webhook),
        "action_address": _get_url("webhook_action", webhook),
        "list_address": _get_list_url(webhook.project),
    }
    status = 400 if form.errors else 200
    return render(request, "events/webhook.html", context, status=status)


def _get_delivery(request: HttpRequest, webhook: Webhook) -> Delivery:
    delivery_id = parse_id(request.POST.get("delivery"))
    if delivery_id is None:
        raise Http404
    return get_object_or_404(webhook.deliveries, pk=delivery_id)


def _get_url(name: str, webhook: Webhook) -> str:
    if webhook.project_id is None:
        return reverse(f"site_{name}", args=[webhook.pk])
    return reverse(name, args=[webhook.project_id, webhook.pk])


def _get_list_url(project: Project | None) -> str:
    return reverse("site_webhooks") if project is None else reverse("webhooks", args=[project.pk])
