"""Mixin that answers an invalid form with status 400."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse


class InvalidFormStatusMixin:
    """Return an invalid form with status 400, as every page of the site does."""

    def form_invalid(self, form: Any) -> HttpResponse:
        view: Any = self
        response: HttpResponse = view.render_to_response(
            view.get_context_data(form=form), status=400
        )
        return response
