"""Configuration of the site's app and of the admin: what is set up at the start."""

from django.apps import AppConfig
from django.conf import settings
from django.contrib.admin.apps import SimpleAdminConfig
from django.core.exceptions import ImproperlyConfigured

from core import security_log


class SiteConfig(AppConfig):
    name = "agreement_site"
    default = True

    def ready(self) -> None:
        # Tasks bind to this Celery application. Not in __init__.py: the supervisor imports this
        # package without Celery.
        from projects import hooks

        from . import celery  # noqa: F401 - imported for its side effects
        from .audit_log import recorder
        from .notifications import news

        hooks.MEMBER_INVITED.register(news.queue_invitation)
        hooks.ROLE_OFFERED.register(news.queue_offer)
        security_log.LISTENERS.register(recorder.record_event)
        if settings.SENTRY_DSN:
            configure_sentry(settings.SENTRY_DSN)
        if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
            from . import releases
            from .monitoring.tracing import configure_opentelemetry

            configure_opentelemetry(releases.get_release())


class AdminConfig(SimpleAdminConfig):
    """Use our admin site without loading the admin modules, which the URLs load later.

    They load the API, which workers do not need.
    """

    default_site = "agreement_site.navigation.admin_site.ConcordAdminSite"

    def ready(self) -> None:
        from .navigation.admin_site import set_model_names

        super().ready()
        set_model_names()


def configure_sentry(dsn: str) -> None:
    """Send errors to Sentry: tracebacks, without request bodies or names of people.

    Raises ImproperlyConfigured if Sentry's client is not installed.
    """
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
        release=releases.get_release(),
        send_default_pii=False,
        max_request_body_size="never",
        include_local_variables=False,  # they may contain ratings
    )
