"""Folders for files, as each host sees them, and files of imports that hosts do not share."""

from __future__ import annotations

from django.db import models

from .import_run import ImportRun


class DataFolder(models.Model):
    """A folder of DATA_DIR, and a host that uses it (ratings.files.data_folders)."""

    class Kind(models.TextChoices):
        IMPORTS = "imports"
        MEDIA = "media"

    kind = models.CharField(max_length=7, choices=Kind.choices)
    token = models.CharField(max_length=32)  # random, of the folder
    host = models.CharField(max_length=255)
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "host", "token"], name="data_folder_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.host}"


class ImportFilePart(models.Model):
    """A part of a file of an import, compressed, for hosts without its folder."""

    run = models.ForeignKey(ImportRun, models.CASCADE, related_name="file_parts", db_index=False)
    suffix = models.CharField(max_length=10, blank=True)  # empty: the file as uploaded
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "suffix", "number"], name="import_file_part_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"part {self.number} of import {self.run_id}"
