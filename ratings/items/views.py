"""Items by hand, for leads: add, edit, and set what is right."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from core.api.errors import BadRequest
from projects.models import Item, Member, Project
from projects.permissions import get_project
from projects.services.items import gold
from projects.services.items.upsert import put_items
from ratings.items import content

from . import forms, item_search

LEAD = Member.Role.LEAD


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def item_new(request: HttpRequest, project_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=LEAD)
    return _edit(request, project, None)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def item_edit(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Another content is the next version; the page says how many ratings are of this one."""
    project = get_project(request.user, project_id, role=LEAD)
    return _edit(request, project, _item(project, item_id))


@login_required
@require_POST
def item_preview(request: HttpRequest, project_id: int) -> HttpResponse:
    """What is typed as raters will see it, for the page to put beside the form."""
    project = get_project(request.user, project_id, role=LEAD)
    item = None
    number = request.POST.get("item", "")
    if number.isascii() and number.isdigit() and len(number) < 19:
        item = Item.objects.filter(project=project, pk=int(number)).first()
    parts = _part_rows(request.POST, item)
    body = _body(parts, item) if parts.is_valid() else {}
    context = {"blocks": content.blocks(body), "problem": forms.body_problem(body)}
    return render(request, "ratings/_item_preview.html", context)


@login_required
@require_POST
def item_gold(request: HttpRequest, project_id: int, item_id: int, key: str) -> HttpResponse:
    """Set the gold answer of an item to a question, or take it away."""
    project = get_project(request.user, project_id, role=LEAD)
    item = _item(project, item_id)
    question = get_object_or_404(project.questions, key=key)
    codes = [int(one) for one in request.POST.getlist("code") if one.isascii() and one.isdigit()]
    if request.POST.get("do") == "retire":
        if gold.retire_gold(item=item, question=question, by=request.user):
            messages.success(request, _("The gold answer is taken away; its history stays."))
        return back(request, project)
    explanation = request.POST.get("explanation", "").replace("\0", "")
    explanation = explanation.replace("\r\n", "\n").strip()[: gold.LONGEST_EXPLANATION]
    try:
        gold.set_gold(
            item=item, question=question, answer=codes, by=request.user, explanation=explanation
        )
    except gold.InvalidGold:
        messages.error(request, _("Choose the answer, or the answers, that are right."))
    else:
        messages.success(request, _("Saved."))
    return back(request, project)


# --- the form


def _edit(request: HttpRequest, project: Project, item: Item | None) -> HttpResponse:
    data = _with_added_row(request)
    initial = {"key": item.key, "version": item.version} if item else {}
    form = forms.ItemForm(data, project=project, item=item, initial=initial)
    parts, attributes = _part_rows(data, item), _attribute_rows(data, item)
    sent = request.method == "POST" and "add_row" not in request.POST
    valid = [one.is_valid() for one in (form, parts, attributes)]  # all troubles are shown at once
    if sent and all(valid) and _store(request, form, parts, attributes):
        key = form.cleaned_data["key"]
        messages.success(request, _("Saved."))
        if "another" in request.POST:
            return redirect("item_new", project.pk)
        return redirect("item", project.pk, key)
    context = {
        "project": project,
        "item": item,
        "form": form,
        "parts": parts,
        "attributes": attributes,
        "others": sorted(forms.other_parts(item.body)) if item else [],
        "n_ratings": item_search.n_ratings([item.pk]).get(item.pk, 0) if item else 0,
        "next_version": item.version + 1 if item else None,
        "blocks": content.blocks(_typed_body(parts, item)),
    }
    status = 400 if sent else 200
    return render(request, "ratings/item_form.html", context, status=status)


def _store(request: HttpRequest, form: Any, parts: forms.Rows, attributes: forms.Rows) -> bool:
    """Whether it is stored; else the form says why not."""
    item = form.item
    body = _body(parts, item)
    problem = forms.body_problem(body)
    if problem and item is None:
        form.add_error(None, problem)
        return False
    standing = item.attributes if item and isinstance(item.attributes, dict) else {}
    row = {
        "key": form.cleaned_data["key"],
        "body": body,
        "attributes": forms.typed_attributes(attributes.typed(), standing),
    }
    try:
        put_items(project=form.project, rows=[row], by=request.user)
    except BadRequest as error:
        form.add_error(None, error.fields["rows"]["0"])
        return False
    return True


def _part_rows(data: QueryDict | None, item: Item | None) -> forms.Rows:
    standing = forms.text_parts(item.body) if item else {}
    return forms.rows_of(
        forms.PartForm,
        data,
        prefix=forms.PARTS,
        standing=standing,
        extra=0 if standing else 1,
    )


def _attribute_rows(data: QueryDict | None, item: Item | None) -> forms.Rows:
    standing = forms.shown_attributes(item.attributes) if item else {}
    return forms.rows_of(
        forms.AttributeForm, data, prefix=forms.ATTRIBUTES, standing=standing, extra=1
    )


def _body(parts: forms.Rows, item: Item | None) -> dict[str, Any]:
    """The texts that were typed, in the order of the form, and what the form does not show."""
    kept = forms.other_parts(item.body) if item else {}
    typed = parts.typed()
    if set(typed) == {forms.TEXT} and not typed[forms.TEXT]:
        typed = {}
    return {**typed, **kept}


def _typed_body(parts: forms.Rows, item: Item | None) -> Any:
    if parts.is_bound:
        return _body(parts, item) if parts.is_valid() else {}
    return item.body if item else {}


def _with_added_row(request: HttpRequest) -> QueryDict | None:
    """What was typed, with one more empty row where a button for it was pressed; None for a GET."""
    if request.method != "POST":
        return None
    prefix = request.POST.get("add_row")
    if prefix not in (forms.PARTS, forms.ATTRIBUTES):
        return request.POST
    data = request.POST.copy()
    total = data.get(f"{prefix}-TOTAL_FORMS", "")
    rows = int(total) if total.isascii() and total.isdigit() and len(total) < 4 else 0
    data[f"{prefix}-TOTAL_FORMS"] = str(rows + 1)
    return data


def _item(project: Project, item_id: int) -> Item:
    return get_object_or_404(Item, project=project, pk=min(item_id, 2**63 - 1))


def back(request: HttpRequest, project: Project) -> HttpResponse:
    """To the page of this site that it was sent from."""
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, allowed_hosts=None):
        target = reverse("items", args=[project.pk])
    return redirect(target)
