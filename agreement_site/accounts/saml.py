"""Sign-in by the site's SAML provider: the request, and the validation of the response.

identity_providers.py decides whose account a valid response opens. The response arrives as a form
post from another site, without our session cookie: ``receive_saml_response`` checks and stores it,
then redirects to ``finish_sign_in``, which gets the cookie and knows the requests of this browser.
"""

from __future__ import annotations

from collections.abc import Mapping
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

ACS_SESSION_NAMES = ("saml_acs_session", "saml-acs-session")  # request attribute, cookie name
ACS_SESSION_SECONDS = 10 * 60
POST_BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
# The transforms that SAML allows in a signature. xmlsec would execute others, such as XSLT.
TRANSFORMS = {
    "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
    "http://www.w3.org/2001/10/xml-exc-c14n#",
    "http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
}


class InvalidSamlResponse(Exception):
    """The provider's response is not valid; the message is the reason for the audit log."""


class ConcordSAMLProvider(SAMLProvider):
    def redirect(
        self,
        request: HttpRequest,
        process: str,
        next_url: str | None = None,
        data: Any = None,
        **kwargs: Any,
    ) -> HttpResponse:
        from onelogin.saml2.auth import OneLogin_Saml2_Auth

        auth = OneLogin_Saml2_Auth(_build_acs_request(request), self.build_config(request))
        url = auth.login(return_to="")
        request_id = auth.get_last_request_id()
        self.stash_redirect_state(request, process, next_url, data, state_id=request_id, **kwargs)
        return HttpResponseRedirect(url)

    def build_config(self, request: HttpRequest) -> dict[str, Any]:
        """Return the settings of this site and the provider, as python3-saml expects them."""
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
                "requestedAuthnContext": False,  # the provider decides how users authenticate
                "wantAttributeStatement": False,
                "wantNameId": False,
                "allowRepeatAttributeName": True,
                "allowSingleLabelDomains": True,
            },
        }

    def extract_uid(self, data: Any) -> str:
        uid = super().extract_uid(data)
        if uid == data.get_nameid() and data.get_nameid_format() == TRANSIENT:
            raise InvalidSamlResponse("a transient NameID changes with each sign-in")
        return str(uid or "")

    def extract_common_fields(self, data: Any) -> dict[str, Any]:
        """Return the user's fields.

        A signed address counts as verified unless the provider denies it.
        """
        return {"email_verified": True, **super().extract_common_fields(data)}


def get_saml_provider(request: HttpRequest) -> ConcordSAMLProvider:
    """Return the configured provider. Raises Http404 where there is none."""
    if not settings.SAML_METADATA:
        raise Http404
    return ConcordSAMLProvider(request, app=get_adapter().get_app(request, provider="saml"))


def validate_response(
    provider: ConcordSAMLProvider, request: HttpRequest, encoded_response: str
) -> Any:
    """Return the parsed SAML response of the provider after verifying it.

    ``encoded_response``: in base64, as it was posted. Raises InvalidSamlResponse if it is
    malformed, its signature or recipient is wrong, or it does not answer this request.
    """
    from onelogin.saml2.errors import OneLogin_Saml2_Error, OneLogin_Saml2_ValidationError
    from onelogin.saml2.response import OneLogin_Saml2_Response
    from onelogin.saml2.settings import OneLogin_Saml2_Settings

    config = provider.build_config(request)
    saml_settings = OneLogin_Saml2_Settings(config)
    try:
        response = OneLogin_Saml2_Response(saml_settings, encoded_response)
        _validate_signature_form(response)
        if not response.is_valid(_build_acs_request(request)):
            raise InvalidSamlResponse(response.get_error())
        _validate_recipient(response, config["sp"])
    except (
        OneLogin_Saml2_Error,
        OneLogin_Saml2_ValidationError,
        SyntaxError,  # malformed XML
        TypeError,  # an empty response
        ValueError,
    ) as error:
        raise InvalidSamlResponse(str(error)) from error
    return response


def _build_acs_request(request: HttpRequest) -> dict[str, object]:
    """Build python3-saml's description of a request to the ACS URL, whatever URL was requested."""
    return {
        "https": "on" if request.is_secure() else "off",
        "http_host": request.get_host(),
        "script_name": "",
        "path_info": reverse("saml_acs"),
        "get_data": {},
        "post_data": {},
    }


def _validate_signature_form(response: Any) -> None:
    """Raise InvalidSamlResponse for unusual signatures, before xmlsec processes them."""
    from onelogin.saml2.xml_utils import OneLogin_Saml2_XML as Xml

    for element in Xml.query(response.document, "//ds:Transform"):
        if element.get("Algorithm") not in TRANSFORMS:
            raise InvalidSamlResponse("the signature has a transform that SAML does not allow")
    for element in Xml.query(response.document, "//ds:SignedInfo"):
        if len(Xml.query(element, "./ds:Reference[starts-with(@URI, '#')]")) != 1:
            raise InvalidSamlResponse("a signature must refer to exactly one element")


def _validate_recipient(response: Any, sp_config: Mapping[str, Any]) -> None:
    """Raise InvalidSamlResponse unless the assertion answers a request of this site in time.

    python3-saml compares InResponseTo, Recipient and NotOnOrAfter only if they are present. Here
    the signed assertion must contain them: otherwise an attacker could put an assertion that
    answers another request, or none, into a response to a request of this site.
    """
    from onelogin.saml2.utils import OneLogin_Saml2_Utils as Utils
    from onelogin.saml2.xml_utils import OneLogin_Saml2_XML as Xml

    request_id = response.get_in_response_to()
    if not request_id:
        raise InvalidSamlResponse("the response answers no request")
    # The document has exactly one assertion, and it is signed.
    confirmations = Xml.query(response.document, "//saml:Assertion//saml:SubjectConfirmation")
    for confirmation in confirmations:
        data = confirmation.find(
            "saml:SubjectConfirmationData", namespaces=confirmation.nsmap | XML_NAMESPACES
        )
        attributes = {} if data is None else data.attrib
        not_on_or_after = attributes.get("NotOnOrAfter")
        if (
            confirmation.get("Method") != BEARER
            or attributes.get("InResponseTo") != request_id
            or attributes.get("Recipient") != sp_config["assertionConsumerService"]["url"]
            or not not_on_or_after
            or Utils.parse_SAML_to_time(not_on_or_after) <= Utils.now()
        ):
            raise InvalidSamlResponse(
                "the assertion is not for this request, this URL and this time"
            )
    if not confirmations or sp_config["entityId"] not in response.get_audiences():
        raise InvalidSamlResponse("the assertion names no audience, or another one")


XML_NAMESPACES = {"saml": "urn:oasis:names:tc:SAML:2.0:assertion"}


class SamlSignIn(BaseLoginView):
    def get_provider(self) -> ConcordSAMLProvider:
        return get_saml_provider(self.request)


@csrf_exempt  # posted by another site; finish_sign_in checks that this browser made the request
@require_POST
def receive_saml_response(request: HttpRequest) -> HttpResponse:
    """Store the provider's response (assertion consumer service); redirect to finish_sign_in."""
    provider, encoded_response = get_saml_provider(request), request.POST.get("SAMLResponse", "")
    try:
        validate_response(
            provider, request, encoded_response
        )  # invalid responses must not create sessions
    except InvalidSamlResponse as error:
        return render_authentication_error(request, provider, exception=error)
    response = redirect("saml_finish_acs")
    login_session = LoginSession(request, *ACS_SESSION_NAMES)
    login_session.store["response"] = encoded_response
    login_session.store.set_expiry(ACS_SESSION_SECONDS)
    login_session.save(response)
    response.cookies[ACS_SESSION_NAMES[1]]["httponly"] = True
    return response


@require_safe
def finish_sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in with the response that ``receive_saml_response`` stored."""
    provider = get_saml_provider(request)
    login_session = LoginSession(request, *ACS_SESSION_NAMES)
    encoded_response = login_session.store.get("response", "")
    login_session.delete()
    try:
        return complete_social_login(request, _build_login(provider, request, encoded_response))
    except (InvalidSamlResponse, PermissionDenied) as error:
        return render_authentication_error(request, provider, exception=error)


def _build_login(
    provider: ConcordSAMLProvider, request: HttpRequest, encoded_response: str
) -> SocialLogin:
    """Return the login of a valid response, with the state of the request that it answers.

    Raises InvalidSamlResponse, and PermissionDenied if this browser made no such request or has
    already used its response.
    """
    response = validate_response(provider, request, encoded_response)
    state = provider.unstash_redirect_state(request, response.get_in_response_to())
    try:
        login = provider.sociallogin_from_response(request, response)
    except (ImproperlyConfigured, ValueError) as error:  # the user ID is missing or too long
        raise InvalidSamlResponse(str(error)) from error
    login.state = state
    return login


@require_safe
def serve_metadata(request: HttpRequest) -> HttpResponse:
    """Return this site's SAML metadata (service provider)."""
    provider = get_saml_provider(request)
    from onelogin.saml2.settings import OneLogin_Saml2_Settings

    saml_settings = OneLogin_Saml2_Settings(provider.build_config(request), sp_validation_only=True)
    return HttpResponse(
        saml_settings.get_sp_metadata(), content_type="application/samlmetadata+xml"
    )
