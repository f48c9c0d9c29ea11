"""Pages for leads to add and edit single items, and to set gold answers."""

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
from core.text import describe_saved, parse_id
from projects.models import Item, Member, Project
from projects.permissions import get_project
from projects.services import gold
from projects.services.item_upsert import find_body_problem, upsert_items
from ratings.items import content

from . import forms, item_search

LEAD = Member.Role.LEAD


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def create_item(request: HttpRequest, project_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=LEAD)
    return _edit_item(request, project, None)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_item(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Edit an item; changed content becomes a new version. The page shows its number of ratings."""
    project = get_project(request.user, project_id, role=LEAD)
    return _edit_item(request, project, _get_item_or_404(project, item_id))


@login_required
@require_POST
def preview_item(request: HttpRequest, project_id: int) -> HttpResponse:
    """Render the submitted content as raters will see it, beside the form."""
    project = get_project(request.user, project_id, role=LEAD)
    item = None
    item_id = parse_id(request.POST.get("item"))
    if item_id is not None:
        item = Item.objects.filter(project=project, pk=item_id).first()
    parts = _build_part_formset(request.POST, item)
    body = _get_preview_body(parts, item)
    context = {"blocks": content.build_blocks(body), "problem": forms.get_body_error(body)}
    return render(request, "ratings/_item_preview.html", context)


@login_required
@require_POST
def set_item_gold(request: HttpRequest, project_id: int, item_id: int, key: str) -> HttpResponse:
    """Set or retire an item's gold answer to a question."""
    project = get_project(request.user, project_id, role=LEAD)
    item = _get_item_or_404(project, item_id)
    question = get_object_or_404(project.questions, key=key)
    codes = [
        int(value) for value in request.POST.getlist("code") if value.isascii() and value.isdigit()
    ]
    if request.POST.get("action") == "retire":
        if gold.retire_gold_answer(item=item, question=question, by=request.user):
            messages.success(request, _("Deleted."))
        return redirect_back(request, project)
    explanation = request.POST.get("explanation", "").replace("\0", "")
    explanation = explanation.replace("\r\n", "\n").strip()[: gold.MAX_EXPLANATION_LENGTH]
    try:
        gold.set_gold_answer(
            item=item, question=question, answer=codes, by=request.user, explanation=explanation
        )
    except gold.InvalidGoldAnswer:
        messages.error(request, _("Choose an answer."))
    else:
        messages.success(request, describe_saved(_("Gold answer")))
    return redirect_back(request, project)


# --- the form


def _edit_item(request: HttpRequest, project: Project, item: Item | None) -> HttpResponse:
    data = _get_form_data(request)
    initial = {"key": item.key, "version": item.version} if item else {}
    form = forms.ItemForm(data, project=project, item=item, initial=initial)
    parts, attributes = _build_part_formset(data, item), _build_attribute_formset(data, item)
    is_submitted = request.method == "POST" and "add_row" not in request.POST
    are_valid = [
        form_or_formset.is_valid() for form_or_formset in (form, parts, attributes)
    ]  # show the errors of all of them
    if is_submitted and all(are_valid) and _save_item(request, form, parts, attributes):
        key = form.cleaned_data["key"]
        messages.success(request, describe_saved(_("Item")))
        if "another" in request.POST:
            return redirect("item_new", project.pk)
        return redirect("item", project.pk, key)
    context = {
        "project": project,
        "item": item,
        "form": form,
        "parts": parts,
        "attributes": attributes,
        "others": sorted(forms.get_other_parts(item.body)) if item else [],
        "n_ratings": item_search.count_ratings_by_item([item.pk]).get(item.pk, 0) if item else 0,
        "next_version": item.version + 1 if item else None,
        "blocks": content.build_blocks(_get_preview_body(parts, item)),
    }
    status = 400 if is_submitted else 200
    return render(request, "ratings/item_form.html", context, status=status)


def _save_item(
    request: HttpRequest,
    form: Any,
    parts: forms.NameValueFormSet,
    attributes: forms.NameValueFormSet,
) -> bool:
    """Store the item and return True; otherwise add the errors to the form."""
    item = form.item
    body = _build_item_body(parts, item)
    if body_problem := find_body_problem(body):
        form.add_error(None, body_problem)
        return False
    body_error = forms.get_body_error(body)
    if body_error and item is None:
        form.add_error(None, body_error)
        return False
    current_attributes = item.attributes if item and isinstance(item.attributes, dict) else {}
    row = {
        "key": form.cleaned_data["key"],
        "body": body,
        "attributes": forms.parse_attributes(attributes.get_values(), current_attributes),
    }
    try:
        upsert_items(project=form.project, rows=[row], by=request.user)
    except BadRequest as error:
        form.add_error(None, error.fields["rows"]["0"])
        return False
    return True


def _build_part_formset(data: QueryDict | None, item: Item | None) -> forms.NameValueFormSet:
    current_values = forms.get_text_parts(item.body) if item else {}
    return forms.build_formset(
        forms.PartForm,
        data,
        prefix=forms.PARTS,
        current_values=current_values,
        extra=0 if current_values else 1,
    )


def _build_attribute_formset(data: QueryDict | None, item: Item | None) -> forms.NameValueFormSet:
    current_values = forms.format_attributes(item.attributes) if item else {}
    return forms.build_formset(
        forms.AttributeForm, data, prefix=forms.ATTRIBUTES, current_values=current_values, extra=1
    )


def _build_item_body(parts: forms.NameValueFormSet, item: Item | None) -> dict[str, object]:
    """Return the submitted texts in the form's order, followed by the parts that are no texts.

    A new item (None) has no such parts.
    """
    other_parts = forms.get_other_parts(item.body) if item else {}
    texts = parts.get_values()
    if set(texts) == {forms.TEXT} and not texts[forms.TEXT]:
        texts = {}
    return {**texts, **other_parts}


def _get_preview_body(parts: forms.NameValueFormSet, item: Item | None) -> Any:
    if parts.is_bound:
        body = _build_item_body(parts, item) if parts.is_valid() else {}
        return {} if find_body_problem(body) else body
    return item.body if item else {}


def _get_form_data(request: HttpRequest) -> QueryDict | None:
    """Return the submitted data, or None if the request is no POST.

    If the button "add a row" was pressed, the data have one more empty row.
    """
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


def _get_item_or_404(project: Project, item_id: int) -> Item:
    return get_object_or_404(Item, project=project, pk=min(item_id, 2**63 - 1))


def redirect_back(request: HttpRequest, project: Project) -> HttpResponse:
    """Redirect to the page of this site that the form was sent from."""
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, allowed_hosts=None):
        target = reverse("items", args=[project.pk])
    return redirect(target)
