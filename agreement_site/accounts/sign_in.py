"""Signing in and out, and choosing a password: Django's own views under our addresses and
templates."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import views
from django.contrib.messages.views import SuccessMessageMixin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from . import sign_in_limit


class InvalidIs400:
    """A form that is not valid comes back with status 400, as on every page of the site."""

    def form_invalid(self, form: Any) -> HttpResponse:
        view: Any = self
        return view.render_to_response(view.get_context_data(form=form), status=400)


class SignIn(InvalidIs400, views.LoginView):
    """One answer to an unknown name, a wrong password and a closed account; the session is new
    after each sign-in."""

    template_name = "registration/sign_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        wait = sign_in_limit.count_try(
            request.POST.get("username", "")[:150], sign_in_limit.address_of(request)
        )
        if wait:
            minutes = -(-wait // 60)
            answer = render(
                request, "registration/too_many_tries.html", {"minutes": minutes}, status=429
            )
            answer["Retry-After"] = str(wait)
            return answer
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        sign_in_limit.clear(
            form.cleaned_data["username"][:150], sign_in_limit.address_of(self.request)
        )
        return super().form_valid(form)


class ChangePassword(InvalidIs400, SuccessMessageMixin, views.PasswordChangeView):
    template_name = "registration/change_password.html"
    success_url = reverse_lazy("tokens")
    success_message = gettext_lazy(
        "Your password is changed. Every other session of yours has ended."
    )


class Invitation(InvalidIs400, SuccessMessageMixin, views.PasswordResetConfirmView):
    """A one-time link: whoever opens it chooses the password of a new account and is signed in."""

    template_name = "registration/invitation.html"
    success_url = "/"
    success_message = gettext_lazy("Welcome. Your password is set and you are signed in.")
    post_reset_login = True


def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """The admin's own sign-in page is not shown: there is one door, and it counts tries."""
    if request.user.is_authenticated:
        raise PermissionDenied(_("The admin is open to staff accounts only."))
    following = request.GET.get("next") or reverse("admin:index")
    return redirect(f"{reverse('sign_in')}?{urlencode({'next': following})}")
