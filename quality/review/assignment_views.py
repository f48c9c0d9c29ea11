"""The act "Send to decisions" on ticked items of the list."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from projects.models import Project
from quality.review import assignments


def send(request: HttpRequest, project: Project, ids: list[int]) -> None:
    question = get_object_or_404(project.questions, key=request.POST.get("question", ""))
    number = assignments.send(question=question, item_ids=ids, by=request.user)
    said = ngettext(
        "%(n)s item comes first of what is decided, under Labels.",
        "%(n)s items come first of what is decided, under Labels.",
        number,
    )
    messages.success(request, said % {"n": number})
    if number < len(set(ids)):
        messages.info(request, _("Left out: items without a rating, and those decided already."))
