"""Configuration of Django's admin with our admin site."""

from django.contrib.admin import apps


class AdminConfig(apps.AdminConfig):
    default_site = "agreement_site.navigation.admin_site.ConcordAdminSite"

    def ready(self) -> None:
        from .admin_model_names import set_model_names

        super().ready()
        set_model_names()
