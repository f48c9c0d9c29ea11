"""Signing in by a SAML provider: one in this process, which signs its answers with a key of its
own, and answers as an attacker would."""

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
from agreement_site.accounts import sign_in_limit
from agreement_site.models import TrailLine
from tests.cast import PASSWORD

WHY = "requirements-extra.txt is not installed"
etree = pytest.importorskip("lxml.etree", reason=WHY)
xmlsec = pytest.importorskip("xmlsec", reason=WHY)
pytest.importorskip("onelogin.saml2", reason=WHY)

pytestmark = pytest.mark.django_db

ISSUER = "https://id.example.org/saml"
ENTER = "https://id.example.org/sso"
SITE = "http://testserver"
ACS, FINISH, METADATA = "/saml/acs/", "/saml/acs/finish/", "/saml/metadata/"
MAIL = "urn:oid:0.9.2342.19200300.100.1.3"
ASSERTION = "{urn:oasis:names:tc:SAML:2.0:assertion}"
PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
SIGNATURE = "{http://www.w3.org/2000/09/xmldsig#}Signature"


def make_key() -> tuple[bytes, bytes]:
    """A key, and its certificate, as PEM."""
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
    made = builder.sign(key, hashes.SHA256())
    return pem, made.public_bytes(serialization.Encoding.PEM)


(KEY, CERTIFICATE), (OTHER_KEY, _OTHER) = make_key(), make_key()

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


def metadata(key: bytes = CERTIFICATE, enter: str = ENTER, issuer: str = ISSUER) -> str:
    plain = "".join(key.decode().splitlines()[1:-1])
    return METADATA_XML.format(issuer=issuer, key=plain, enter=enter)


def in_seconds(seconds: int) -> str:
    when = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Provider:
    """What it says. ``parts`` stand in place of right ones; ``forge`` gets the signed answer."""

    uid: str = "u1"
    attributes: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    key: bytes = KEY
    sign: str = "saml:Assertion"
    digest: Any = xmlsec.constants.TransformSha256
    forge: Callable[[Any], None] = lambda answer: None

    def answer(self, question: str) -> str:
        told = "".join(
            f'<saml:Attribute Name="{name}"><saml:AttributeValue>{value}</saml:AttributeValue>'
            "</saml:Attribute>"
            for name, value in {"x": "y", **self.attributes}.items()
        )
        asked = f' InResponseTo="{question}"'
        right = {
            "now": in_seconds(0),
            "begin": in_seconds(-60),
            "end": in_seconds(300),
            "until": f' NotOnOrAfter="{in_seconds(300)}"',
            "issuer": ISSUER,
            "destination": SITE + ACS,
            "recipient": SITE + ACS,
            "response_to": asked,
            "assertion_to": asked,
            "name_format": PERSISTENT,
            "audience": audience(SITE + METADATA),
            "uid": self.uid,
            "attributes": told,
        }
        root = etree.fromstring(RESPONSE.format(**right | self.parts).encode())
        if self.sign:
            self.put_signature(root)
        self.forge(root)
        return base64.b64encode(etree.tostring(root)).decode()

    def put_signature(self, root: Any) -> None:
        signed = root if self.sign == "samlp:Response" else root.find(f"{ASSERTION}Assertion")
        xmlsec.tree.add_ids(signed, ["ID"])
        where = xmlsec.template.create(
            signed, xmlsec.constants.TransformExclC14N, xmlsec.constants.TransformRsaSha256
        )
        signed.insert(1, where)  # after the issuer
        made = xmlsec.template.add_reference(where, self.digest, uri="#" + signed.get("ID"))
        xmlsec.template.add_transform(made, xmlsec.constants.TransformEnveloped)
        xmlsec.template.add_transform(made, xmlsec.constants.TransformExclC14N)
        context = xmlsec.SignatureContext()
        context.key = xmlsec.Key.from_memory(self.key, xmlsec.constants.KeyDataFormatPem)
        context.sign(where)


def audience(name: str) -> str:
    inside = f"<saml:Audience>{name}</saml:Audience>"
    return f"<saml:AudienceRestriction>{inside}</saml:AudienceRestriction>"


@pytest.fixture
def provider(settings: Any, tmp_path: Path) -> Provider:
    file = tmp_path / "metadata.xml"
    file.write_text(metadata())
    settings.SAML_METADATA = str(file)
    app = saml_metadata.build_app("University", saml_metadata.read_provider(str(file)))
    settings.SOCIALACCOUNT_PROVIDERS = {"saml": {"APPS": [app]}}
    settings.SAML_NAME = "University"
    return Provider()


def ask(client: Client, **form: str) -> str:
    """To the provider: the number of the question that it reads."""
    away = client.post("/saml/login/", form)
    assert away["Location"].startswith(ENTER + "?")
    [packed] = parse_qs(urlsplit(away["Location"]).query)["SAMLRequest"]
    asked = etree.fromstring(zlib.decompress(base64.b64decode(packed), -15))
    assert asked.get("AssertionConsumerServiceURL") == SITE + ACS
    assert asked.findtext(f"{ASSERTION}Issuer") == SITE + METADATA
    return str(asked.get("ID"))


def bring(client: Client, answer: str) -> Any:
    """Back from it, as a browser does: the form comes without the site's own cookie."""
    came = Client(enforce_csrf_checks=True).post(ACS, {"SAMLResponse": answer})
    if came.status_code != 302:
        return came
    assert came["Location"] == FINISH
    cookie = came.cookies["saml-acs-session"]
    assert cookie["httponly"] and cookie["samesite"] == "Lax" and cookie["path"] == FINISH
    client.cookies["saml-acs-session"] = cookie.value
    page = client.get(FINISH)
    del client.cookies["saml-acs-session"]
    return page


def come(provider: Provider, client: Client | None = None, **form: str) -> tuple[Client, Any]:
    client = client or Client()
    return client, bring(client, provider.answer(ask(client, **form)))


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def connected(user: User, uid: str = "u1") -> None:
    SocialAccount.objects.create(user=user, provider="saml", uid=uid)


def test_without_a_provider_there_are_no_such_pages(client: Client, lead: User) -> None:
    for page in ("/saml/login/", ACS):
        assert client.post(page).status_code == 404
    for page in (METADATA, FINISH):
        assert client.get(page).status_code == 404
    assert "/saml/" not in client.get("/sign-in/").content.decode()


def test_the_provider_is_told_who_we_are(provider: Provider, client: Client) -> None:
    told = etree.fromstring(client.get(METADATA).content)
    assert told.get("entityID") == SITE + METADATA
    text = etree.tostring(told).decode()
    assert 'WantAssertionsSigned="true"' in text and SITE + ACS in text
    assert "SingleLogoutService" not in text


def test_a_connected_account_comes_in_and_its_second_factor_is_asked(
    provider: Provider, lead: User, settings: Any
) -> None:
    connected(lead)
    assert "Sign in with University" in Client().get("/sign-in/").content.decode()
    client, page = come(provider, next="/tokens/")
    assert page["Location"] == "/tokens/"
    assert client.session["_auth_user_id"] == str(lead.pk)
    line = TrailLine.objects.get(what="sign_in")
    assert (line.actor, line.details) == ("lead", {"by_way_of": ["socialaccount"]})
    settings.REQUIRE_SECOND_FACTOR = "everybody"
    settings.OIDC_SECOND_FACTOR = True  # that of the other provider says nothing of this one
    assert client.get("/tokens/")["Location"] == "/account/second-factor/"
    settings.SAML_SECOND_FACTOR = True
    assert client.get("/tokens/").status_code == 200


def test_a_second_factor_of_ones_own_is_asked(provider: Provider, lead: User) -> None:
    connected(lead)
    TOTP.activate(lead, generate_totp_secret())
    client, page = come(provider)
    assert page["Location"].startswith("/sign-in/second-factor/")
    assert not is_in(client)
    assert client.get(page["Location"]).status_code == 200


def test_the_whole_answer_may_be_signed_beside(provider: Provider, lead: User) -> None:
    """Alone it is not enough: ours is the assertion."""
    connected(lead)
    provider.sign = "samlp:Response"
    assert not is_in(come(provider)[0])


def another(answer: Any) -> Any:
    """The assertion of somebody else, which nobody signed."""
    made = copy.deepcopy(answer.find(f"{ASSERTION}Assertion"))
    made.remove(made.find(SIGNATURE))
    made.find(f"{ASSERTION}Subject/{ASSERTION}NameID").text = "u1"
    return made


def forge_in_place(answer: Any) -> None:
    answer.find(f".//{ASSERTION}NameID").text = "u1"


def forge_before(answer: Any) -> None:
    forged = another(answer)
    forged.set("ID", "_a2")
    answer.insert(2, forged)


def forge_with_the_same_id(answer: Any) -> None:
    answer.insert(2, another(answer))


def forge_around(answer: Any) -> None:
    """The signed one moves into the signature of the forged one, which stands in its place."""
    signed = answer.find(f"{ASSERTION}Assertion")
    forged = another(answer)
    forged.set("ID", "_a2")
    signature = signed.find(SIGNATURE)
    answer.replace(signed, forged)
    signed.remove(signature)
    forged.insert(1, signature)
    etree.SubElement(signature, SIGNATURE.replace("Signature", "Object")).append(signed)


def forge_in_extensions(answer: Any) -> None:
    """The signed one moves aside whole."""
    signed = answer.find(f"{ASSERTION}Assertion")
    forged = another(answer)
    forged.set("ID", "_a2")
    answer.replace(signed, forged)
    aside = etree.Element("{urn:oasis:names:tc:SAML:2.0:protocol}Extensions")
    answer.insert(1, aside)
    aside.append(signed)


def forge_transform(answer: Any) -> None:
    answer.find(".//{*}Transform").set("Algorithm", "http://www.w3.org/TR/1999/REC-xslt-19991116")


def forge_reference(answer: Any) -> None:
    answer.find(".//{*}Reference").set("URI", "")


FORGED = [
    forge_in_place,
    forge_before,
    forge_with_the_same_id,
    forge_around,
    forge_in_extensions,
    forge_transform,
    forge_reference,
]


@pytest.mark.parametrize("forge", FORGED, ids=lambda one: one.__name__)
def test_a_forged_assertion_opens_nothing(
    provider: Provider, lead: User, forge: Callable[[Any], None]
) -> None:
    """The attacker has an account at the provider, u2, and wants to be u1."""
    connected(lead)
    provider.uid, provider.forge = "u2", forge
    client, page = come(provider)
    assert (page.status_code, is_in(client)) == (401, False)
    assert TrailLine.objects.get(what="sign_in_failed").details["provider"] == "University"


@pytest.mark.parametrize(
    ("forge", "why"), [(forge_transform, "transform"), (forge_reference, "of one element")]
)
def test_what_a_signature_must_not_hold_never_reaches_xmlsec(
    provider: Provider, forge: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xmlsec, "SignatureContext", None)
    question = "_q"
    provider.sign = ""
    unsigned = etree.fromstring(base64.b64decode(provider.answer(question)))
    unsigned.find(f"{ASSERTION}Assertion").insert(1, etree.fromstring(SIGNED_INFO))
    forge(unsigned)
    bring(Client(), base64.b64encode(etree.tostring(unsigned)).decode())
    assert why in TrailLine.objects.get(what="sign_in_failed").details["why"]


LATE = {"until": f' NotOnOrAfter="{in_seconds(-3600)}"'}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"sign": ""}, "not signed"),
        ({"key": OTHER_KEY}, "Signature validation failed"),
        ({"digest": xmlsec.constants.TransformSha1}, "Deprecated"),
        ({"parts": {"audience": audience("https://other.example")}}, "audience"),
        ({"parts": {"audience": ""}}, "audience"),
        ({"parts": {"issuer": "https://evil.example"}}, "issuer"),
        ({"parts": {"end": in_seconds(-3600)}}, "expired"),
        ({"parts": {"begin": in_seconds(3600)}}, "not yet valid"),
        ({"parts": LATE}, "SubjectConfirmation"),
        ({"parts": {"until": ""}}, "not for this question"),
        ({"parts": {"destination": "https://other.example/acs"}}, "received at"),
        ({"parts": {"recipient": "https://other.example/acs"}}, "SubjectConfirmation"),
        ({"parts": {"recipient": SITE + ACS + "?x=" + SITE + ACS}}, "not for this question"),
        ({"parts": {"response_to": "", "assertion_to": ""}}, "nobody here asked"),
        # an answer to no question, wrapped as one to the attacker's
        ({"parts": {"assertion_to": ""}}, "not for this question"),
        ({"parts": {"assertion_to": ' InResponseTo="_another"'}}, "SubjectConfirmation"),
        (
            {"parts": {"name_format": "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"}},
            "transient",
        ),
        ({"uid": ""}, "uid"),
        ({"uid": "u" * 300}, "UID"),
    ],
    ids=lambda one: one if isinstance(one, str) else None,
)
def test_what_cannot_be_trusted_opens_nothing(
    provider: Provider, lead: User, wrong: dict[str, Any], why: str
) -> None:
    connected(lead)
    for name, value in wrong.items():
        setattr(provider, name, value)
    client, page = come(provider)
    assert (page.status_code, is_in(client)) == (401, False)
    assert "That did not work" in page.content.decode()
    assert why in TrailLine.objects.get(what="sign_in_failed").details["why"]


@pytest.mark.parametrize("answer", ["", "!", "PGE+", base64.b64encode(b"<a/>").decode()])
def test_what_is_no_answer_is_kept_nowhere(provider: Provider, answer: str) -> None:
    page = bring(Client(), answer)
    assert page.status_code == 401
    assert not Session.objects.exists()


def test_entities_are_refused(provider: Provider) -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'
    assert bring(Client(), base64.b64encode(bomb).decode()).status_code == 401


def test_an_answer_is_taken_once_and_by_the_browser_that_asked(
    provider: Provider, lead: User
) -> None:
    connected(lead)
    client = Client()
    answer = provider.answer(ask(client))
    assert bring(Client(), answer).status_code == 401  # somebody else's browser
    assert bring(client, answer).status_code == 302
    assert is_in(client)
    client.post("/sign-out/")
    assert bring(client, answer).status_code == 401
    ask(client)  # another question does not help it
    assert bring(client, answer).status_code == 401
    assert not is_in(client)
    assert client.get(FINISH).status_code == 401
    assert TrailLine.objects.filter(what="sign_in_failed").count() == 4


def test_failures_without_end_are_not_written_down(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in_limit, "MAX_TRIES_PER_NETWORK", 3)
    assert [bring(Client(), "").status_code for _ in range(5)] == [401, 401, 401, 429, 429]
    assert TrailLine.objects.filter(what="sign_in_failed").count() == 3


def test_somebody_unknown_stays_outside(provider: Provider) -> None:
    client, page = come(provider)
    assert (page.status_code, is_in(client)) == (200, False)
    assert "No account here" in page.content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("name", "told", "comes_in"),
    [
        ("lead", {}, True),
        ("lead", {"email_verified": "false"}, False),
        ("admin", {}, False),
    ],
)
def test_an_address_may_be_enough(
    provider: Provider, settings: Any, lead: User, admin: User, name: str, told: Any, comes_in: bool
) -> None:
    User.objects.filter(username=name).update(email="Ada@example.org")
    provider.attributes = {MAIL: "ada@example.org", **told}
    settings.OIDC_ACCOUNTS = "matched"
    assert not is_in(come(provider)[0])  # not unless the site wants it
    settings.SAML_ACCOUNTS = "matched"
    assert is_in(come(provider)[0]) == comes_in
    assert TrailLine.objects.filter(what="sign_in_connected").exists() == comes_in


def test_an_account_is_made_where_the_site_wants_it(provider: Provider, settings: Any) -> None:
    settings.SAML_ACCOUNTS = "made"
    provider.attributes = {"uid": "ada", MAIL: "ada@example.org", "givenName": "Ada"}
    assert come(provider)[1]["Location"] == "/"
    ada = User.objects.get(username="ada")
    assert (ada.is_staff, ada.has_usable_password(), ada.first_name) == (False, False, "Ada")
    line: Any = TrailLine.objects.get(what="account_made")
    assert (line.actor, line.after["provider"]) == ("ada", "University")


def test_one_connects_and_disconnects_ones_own(
    provider: Provider, lead: User, viewer: User, settings: Any
) -> None:
    client, page = Client(), "/account/connected/"
    client.post("/sign-in/", {"username": "lead", "password": PASSWORD})
    assert "Connect it with University" in client.get(page).content.decode()
    come(provider, client, process="connect")
    account = SocialAccount.objects.get()
    assert (account.user, account.uid, account.provider) == (lead, "u1", "saml")
    text = client.get(page).content.decode()
    assert "u1 (University)" in text and "Connect it with" not in text
    other = Client()
    other.post("/sign-in/", {"username": "viewer", "password": PASSWORD})
    come(provider, other, process="connect")  # it is another's
    assert SocialAccount.objects.get().user == lead
    assert TrailLine.objects.filter(what="sign_in_connected").count() == 1
    # the site takes another provider: the page still shows the old account
    settings.OIDC_SERVER_URL, settings.SAML_METADATA = "https://id.example.org", ""
    settings.SOCIALACCOUNT_PROVIDERS = {}
    assert "u1" in client.get(page).content.decode()
    assert client.post(page, {"account": account.pk}).status_code == 302
    assert TrailLine.objects.filter(what="sign_in_disconnected", actor="lead").exists()


def test_the_form_may_lead_to_the_provider_and_no_script_is_needed(
    provider: Provider, client: Client
) -> None:
    page = client.get("/saml/login/")  # by a link: asks first
    assert page.status_code == 200 and "University" in page.content.decode()
    assert not re.search(r"<script(?![^>]*(src|json))", page.content.decode())


WRONG_FILES = [
    ("no XML", "SAML_METADATA"),
    (metadata(enter="http://id.example.org/sso"), "https://"),
    (metadata(issuer=""), "entityID"),
    (metadata().replace("HTTP-Redirect", "HTTP-POST"), "HTTP-Redirect"),
    (re.sub("<md:KeyDescriptor.*</md:KeyDescriptor>", "", metadata(), flags=re.DOTALL), "signing"),
    ("<a/>", "one provider"),
    ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "SAML_METADATA"),
]


@pytest.mark.parametrize(("text", "why"), WRONG_FILES, ids=[why for _, why in WRONG_FILES])
def test_metadata_that_says_too_little_stops_the_site(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "metadata.xml"
    file.write_text(text)
    with pytest.raises(ImproperlyConfigured, match=why):
        saml_metadata.read_provider(str(file))


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="No such file"):
        saml_metadata.read_provider(str(tmp_path / "none.xml"))


def test_without_what_reads_it_the_site_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onelogin.saml2.auth", None)
    with pytest.raises(ImproperlyConfigured, match=r"requirements-extra\.txt"):
        saml_metadata.read_provider("metadata.xml")
