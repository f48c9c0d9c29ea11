"""Password reset and e-mail address confirmation by mail.

Without SMTP_URL these pages answer with 404.
"""

from __future__ import annotations

import contextvars
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from allauth.account import views
from django.conf import settings
from django.contrib import messages
from django.db import connection, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils.translation import gettext as _

from agreement_site.models import PasswordChangeRequired
from core import security_log
from core.web.forms import InvalidFormStatusMixin
from projects.models import ApiToken
from projects.services import tokens

from . import attempt_limits

logger = logging.getLogger(__name__)
# In this process, because the link in the mail is a secret that no queue should keep.
_MAIL_THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="reset-mail")


class MailRequiredMixin:
    """Answer with 404 on a site that cannot send mail."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not settings.SMTP_URL:
            raise Http404
        view: Any = super()
        return view.dispatch(request, *args, **kwargs)


class RequestPasswordReset(MailRequiredMixin, InvalidFormStatusMixin, views.PasswordResetView):
    """Send a reset link.

    The response and its time are the same whether or not an account has the address.
    """

    def form_valid(self, form: Any) -> HttpResponse:
        email = form.cleaned_data["email"]
        email_hash = security_log.hash_username(email)
        wait_seconds = attempt_limits.count_network_attempt_and_get_wait(
            security_log.get_client_address(self.request)
        )
        attempt_limits.raise_if_limited(wait_seconds, name_sha256=email_hash)
        attempt_limits.raise_if_limited(
            attempt_limits.count_mail_and_get_wait(email), name_sha256=email_hash
        )
        security_log.log_event("password_forgotten", name_sha256=email_hash)
        # A mail server takes long enough to show which addresses have an account.
        _MAIL_THREADS.submit(contextvars.copy_context().run, _send_reset_mail, form, self.request)
        return redirect(self.get_success_url())


def _send_reset_mail(form: Any, request: HttpRequest) -> None:
    """Create and send the mail, if the address has an account, in a thread after the response."""
    try:
        form.save(request)
    except Exception:
        logger.exception("A mail could not be sent")
    finally:
        connection.close()


class PasswordResetRequested(MailRequiredMixin, views.PasswordResetDoneView):
    pass


class ResetPassword(MailRequiredMixin, InvalidFormStatusMixin, views.PasswordResetFromKeyView):
    """Set a new password by the mailed link, which works once.

    A user with a second factor still needs it to sign in.
    """

    success_url = reverse_lazy("sign_in")

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        tokens.revoke_tokens(ApiToken.objects.filter(user=self.reset_user.pk))
        PasswordChangeRequired.objects.filter(user=self.reset_user.pk).delete()
        security_log.log_event("password_reset", by=self.reset_user.pk)
        messages.success(self.request, _("Password saved. You can sign in now."))
        response: HttpResponse = super().form_valid(form)
        return response


class ChangeEmailAddress(MailRequiredMixin, InvalidFormStatusMixin, views.EmailView):
    """Change the account's only e-mail address; a new one takes effect once it is confirmed."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not request.user.is_authenticated:
            return redirect(f"{settings.LOGIN_URL}")
        if request.method == "POST":
            wait_seconds = attempt_limits.count_mail_and_get_wait(
                f"to confirm of {request.user.pk}"
            )
            attempt_limits.raise_if_limited(wait_seconds, target_user_id=request.user.pk)
        return super().dispatch(request, *args, **kwargs)


class ConfirmEmailAddress(MailRequiredMixin, views.ConfirmEmailView):
    @transaction.atomic
    def post(self, *args: Any, **kwargs: Any) -> Any:
        response = super().post(*args, **kwargs)
        email_address = self.object.email_address
        security_log.log_event(
            "email_confirmed", by=email_address.user_id, after={"email": email_address.email}
        )
        messages.success(self.request, _("Email address confirmed."))
        return response
