"""Views of the user's own API tokens."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from projects.forms.tokens import TokenForm
from projects.models import ApiToken
from projects.services import tokens


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("new_token")
def manage_tokens(request: HttpRequest) -> HttpResponse:
    """List the user's API tokens; a POST creates one and shows it once."""
    form = TokenForm(request.POST or None, request=request)
    new_token = ""
    if request.method == "POST" and form.is_valid():
        new_token = tokens.create_token(
            user=request.user,
            project=form.cleaned_data["project"],
            scope=form.cleaned_data["scope"],
            expires_at=form.get_expires_at(),
        )
        form = TokenForm(request=request)
    active_tokens = (
        ApiToken.objects.filter(user=request.user.pk, revoked_at=None)
        .select_related("project")
        .order_by("-pk")
    )
    context = {"form": form, "new_token": new_token, "tokens": active_tokens, "now": timezone.now()}
    by_provider = settings.OIDC_SERVER_URL or settings.SAML_METADATA
    context |= {"by_provider": by_provider, "with_mail": settings.SMTP_URL}
    status = 400 if form.errors else 200
    return render(request, "projects/tokens.html", context, status=status)


@login_required
@require_POST
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    """Revoke one of the user's own tokens."""
    if not tokens.revoke_tokens(ApiToken.objects.filter(pk=token_id, user=request.user.pk)):
        raise Http404
    messages.success(request, _("Revoked."))
    return redirect("tokens")
