"""How the forms of this room answer."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse


class InvalidIs400:
    """A form that is not valid comes back with status 400, as on every page of the site."""

    def form_invalid(self, form: Any) -> HttpResponse:
        view: Any = self
        answer: HttpResponse = view.render_to_response(view.get_context_data(form=form), status=400)
        return answer
