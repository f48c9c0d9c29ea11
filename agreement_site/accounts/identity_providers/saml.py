"""Signing in by a SAML provider of the site's own (SAML_METADATA): what it is asked, and what of
its answer is believed. Whose account it then is, outside.py says.

Its answer comes as a form from another site, without the cookie of our session: ``acs`` looks at it
and keeps it, and sends the browser to ``finish``, which comes with the cookie and knows what this
browser asked.
"""

from __future__ import annotations

from typing import Any

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import complete_social_login, render_authentication_error
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base.views import BaseLoginView
from allauth.socialaccount.providers.saml.provider import SAMLProvider
from allauth.socialaccount.sessions import LoginSession
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

KEPT_AS = ("saml_acs_session", "saml-acs-session")  # attribute of the request, cookie
KEPT_SECONDS = 10 * 60
POST_BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
# All that SAML lets stand in a signature; others are programs, for xmlsec to run.
TRANSFORMS = {
    "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
    "http://www.w3.org/2001/10/xml-exc-c14n#",
    "http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
}


class Refused(Exception):
    """The answer is not believed: why, for the trail."""


class Provider(SAMLProvider):
    def redirect(
        self,
        request: HttpRequest,
        process: str,
        next_url: str | None = None,
        data: Any = None,
        **kwargs: Any,
    ) -> HttpResponse:
        from onelogin.saml2.auth import OneLogin_Saml2_Auth

        question = OneLogin_Saml2_Auth(_received_at(request), self.config(request))
        address = question.login(return_to="")
        number = question.get_last_request_id()
        self.stash_redirect_state(request, process, next_url, data, state_id=number, **kwargs)
        return HttpResponseRedirect(address)

    def config(self, request: HttpRequest) -> dict[str, Any]:
        """Ours and the provider's part, as python3-saml wants them."""
        acs = {"url": request.build_absolute_uri(reverse("saml_acs")), "binding": POST_BINDING}
        return {
            "strict": True,
            "idp": self.app.settings["idp"],
            "sp": {
                "entityId": request.build_absolute_uri(reverse("saml_metadata")),
                "assertionConsumerService": acs,
            },
            "security": {
                "wantAssertionsSigned": True,
                "rejectDeprecatedAlgorithm": True,
                "requestedAuthnContext": False,  # how people show who they are is its business
                "wantAttributeStatement": False,
                "wantNameId": False,
                "allowRepeatAttributeName": True,
                "allowSingleLabelDomains": True,
            },
        }

    def extract_uid(self, data: Any) -> str:
        uid = super().extract_uid(data)
        if uid == data.get_nameid() and data.get_nameid_format() == TRANSIENT:
            raise Refused("a transient NameID is another one each time")
        return str(uid or "")

    def extract_common_fields(self, data: Any) -> dict[str, Any]:
        """An address is as good as all that the provider signs, unless it says otherwise."""
        return {"email_verified": True, **super().extract_common_fields(data)}


def provider(request: HttpRequest) -> Provider:
    if not settings.SAML_METADATA:
        raise Http404
    return Provider(request, app=get_adapter().get_app(request, provider="saml"))


def believed(by: Provider, request: HttpRequest, sent: str) -> Any:
    """What the provider says, or Refused."""
    from onelogin.saml2.errors import OneLogin_Saml2_Error, OneLogin_Saml2_ValidationError
    from onelogin.saml2.response import OneLogin_Saml2_Response
    from onelogin.saml2.settings import OneLogin_Saml2_Settings

    config = by.config(request)
    known = OneLogin_Saml2_Settings(config)
    try:
        answer = OneLogin_Saml2_Response(known, sent)
        _simply_signed(answer)
        if not answer.is_valid(_received_at(request)):
            raise Refused(answer.get_error())
        _meant_for_us(answer, config["sp"])
    except (
        OneLogin_Saml2_Error,
        OneLogin_Saml2_ValidationError,
        SyntaxError,  # that of XML
        TypeError,  # nothing at all
        ValueError,
    ) as error:
        raise Refused(str(error)) from error
    return answer


def _received_at(request: HttpRequest) -> dict[str, Any]:
    """Where answers come to, whichever of the two views looks at one."""
    return {
        "https": "on" if request.is_secure() else "off",
        "http_host": request.get_host(),
        "script_name": "",
        "path_info": reverse("saml_acs"),
        "get_data": {},
        "post_data": {},
    }


def _simply_signed(answer: Any) -> None:
    """Before xmlsec sees it."""
    from onelogin.saml2.xml_utils import OneLogin_Saml2_XML as Xml

    for one in Xml.query(answer.document, "//ds:Transform"):
        if one.get("Algorithm") not in TRANSFORMS:
            raise Refused("a transform that SAML does not know")
    for one in Xml.query(answer.document, "//ds:SignedInfo"):
        if len(Xml.query(one, "./ds:Reference[starts-with(@URI, '#')]")) != 1:
            raise Refused("a signature is of one element")


def _meant_for_us(answer: Any, ours: dict[str, Any]) -> None:
    """python3-saml compares what is said. Here it has to be said, inside of what is signed: else
    an answer to somebody else's question, or to none, is wrapped as one to ours."""
    from onelogin.saml2.utils import OneLogin_Saml2_Utils as Utils
    from onelogin.saml2.xml_utils import OneLogin_Saml2_XML as Xml

    number = answer.get_in_response_to()
    if not number:
        raise Refused("nobody here asked for it")
    # There is one assertion in all of the document, and it is signed.
    confirmations = Xml.query(answer.document, "//saml:Assertion//saml:SubjectConfirmation")
    for one in confirmations:
        data = one.find("saml:SubjectConfirmationData", namespaces=one.nsmap | NAMES)
        told = {} if data is None else data.attrib
        until = told.get("NotOnOrAfter")
        if (
            one.get("Method") != BEARER
            or told.get("InResponseTo") != number
            or told.get("Recipient") != ours["assertionConsumerService"]["url"]
            or not until
            or Utils.parse_SAML_to_time(until) <= Utils.now()
        ):
            raise Refused("the assertion is not for this question, this address and now")
    if not confirmations or ours["entityId"] not in answer.get_audiences():
        raise Refused("the assertion names no audience, or another one")


NAMES = {"saml": "urn:oasis:names:tc:SAML:2.0:assertion"}


class SignIn(BaseLoginView):
    def get_provider(self) -> Provider:
        return provider(self.request)


@csrf_exempt  # it comes from another site; `finish` asks whether this browser wanted it
@require_POST
def acs(request: HttpRequest) -> HttpResponse:
    by, sent = provider(request), request.POST.get("SAMLResponse", "")
    try:
        believed(by, request, sent)  # strangers fill no sessions
    except Refused as error:
        return render_authentication_error(request, by, exception=error)
    answer = redirect("saml_finish_acs")
    kept = LoginSession(request, *KEPT_AS)
    kept.store["response"] = sent
    kept.store.set_expiry(KEPT_SECONDS)
    kept.save(answer)
    answer.cookies[KEPT_AS[1]]["httponly"] = True
    return answer


@require_safe
def finish(request: HttpRequest) -> HttpResponse:
    by = provider(request)
    kept = LoginSession(request, *KEPT_AS)
    sent = kept.store.get("response", "")
    kept.delete()
    try:
        return complete_social_login(request, _login(by, request, sent))
    except (Refused, PermissionDenied) as error:
        return render_authentication_error(request, by, exception=error)


def _login(by: Provider, request: HttpRequest, sent: str) -> SocialLogin:
    """Raises Refused, and PermissionDenied where this browser did not ask, or has had its
    answer."""
    said = believed(by, request, sent)
    state = by.unstash_redirect_state(request, said.get_in_response_to())
    try:
        login = by.sociallogin_from_response(request, said)
    except (ImproperlyConfigured, ValueError) as error:  # no name for the person, or a long one
        raise Refused(str(error)) from error
    login.state = state
    return login


@require_safe
def metadata(request: HttpRequest) -> HttpResponse:
    by = provider(request)
    from onelogin.saml2.settings import OneLogin_Saml2_Settings

    ours = OneLogin_Saml2_Settings(by.config(request), sp_validation_only=True)
    return HttpResponse(ours.get_sp_metadata(), content_type="application/samlmetadata+xml")
