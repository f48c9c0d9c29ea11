"""Django's admin with our first page."""

from django.contrib.admin import apps


class AdminConfig(apps.AdminConfig):
    default_site = "agreement_site.navigation.admin_site.Administration"
