"""What needs mail: a forgotten password, and confirming an address. Without SMTP_URL there are no
such pages."""

from __future__ import annotations

from typing import Any

from allauth.account import views
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils.translation import gettext as _

from agreement_site.models import KnownPassword
from core import security_log
from projects import authentication
from projects.models import ApiToken

from . import sign_in_limit
from .mixins import InvalidIs400


class WithMail:
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not settings.SMTP_URL:
            raise Http404
        view: Any = super()
        return view.dispatch(request, *args, **kwargs)


class Forgotten(WithMail, InvalidIs400, views.PasswordResetView):
    """One answer, whether an account has the address or not."""

    def form_valid(self, form: Any) -> HttpResponse:
        address = form.cleaned_data["email"]
        name = security_log.unproved(address)
        asked = sign_in_limit.count_address(security_log.address_of(self.request))
        sign_in_limit.refuse_too_many(asked, name_sha256=name)
        sign_in_limit.refuse_too_many(sign_in_limit.count_mail(address), name_sha256=name)
        security_log.event("password_forgotten", name_sha256=name)
        answer: HttpResponse = super().form_valid(form)
        return answer


class ForgottenSent(WithMail, views.PasswordResetDoneView):
    pass


class NewPassword(WithMail, InvalidIs400, views.PasswordResetFromKeyView):
    """The mailed link, once. Whoever has it still needs the second factor."""

    success_url = reverse_lazy("sign_in")

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        authentication.revoke(ApiToken.objects.filter(user=self.reset_user.pk))
        KnownPassword.objects.filter(user=self.reset_user.pk).delete()
        security_log.event("password_reset", by=self.reset_user.pk)
        messages.success(self.request, _("Your password is set. Sign in with it."))
        answer: HttpResponse = super().form_valid(form)
        return answer


class Address(WithMail, InvalidIs400, views.EmailView):
    """The account's one address; another one counts from when it is confirmed."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not request.user.is_authenticated:
            return redirect(f"{settings.LOGIN_URL}")
        if request.method == "POST":
            wait = sign_in_limit.count_mail(f"to confirm of {request.user.pk}")
            sign_in_limit.refuse_too_many(wait, who=request.user.pk)
        return super().dispatch(request, *args, **kwargs)


class Confirm(WithMail, views.ConfirmEmailView):
    @transaction.atomic
    def post(self, *args: Any, **kwargs: Any) -> Any:
        answer = super().post(*args, **kwargs)
        address = self.object.email_address
        security_log.event("email_confirmed", by=address.user_id, after={"email": address.email})
        messages.success(self.request, _("Your address is confirmed."))
        return answer
