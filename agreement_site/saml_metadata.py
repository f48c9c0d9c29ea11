"""What the metadata of a SAML provider says, read once when the site starts (SAML_METADATA)."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

# Under which names providers tell of people: those of the standards, and what Entra ID, Keycloak
# and Shibboleth make of them.
_CLAIMS = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/"
ATTRIBUTES = {
    "uid": [
        "urn:oasis:names:tc:SAML:attribute:pairwise-id",
        "urn:oasis:names:tc:SAML:attribute:subject-id",
    ],
    "email": ["urn:oid:0.9.2342.19200300.100.1.3", f"{_CLAIMS}emailaddress", "mail", "email"],
    "email_verified": ["http://schemas.auth0.com/email_verified", "email_verified"],
    "first_name": ["urn:oid:2.5.4.42", f"{_CLAIMS}givenname", "givenName", "firstName"],
    "last_name": ["urn:oid:2.5.4.4", f"{_CLAIMS}surname", "sn", "lastName"],
    "username": ["urn:oid:0.9.2342.19200300.100.1.1", "uid", "username"],
}


def read(path: str) -> dict[str, Any]:
    """The one provider of the file, as python3-saml wants it. Raises ImproperlyConfigured."""
    try:
        import onelogin.saml2.auth  # noqa: F401 - what answers will need, xmlsec too
        from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser as Parser
        from onelogin.saml2.xml_utils import OneLogin_Saml2_XML as Xml
    except ImportError:
        raise ImproperlyConfigured(
            "SAML_METADATA is set, but what reads it is not installed: "
            "pip install -r requirements-extra.txt"
        ) from None
    except Exception as error:  # xmlsec's own, where its libxml2 is not lxml's
        raise ImproperlyConfigured(
            f"SAML_METADATA is set, but what reads it does not load: {error}"
        ) from None
    try:
        text = Path(path).read_bytes()
        providers = len(Xml.query(Xml.to_etree(text), "//md:IDPSSODescriptor"))
        found = Parser.parse(text).get("idp", {})
    except OSError as error:
        raise ImproperlyConfigured(f"SAML_METADATA={path!r}: {error.strerror}") from None
    except (ValueError, SyntaxError) as error:  # no XML, or with entities
        raise ImproperlyConfigured(f"SAML_METADATA={path!r}: {error}") from None
    if providers != 1:
        raise ImproperlyConfigured(f"SAML_METADATA={path!r}: of one provider, not {providers}")
    # Of the other fields, one is its wish for signed requests, which we have no key for.
    kept = ("entityId", "singleSignOnService", "x509cert", "x509certMulti")
    provider = {name: found[name] for name in kept if name in found}
    signed_by = provider.get("x509cert") or provider.get("x509certMulti", {}).get("signing")
    where = urlsplit(provider.get("singleSignOnService", {}).get("url", ""))
    if not provider.get("entityId") or not signed_by or not where.hostname:
        raise ImproperlyConfigured(
            f"SAML_METADATA={path!r}: an entityID, a certificate for signing and an address of "
            "HTTP-Redirect are needed"
        )
    if where.scheme != "https" and where.hostname not in ("localhost", "127.0.0.1"):
        raise ImproperlyConfigured(f"SAML_METADATA={path!r}: its address starts with https://")
    return provider


def app(name: str, provider: dict[str, Any]) -> dict[str, Any]:
    """As allauth wants it."""
    told = {"idp": provider, "attribute_mapping": ATTRIBUTES}
    return {"provider_id": "saml", "client_id": "saml", "name": name, "settings": told}
