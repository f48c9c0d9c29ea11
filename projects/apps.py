from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "projects"

    def ready(self) -> None:
        from projects import changes
        from projects.catalogue import gold

        changes.listen(count_in_use=gold.count_in_use)
