"""Parser of a SAML provider's metadata, read once when the site starts (SAML_METADATA)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

# Attribute names of users: those of the standards, and those of Entra ID, Keycloak and Shibboleth.
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


def parse_provider_metadata(path: str) -> dict[str, Any]:
    """Return the only provider in a metadata file, in python3-saml's form.

    Raises ImproperlyConfigured for another file, and if the SAML library does not load.
    """
    try:
        import onelogin.saml2.auth  # noqa: F401 - needed for responses later, xmlsec too
        from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser as Parser
        from onelogin.saml2.xml_utils import OneLogin_Saml2_XML as Xml
    except ImportError:
        raise ImproperlyConfigured(
            "SAML_METADATA is set, but its library is not installed: "
            "pip install -r requirements-extra.txt"
        ) from None
    except Exception as error:  # xmlsec's own error, when its libxml2 is not lxml's
        raise ImproperlyConfigured(
            f"SAML_METADATA is set, but its library does not load: {error}"
        ) from None
    try:
        content = Path(path).read_bytes()
        n_providers = len(Xml.query(Xml.to_etree(content), "//md:IDPSSODescriptor"))
        idp = Parser.parse(content).get("idp", {})
    except OSError as error:
        raise ImproperlyConfigured(f"SAML_METADATA={path!r}: {error.strerror}") from None
    except (ValueError, SyntaxError) as error:  # not XML, or XML with entities
        raise ImproperlyConfigured(f"SAML_METADATA={path!r}: {error}") from None
    if n_providers != 1:
        raise ImproperlyConfigured(f"SAML_METADATA={path!r}: of one provider, not {n_providers}")
    # One of the other fields asks for signed requests, for which this site has no key.
    fields = ("entityId", "singleSignOnService", "x509cert", "x509certMulti")
    provider = {name: idp[name] for name in fields if name in idp}
    _validate_provider(provider, path)
    return provider


def _validate_provider(provider: Mapping[str, Any], path: str) -> None:
    """Raise ImproperlyConfigured if a field is missing without which nobody could sign in."""
    certificate = provider.get("x509cert") or provider.get("x509certMulti", {}).get("signing")
    sign_in_url = urlsplit(provider.get("singleSignOnService", {}).get("url", ""))
    if not provider.get("entityId") or not certificate or not sign_in_url.hostname:
        raise ImproperlyConfigured(
            f"SAML_METADATA={path!r}: an entityID, a certificate for signing and an address of "
            "HTTP-Redirect are needed"
        )
    if sign_in_url.scheme != "https" and sign_in_url.hostname not in ("localhost", "127.0.0.1"):
        raise ImproperlyConfigured(f"SAML_METADATA={path!r}: its address starts with https://")


def build_allauth_app(name: str, provider: Mapping[str, Any]) -> dict[str, object]:
    """Return the provider's entry for SOCIALACCOUNT_PROVIDERS, in allauth's form."""
    app_settings = {"idp": provider, "attribute_mapping": ATTRIBUTES}
    return {"provider_id": "saml", "client_id": "saml", "name": name, "settings": app_settings}
