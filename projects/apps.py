from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "projects"

    def ready(self) -> None:
        from projects import hooks
        from projects.services.items import gold

        hooks.listen(count_in_use=gold.count_in_use)
