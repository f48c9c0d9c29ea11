"""Command ``manage.py rotate_gate_key``: replace the key that signs verdicts of gates."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from core import security_log
from quality.gates import signing


class Command(BaseCommand):
    help = (
        "Replace the private key of this host that signs verdicts of gates. Verdicts that the old"
        " key signed can still be verified."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        key_id = signing.rotate_key()
        security_log.log_event("gate_key_rotated", after={"key_id": key_id})
        self.stdout.write(f"New verdicts are signed with {key_id}")
