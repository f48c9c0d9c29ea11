"""The page of the API: calls are tried as the signed-in user, and with a token."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from projects.models import Project
from projects.services import tokens

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def try_call(page: Page, operation: str, body: object = None) -> str:
    """Execute a call and return the body of its response."""
    block = page.locator(f"[id$='-{operation}']")
    block.locator(".opblock-summary-control").click()
    block.get_by_role("button", name="Try it out").click()
    if body is not None:
        block.locator("textarea.body-param__text").fill(json.dumps(body))
    block.get_by_role("button", name="Execute").click()
    response = block.locator(".live-responses-table")
    expect(response).to_be_visible()
    text: str = response.inner_text()
    block.locator(".opblock-summary-control").click()
    return text


def test_calls_are_tried_as_the_user_and_with_a_token(
    open_page: Any, project: Project, lead: Any
) -> None:
    page = open_page("/api-reference/")
    assert '"name": "Reviews"' in try_call(page, "listProjects")
    question = {
        "key": "tone",
        "text": "Tone?",
        "scale": "nominal",
        "categories": [{"label": "kind"}, {"label": "rude"}],
    }
    new_project = {"name": "Tried", "questions": [question]}
    assert '"name": "Tried"' in try_call(page, "createProject", new_project)  # needs CSRF
    assert Project.objects.filter(name="Tried").exists()

    token = tokens.create_token(user=lead, project=project, scope="read", expires_at=None)
    page.context.clear_cookies()
    page.reload()
    page.get_by_role("button", name="Authorize").first.click()
    form = page.locator(".auth-container", has=page.locator("#auth-bearer-value"))
    form.get_by_role("textbox").fill(token)
    form.get_by_role("button", name="Apply credentials").click()
    page.locator(".dialog-ux .btn-done").last.click()
    text = try_call(page, "listProjects")
    assert '"name": "Reviews"' in text
    assert '"name": "Tried"' not in text  # the token is of the other project
