"""One's own API tokens."""

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

from projects import authentication
from projects.forms.members import TokenForm
from projects.models import ApiToken


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("made")
def own_tokens(request: HttpRequest) -> HttpResponse:
    """The list of one's tokens; a POST makes one and shows it this one time."""
    form = TokenForm(request.POST or None, request=request)
    made = ""
    if request.method == "POST" and form.is_valid():
        made = authentication.create(
            user=request.user,
            project=form.cleaned_data["project"],
            scope=form.cleaned_data["scope"],
            expires_at=form.expires_at(),
        )
        form = TokenForm(request=request)
    own = (
        ApiToken.objects.filter(user=request.user.pk, revoked_at=None)
        .select_related("project")
        .order_by("-pk")
    )
    context = {"form": form, "made": made, "tokens": own, "now": timezone.now()}
    by_provider = settings.OIDC_SERVER_URL or settings.SAML_METADATA
    context |= {"by_provider": by_provider, "with_mail": settings.SMTP_URL}
    status = 400 if form.errors else 200
    return render(request, "projects/tokens.html", context, status=status)


@login_required
@require_POST
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    if not authentication.revoke(ApiToken.objects.filter(pk=token_id, user=request.user.pk)):
        raise Http404
    messages.success(request, _("The token is revoked: from now on it opens nothing."))
    return redirect("tokens")
