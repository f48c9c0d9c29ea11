from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "agreement_site"

    def ready(self) -> None:
        # Tasks bind to this application. Not in __init__.py: the supervisor imports this package
        # without Celery.
        from . import celery  # noqa: F401 - imported for what it sets up
