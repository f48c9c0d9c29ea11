"""Tests of signing in by SAML.

The provider runs in this process and signs its responses with its own key; some tests forge
responses as an attacker would.
"""

from __future__ import annotations

import base64
import copy
import datetime
import re
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.socialaccount.models import SocialAccount
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from agreement_site import saml_metadata
from agreement_site.accounts import attempt_limits
from agreement_site.models import AuditLogEntry
from projects.models import Member, Project
from tests.cast import PASSWORD

SKIP_REASON = "requirements-extra.txt is not installed"
etree = pytest.importorskip("lxml.etree", reason=SKIP_REASON)
xmlsec = pytest.importorskip("xmlsec", reason=SKIP_REASON)
pytest.importorskip("onelogin.saml2", reason=SKIP_REASON)

pytestmark = pytest.mark.django_db

PROVIDER_ENTITY_ID = "https://id.example.org/saml"
SSO_URL = "https://id.example.org/sso"
SITE_URL = "http://testserver"
ACS, FINISH, METADATA = "/saml/acs/", "/saml/acs/finish/", "/saml/metadata/"
MAIL_ATTRIBUTE = "urn:oid:0.9.2342.19200300.100.1.3"
ASSERTION = "{urn:oasis:names:tc:SAML:2.0:assertion}"
PERSISTENT_FORMAT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
SIGNATURE = "{http://www.w3.org/2000/09/xmldsig#}Signature"


def create_key() -> tuple[bytes, bytes]:
    """Return a key and its certificate, as PEM."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "id.example.org")])
    start = datetime.datetime(2020, 1, 1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(start).not_valid_after(start.replace(year=2090))
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    certificate = builder.sign(key, hashes.SHA256())
    return pem, certificate.public_bytes(serialization.Encoding.PEM)


(KEY, CERTIFICATE), (OTHER_KEY, _OTHER_CERTIFICATE) = create_key(), create_key()

METADATA_XML = """<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"
 entityID="{issuer}"><md:IDPSSODescriptor
 protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><md:KeyDescriptor use="signing">
 <ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>{key}
 </ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor><md:SingleSignOnService
 Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="{enter}"/>
 </md:IDPSSODescriptor></md:EntityDescriptor>"""

RESPONSE = """<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"
 xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_r1" Version="2.0"
 IssueInstant="{now}" Destination="{destination}"{response_to}><saml:Issuer>{issuer}</saml:Issuer>
<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>
<saml:Assertion ID="_a1" Version="2.0" IssueInstant="{now}"><saml:Issuer>{issuer}</saml:Issuer>
<saml:Subject><saml:NameID Format="{name_format}">{uid}</saml:NameID>
<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">
<saml:SubjectConfirmationData Recipient="{recipient}"{until}{assertion_to}/>
</saml:SubjectConfirmation></saml:Subject>
<saml:Conditions NotBefore="{begin}" NotOnOrAfter="{end}">{audience}</saml:Conditions>
<saml:AuthnStatement AuthnInstant="{now}"><saml:AuthnContext><saml:AuthnContextClassRef
>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext>
</saml:AuthnStatement><saml:AttributeStatement>{attributes}</saml:AttributeStatement>
</saml:Assertion></samlp:Response>"""

SIGNED_INFO = """<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo>
<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>
<ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>
<ds:Reference URI="#_a1"><ds:Transforms>
<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/></ds:Transforms>
<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>YQ==
</ds:DigestValue></ds:Reference></ds:SignedInfo><ds:SignatureValue>YQ==</ds:SignatureValue>
</ds:Signature>"""


def build_metadata(
    certificate: bytes = CERTIFICATE, sso_url: str = SSO_URL, issuer: str = PROVIDER_ENTITY_ID
) -> str:
    """Return the metadata file of the provider."""
    certificate_text = "".join(certificate.decode().splitlines()[1:-1])
    return METADATA_XML.format(issuer=issuer, key=certificate_text, enter=sso_url)


def format_time_in(seconds: int) -> str:
    time = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class FakeSamlProvider:
    """Signed responses: ``parts`` replace valid ones, and ``forge`` changes the signed response.

    ``attributes``: several values of one are separated by "|".
    """

    uid: str = "u1"
    attributes: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    key: bytes = KEY
    sign: str = "saml:Assertion"
    digest: Any = xmlsec.constants.TransformSha256
    forge: Callable[[Any], None] = lambda answer: None

    def build_response(self, request_id: str) -> str:
        """Return the encoded response to a request."""
        attribute_statements = "".join(
            f'<saml:Attribute Name="{name}">'
            + "".join(
                f"<saml:AttributeValue>{value}</saml:AttributeValue>" for value in values.split("|")
            )
            + "</saml:Attribute>"
            for name, values in {"x": "y", **self.attributes}.items()
        )
        in_response_to = f' InResponseTo="{request_id}"'
        valid_parts = {
            "now": format_time_in(0),
            "begin": format_time_in(-60),
            "end": format_time_in(300),
            "until": f' NotOnOrAfter="{format_time_in(300)}"',
            "issuer": PROVIDER_ENTITY_ID,
            "destination": SITE_URL + ACS,
            "recipient": SITE_URL + ACS,
            "response_to": in_response_to,
            "assertion_to": in_response_to,
            "name_format": PERSISTENT_FORMAT,
            "audience": build_audience(SITE_URL + METADATA),
            "uid": self.uid,
            "attributes": attribute_statements,
        }
        root = etree.fromstring(RESPONSE.format(**valid_parts | self.parts).encode())
        if self.sign:
            self.add_signature(root)
        self.forge(root)
        return base64.b64encode(etree.tostring(root)).decode()

    def add_signature(self, root: Any) -> None:
        element = root if self.sign == "samlp:Response" else root.find(f"{ASSERTION}Assertion")
        xmlsec.tree.add_ids(element, ["ID"])
        signature = xmlsec.template.create(
            element, xmlsec.constants.TransformExclC14N, xmlsec.constants.TransformRsaSha256
        )
        element.insert(1, signature)  # after the issuer
        reference = xmlsec.template.add_reference(
            signature, self.digest, uri="#" + element.get("ID")
        )
        xmlsec.template.add_transform(reference, xmlsec.constants.TransformEnveloped)
        xmlsec.template.add_transform(reference, xmlsec.constants.TransformExclC14N)
        context = xmlsec.SignatureContext()
        context.key = xmlsec.Key.from_memory(self.key, xmlsec.constants.KeyDataFormatPem)
        context.sign(signature)


def build_audience(name: str) -> str:
    audience_element = f"<saml:Audience>{name}</saml:Audience>"
    return f"<saml:AudienceRestriction>{audience_element}</saml:AudienceRestriction>"


@pytest.fixture
def provider(settings: Any, tmp_path: Path) -> FakeSamlProvider:
    """Configure the site to use the provider of the tests."""
    file = tmp_path / "metadata.xml"
    file.write_text(build_metadata())
    settings.SAML_METADATA = str(file)
    app = saml_metadata.build_allauth_app(
        "University", saml_metadata.parse_provider_metadata(str(file))
    )
    settings.SOCIALACCOUNT_PROVIDERS = {"saml": {"APPS": [app]}}
    settings.SAML_NAME = "University"
    return FakeSamlProvider()


def start_sign_in(client: Client, **form: str) -> str:
    """Go to the provider and return the ID of the authentication request."""
    redirect = client.post("/saml/login/", form)
    assert redirect["Location"].startswith(SSO_URL + "?")
    [encoded] = parse_qs(urlsplit(redirect["Location"]).query)["SAMLRequest"]
    request = etree.fromstring(zlib.decompress(base64.b64decode(encoded), -15))
    assert request.get("AssertionConsumerServiceURL") == SITE_URL + ACS
    assert request.findtext(f"{ASSERTION}Issuer") == SITE_URL + METADATA
    return str(request.get("ID"))


def deliver_response(client: Client, saml_response: str) -> Any:
    """Post the response as a browser does: the form comes without the site's own cookie."""
    acs_response = Client(enforce_csrf_checks=True).post(ACS, {"SAMLResponse": saml_response})
    if acs_response.status_code != 302:
        return acs_response
    assert acs_response["Location"] == FINISH
    cookie = acs_response.cookies["saml-acs-session"]
    assert cookie["httponly"] and cookie["samesite"] == "Lax" and cookie["path"] == FINISH
    client.cookies["saml-acs-session"] = cookie.value
    page = client.get(FINISH)
    del client.cookies["saml-acs-session"]
    return page


def sign_in_by_provider(
    provider: FakeSamlProvider, client: Client | None = None, **form: str
) -> tuple[Client, Any]:
    """Go to the provider and back; return the client and the last response."""
    client = client or Client()
    return client, deliver_response(client, provider.build_response(start_sign_in(client, **form)))


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def connect_account(user: User, uid: str = "u1") -> None:
    SocialAccount.objects.create(user=user, provider="saml", uid=uid)


def test_without_a_provider_the_pages_are_not_found(client: Client, lead: User) -> None:
    for page in ("/saml/login/", ACS):
        assert client.post(page).status_code == 404
    for page in (METADATA, FINISH):
        assert client.get(page).status_code == 404
    assert "/saml/" not in client.get("/sign-in/").content.decode()


def test_metadata_of_the_site(provider: FakeSamlProvider, client: Client) -> None:
    document = etree.fromstring(client.get(METADATA).content)
    assert document.get("entityID") == SITE_URL + METADATA
    text = etree.tostring(document).decode()
    assert 'WantAssertionsSigned="true"' in text and SITE_URL + ACS in text
    assert "SingleLogoutService" not in text


def test_connected_account_signs_in_and_needs_a_second_factor(
    provider: FakeSamlProvider, lead: User, settings: Any
) -> None:
    connect_account(lead)
    assert "Sign in with University" in Client().get("/sign-in/").content.decode()
    client, page = sign_in_by_provider(provider, next="/tokens/")
    assert page["Location"] == "/tokens/"
    assert client.session["_auth_user_id"] == str(lead.pk)
    entry = AuditLogEntry.objects.get(action="sign_in")
    assert (entry.actor, entry.details) == ("lead", {"methods": ["socialaccount"]})
    settings.REQUIRE_SECOND_FACTOR = "everybody"
    settings.OIDC_SECOND_FACTOR = True  # applies to the other provider only
    assert client.get("/tokens/")["Location"] == "/account/second-factor/"
    settings.SAML_SECOND_FACTOR = True
    assert client.get("/tokens/").status_code == 200


def test_own_second_factor_is_requested(provider: FakeSamlProvider, lead: User) -> None:
    connect_account(lead)
    TOTP.activate(lead, generate_totp_secret())
    client, page = sign_in_by_provider(provider)
    assert page["Location"].startswith("/sign-in/second-factor/")
    assert not is_signed_in(client)
    assert client.get(page["Location"]).status_code == 200


def test_signature_of_the_response_alone_is_not_enough(
    provider: FakeSamlProvider, lead: User
) -> None:
    """The site requires a signed assertion."""
    connect_account(lead)
    provider.sign = "samlp:Response"
    assert not is_signed_in(sign_in_by_provider(provider)[0])


def copy_unsigned_assertion(response: Any) -> Any:
    """Return the assertion with the ID of another user, without a signature."""
    assertion = copy.deepcopy(response.find(f"{ASSERTION}Assertion"))
    assertion.remove(assertion.find(SIGNATURE))
    assertion.find(f"{ASSERTION}Subject/{ASSERTION}NameID").text = "u1"
    return assertion


def forge_in_place(response: Any) -> None:
    response.find(f".//{ASSERTION}NameID").text = "u1"


def forge_before(response: Any) -> None:
    forged = copy_unsigned_assertion(response)
    forged.set("ID", "_a2")
    response.insert(2, forged)


def forge_with_the_same_id(response: Any) -> None:
    response.insert(2, copy_unsigned_assertion(response))


def forge_around(response: Any) -> None:
    """Replace the signed assertion by a forged one, and move it into that one's signature."""
    signed = response.find(f"{ASSERTION}Assertion")
    forged = copy_unsigned_assertion(response)
    forged.set("ID", "_a2")
    signature = signed.find(SIGNATURE)
    response.replace(signed, forged)
    signed.remove(signature)
    forged.insert(1, signature)
    etree.SubElement(signature, SIGNATURE.replace("Signature", "Object")).append(signed)


def forge_in_extensions(response: Any) -> None:
    """Replace the signed assertion by a forged one, and move it into the extensions."""
    signed = response.find(f"{ASSERTION}Assertion")
    forged = copy_unsigned_assertion(response)
    forged.set("ID", "_a2")
    response.replace(signed, forged)
    extensions = etree.Element("{urn:oasis:names:tc:SAML:2.0:protocol}Extensions")
    response.insert(1, extensions)
    extensions.append(signed)


def forge_transform(response: Any) -> None:
    response.find(".//{*}Transform").set("Algorithm", "http://www.w3.org/TR/1999/REC-xslt-19991116")


def forge_reference(response: Any) -> None:
    response.find(".//{*}Reference").set("URI", "")


FORGERIES = [
    forge_in_place,
    forge_before,
    forge_with_the_same_id,
    forge_around,
    forge_in_extensions,
    forge_transform,
    forge_reference,
]


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda function: function.__name__)
def test_forged_assertion_does_not_sign_in(
    provider: FakeSamlProvider, lead: User, forge: Callable[[Any], None]
) -> None:
    """The attacker has the account u2 at the provider and tries to sign in as u1."""
    connect_account(lead)
    provider.uid, provider.forge = "u2", forge
    client, page = sign_in_by_provider(provider)
    assert (page.status_code, is_signed_in(client)) == (401, False)
    assert AuditLogEntry.objects.get(action="sign_in_failed").details["provider"] == "University"


@pytest.mark.parametrize(
    ("forge", "reason"), [(forge_transform, "transform"), (forge_reference, "exactly one element")]
)
def test_unsafe_signature_never_reaches_xmlsec(
    provider: FakeSamlProvider, forge: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xmlsec, "SignatureContext", None)
    request_id = "_q"
    provider.sign = ""
    unsigned = etree.fromstring(base64.b64decode(provider.build_response(request_id)))
    unsigned.find(f"{ASSERTION}Assertion").insert(1, etree.fromstring(SIGNED_INFO))
    forge(unsigned)
    deliver_response(Client(), base64.b64encode(etree.tostring(unsigned)).decode())
    assert reason in AuditLogEntry.objects.get(action="sign_in_failed").details["reason"]


EXPIRED_CONFIRMATION = {"until": f' NotOnOrAfter="{format_time_in(-3600)}"'}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sign": ""}, "not signed"),
        ({"key": OTHER_KEY}, "Signature validation failed"),
        ({"digest": xmlsec.constants.TransformSha1}, "Deprecated"),
        ({"parts": {"audience": build_audience("https://other.example")}}, "audience"),
        ({"parts": {"audience": ""}}, "audience"),
        ({"parts": {"issuer": "https://evil.example"}}, "issuer"),
        ({"parts": {"end": format_time_in(-3600)}}, "expired"),
        ({"parts": {"begin": format_time_in(3600)}}, "not yet valid"),
        ({"parts": EXPIRED_CONFIRMATION}, "SubjectConfirmation"),
        ({"parts": {"until": ""}}, "not for this request"),
        ({"parts": {"destination": "https://other.example/acs"}}, "received at"),
        ({"parts": {"recipient": "https://other.example/acs"}}, "SubjectConfirmation"),
        (
            {"parts": {"recipient": SITE_URL + ACS + "?x=" + SITE_URL + ACS}},
            "not for this request",
        ),
        ({"parts": {"response_to": "", "assertion_to": ""}}, "answers no request"),
        # A response to no request, wrapped as a response to the attacker's request.
        ({"parts": {"assertion_to": ""}}, "not for this request"),
        ({"parts": {"assertion_to": ' InResponseTo="_another"'}}, "SubjectConfirmation"),
        (
            {"parts": {"name_format": "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"}},
            "transient",
        ),
        ({"uid": ""}, "uid"),
        ({"uid": "u" * 300}, "UID"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_invalid_response_does_not_sign_in(
    provider: FakeSamlProvider, lead: User, changes: dict[str, Any], reason: str
) -> None:
    connect_account(lead)
    for name, value in changes.items():
        setattr(provider, name, value)
    client, page = sign_in_by_provider(provider)
    assert (page.status_code, is_signed_in(client)) == (401, False)
    assert "Sign-in failed" in page.content.decode()
    assert reason in AuditLogEntry.objects.get(action="sign_in_failed").details["reason"]


@pytest.mark.parametrize("response", ["", "!", "PGE+", base64.b64encode(b"<a/>").decode()])
def test_malformed_response_is_not_stored(provider: FakeSamlProvider, response: str) -> None:
    page = deliver_response(Client(), response)
    assert page.status_code == 401
    assert not Session.objects.exists()


def test_xml_entities_are_rejected(provider: FakeSamlProvider) -> None:
    document = b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'
    assert deliver_response(Client(), base64.b64encode(document).decode()).status_code == 401


def test_response_is_bound_to_its_browser_and_used_once(
    provider: FakeSamlProvider, lead: User
) -> None:
    connect_account(lead)
    client = Client()
    response = provider.build_response(start_sign_in(client))
    assert deliver_response(Client(), response).status_code == 401  # another browser
    assert deliver_response(client, response).status_code == 302
    assert is_signed_in(client)
    client.post("/sign-out/")
    assert deliver_response(client, response).status_code == 401
    start_sign_in(client)  # another request does not make it valid
    assert deliver_response(client, response).status_code == 401
    assert not is_signed_in(client)
    assert client.get(FINISH).status_code == 401
    assert AuditLogEntry.objects.filter(action="sign_in_failed").count() == 4


def test_number_of_recorded_failures_is_limited(
    provider: FakeSamlProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_limits, "MAX_ATTEMPTS_PER_NETWORK", 3)
    assert [deliver_response(Client(), "").status_code for _ in range(5)] == [
        401,
        401,
        401,
        429,
        429,
    ]
    assert AuditLogEntry.objects.filter(action="sign_in_failed").count() == 3


def test_unknown_user_is_not_signed_in(provider: FakeSamlProvider) -> None:
    client, page = sign_in_by_provider(provider)
    assert (page.status_code, is_signed_in(client)) == (200, False)
    assert "No account" in page.content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("name", "attributes", "signs_in"),
    [
        ("lead", {}, True),
        ("lead", {"email_verified": "false"}, False),
        ("admin", {}, False),
    ],
)
def test_address_may_match_an_account(
    provider: FakeSamlProvider,
    settings: Any,
    lead: User,
    admin: User,
    name: str,
    attributes: Any,
    signs_in: bool,
) -> None:
    User.objects.filter(username=name).update(email="Ada@example.org")
    provider.attributes = {MAIL_ATTRIBUTE: "ada@example.org", **attributes}
    settings.OIDC_ACCOUNTS = "matched"
    assert not is_signed_in(sign_in_by_provider(provider)[0])  # only when the site allows it
    settings.SAML_ACCOUNTS = "matched"
    assert is_signed_in(sign_in_by_provider(provider)[0]) == signs_in
    assert AuditLogEntry.objects.filter(action="sign_in_connected").exists() == signs_in


def test_account_is_created_when_allowed(provider: FakeSamlProvider, settings: Any) -> None:
    settings.SAML_ACCOUNTS = "created"
    provider.attributes = {"uid": "ada", MAIL_ATTRIBUTE: "ada@example.org", "givenName": "Ada"}
    assert sign_in_by_provider(provider)[1]["Location"] == "/"
    ada = User.objects.get(username="ada")
    assert (ada.is_staff, ada.has_usable_password(), ada.first_name) == (False, False, "Ada")
    entry: Any = AuditLogEntry.objects.get(action="account_created")
    assert (entry.actor, entry.after["provider"]) == ("ada", "University")


def test_groups_give_and_take_roles(
    provider: FakeSamlProvider, annotator: User, project: Project, settings: Any
) -> None:
    connect_account(annotator)
    settings.PROVIDER_GROUP_ROLES = [
        ("readers", project.pk, "viewer"),
        ("heads", project.pk, "lead"),
    ]
    roles = []
    for attributes in ({"groups": "others|heads"}, {"groups": "readers"}, {}, {"groups": "none"}):
        provider.attributes = attributes
        sign_in_by_provider(provider)
        member = Member.objects.filter(project=project, user=annotator).first()
        roles.append(member and member.role)
    assert roles == ["lead", "viewer", "viewer", None]


def test_user_connects_and_disconnects_own_account(
    provider: FakeSamlProvider, lead: User, viewer: User, settings: Any
) -> None:
    client, page = Client(), "/account/connected/"
    client.post("/sign-in/", {"username": "lead", "password": PASSWORD})
    assert "Connect University" in client.get(page).content.decode()
    sign_in_by_provider(provider, client, process="connect")
    account = SocialAccount.objects.get()
    assert (account.user, account.uid, account.provider) == (lead, "u1", "saml")
    text = client.get(page).content.decode()
    assert "u1 (University)" in text and "Connect University" not in text
    other_client = Client()
    other_client.post("/sign-in/", {"username": "viewer", "password": PASSWORD})
    sign_in_by_provider(provider, other_client, process="connect")  # it belongs to another user
    assert SocialAccount.objects.get().user == lead
    assert AuditLogEntry.objects.filter(action="sign_in_connected").count() == 1
    # The site switches to another provider: the page still shows the old account.
    settings.OIDC_SERVER_URL, settings.SAML_METADATA = "https://id.example.org", ""
    settings.SOCIALACCOUNT_PROVIDERS = {}
    assert "u1" in client.get(page).content.decode()
    assert client.post(page, {"account": account.pk}).status_code == 302
    assert AuditLogEntry.objects.filter(action="sign_in_disconnected", actor="lead").exists()


def test_confirmation_form_works_without_javascript(
    provider: FakeSamlProvider, client: Client
) -> None:
    page = client.get("/saml/login/")  # by a link: asks first
    assert page.status_code == 200 and "University" in page.content.decode()
    assert not re.search(r"<script(?![^>]*(src|json))", page.content.decode())


INVALID_METADATA = [
    ("no XML", "SAML_METADATA"),
    (build_metadata(sso_url="http://id.example.org/sso"), "https://"),
    (build_metadata(issuer=""), "entityID"),
    (build_metadata().replace("HTTP-Redirect", "HTTP-POST"), "HTTP-Redirect"),
    (
        re.sub("<md:KeyDescriptor.*</md:KeyDescriptor>", "", build_metadata(), flags=re.DOTALL),
        "signing",
    ),
    ("<a/>", "one provider"),
    ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "SAML_METADATA"),
]


@pytest.mark.parametrize(
    ("text", "reason"), INVALID_METADATA, ids=[reason for _, reason in INVALID_METADATA]
)
def test_incomplete_metadata_is_rejected(text: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "metadata.xml"
    file.write_text(text)
    with pytest.raises(ImproperlyConfigured, match=reason):
        saml_metadata.parse_provider_metadata(str(file))


def test_missing_metadata_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="No such file"):
        saml_metadata.parse_provider_metadata(str(tmp_path / "none.xml"))


def test_missing_saml_library_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onelogin.saml2.auth", None)
    with pytest.raises(ImproperlyConfigured, match=r"requirements-extra\.txt"):
        saml_metadata.parse_provider_metadata("metadata.xml")
