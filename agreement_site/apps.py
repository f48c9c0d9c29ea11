from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from core import security_log


class SiteConfig(AppConfig):
    name = "agreement_site"

    def ready(self) -> None:
        # Tasks bind to this application. Not in __init__.py: the supervisor imports this package
        # without Celery.
        from . import celery  # noqa: F401 - imported for what it sets up
        from .audit_log import recorder

        if recorder.keep not in security_log.LISTENERS:
            security_log.LISTENERS.append(recorder.keep)
        if settings.SENTRY_DSN:
            tell_sentry(settings.SENTRY_DSN)
        if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
            from . import releases
            from .monitoring.tracing import tell_opentelemetry

            tell_opentelemetry(releases.release())


def tell_sentry(dsn: str) -> None:
    """Send errors to Sentry: their traces, neither bodies nor names of people."""
    try:
        import sentry_sdk
    except ImportError:
        raise ImproperlyConfigured(
            "SENTRY_DSN is set, but its client is not installed: "
            "pip install -r requirements-extra.txt"
        ) from None
    from . import releases

    sentry_sdk.init(
        dsn=dsn,
        release=releases.release(),
        send_default_pii=False,
        max_request_body_size="never",
        include_local_variables=False,  # they hold ratings
    )
