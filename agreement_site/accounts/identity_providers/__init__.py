"""Sign-in by OpenID Connect and SAML, and roles from the groups of a provider."""
