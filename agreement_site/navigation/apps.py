"""Configuration of Django's admin with our admin site."""

from django.contrib.admin import apps


class AdminConfig(apps.SimpleAdminConfig):
    """Use our admin site without loading the admin modules, which the URLs load later.

    They load the API, which workers do not need.
    """

    default_site = "agreement_site.navigation.admin_site.ConcordAdminSite"

    def ready(self) -> None:
        from .admin_site import set_model_names

        super().ready()
        set_model_names()
