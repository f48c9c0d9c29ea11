"""Settings of commands that only read files, so that they start without pages, tasks and tools.

They need the models and the settings of the site, but no listener, as nothing is stored.
"""

from django.apps import AppConfig

from agreement_site.settings import *  # noqa: F403 - the settings of the site, but for those below


class ProjectModels(AppConfig):
    name = "projects"


class EventModels(AppConfig):
    name = "events"


class RatingModels(AppConfig):
    name = "ratings"


class MetricModels(AppConfig):
    name = "metrics"


INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    *(f"{__name__}.{name}Models" for name in ("Project", "Event", "Rating", "Metric")),
]
LOGGING_CONFIG = None
