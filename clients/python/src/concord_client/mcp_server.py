"""A server of the Model Context Protocol with six tools that only read.

It needs the extra: `pip install 'concord-client[mcp]'`, and is started by `concord mcp`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import islice
from typing import Any

from ._client import Client
from ._errors import ConcordError
from ._parsing import to_json

MAX_ROWS = 200  # of a response, which a model has to read


def build_server(client: Client) -> Any:
    """Return the MCP server with the read-only tools; a read-only token is sufficient.

    Raises ImportError if the package mcp is not installed.
    """
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError:
        raise ImportError("Install mcp: pip install 'concord-client[mcp]'") from None

    server = MCPServer(
        "concord", instructions="Agreement, raters and labels of a Concord annotation site."
    )

    def show_errors(tool: Callable[..., Any]) -> Callable[..., Any]:
        """Return the tool with errors of the site raised as ToolError, which the model reads."""

        @functools.wraps(tool)
        def run_tool(*arguments: Any, **options: Any) -> Any:
            try:
                return tool(*arguments, **options)
            except ConcordError as error:
                raise ToolError(str(error)) from None

        return run_tool

    tools = Tools(client)
    for tool in (
        tools.list_projects,
        tools.get_agreement,
        tools.list_raters_to_check,
        tools.list_disputed_items,
        tools.get_labels,
        tools.check_gate,
    ):
        server.add_tool(show_errors(tool), annotations=ToolAnnotations(read_only_hint=True))
    return server


class Tools:
    """The tools that a language model can call; it reads their docstrings."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list_projects(self) -> list[dict[str, Any]]:
        """List the projects with their ids, and the keys and scales of their questions."""
        return [
            {
                "id": project.id,
                "name": project.name,
                "questions": [
                    {"key": question.key, "text": question.text, "scale": question.scale}
                    for question in project.questions
                ],
            }
            for project in islice(self._client.projects(), MAX_ROWS)
        ]

    def get_agreement(self, project: int, question: str | None = None) -> dict[str, Any]:
        """Return the agreement of a question: the headline, all coefficients, 95% intervals."""
        return dict(to_json(self._client.project(project).agreement(question=question)))

    def list_raters_to_check(
        self, project: int, question: str | None = None
    ) -> list[dict[str, Any]]:
        """List the raters whose ratings should be checked, worst first, with the reasons."""
        statuses = self._client.project(project).rater_status(question=question)
        rows = (to_json(row) for row in statuses if row.status in ("act", "check"))
        return list(islice(rows, MAX_ROWS))

    def list_disputed_items(
        self, project: int, question: str | None = None
    ) -> list[dict[str, Any]]:
        """List the items on which raters differ most, with the number of ratings by label."""
        disputed = self._client.project(project).disputed(question=question)
        return [to_json(item) for item in disputed.items]

    def get_labels(
        self, project: int, question: str | None = None, min_confidence: float | None = None
    ) -> list[dict[str, Any]]:
        """Return the final labels of the first 200 items, with confidence and source."""
        filters = {"question": question, "min_confidence": min_confidence}
        labels = self._client.project(project).labels(**filters)
        return [to_json(label) for label in islice(labels, MAX_ROWS)]

    def check_gate(self, project: int, gate: str) -> dict[str, Any]:
        """Return the verdict of a gate: pass, fail or not_enough, and the estimate of each rule."""
        return self._client.project(project).signed_verdict(gate)
