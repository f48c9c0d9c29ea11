"""Describe the areas of the API, and give each body an example: a hook of drf-spectacular."""

from __future__ import annotations

from typing import Any

AREAS = {
    "agreement": "Coefficients of questions, pairs, raters, periods and categories",
    "alerts": "Alerts about raters and questions",
    "audit-log": "Who did what",
    "connections": "Projects of Label Studio whose annotations are ratings here",
    "events": "What happened, in order",
    "exams": "Exams before the first item",
    "gates": "Whether the data are good enough, as a signed verdict",
    "gold": "Right answers that are known, and what follows from wrong ones",
    "inbox": "What needs a decision of the caller",
    "items": "What is rated",
    "labels": "Final labels, decisions and appeals",
    "projects": "Projects, their questions and members",
    "raters": "People and models that rate, and their status",
    "ratings": "Ratings in, and files of ratings in and out",
    "views": "Saved views",
    "webhooks": "Messages about events",
}

_CATEGORIES = [{"label": "none"}, {"label": "minor"}, {"label": "major"}]
_QUESTION = {
    "key": "severity",
    "text": "How bad is it?",
    "scale": "ordinal",
    "categories": _CATEGORIES,
}
_WEBHOOK = {"url": "https://example.org/concord", "kinds": ["alert.opened", "gate.failed"]}
_RULES = [{"measure": "headline", "at_least": 0.6}, {"measure": "coverage", "at_least": 1}]

# Name of the operation -> a body that it accepts.
EXAMPLES: dict[str, object] = {
    "changeProject": {"overlap": 2, "guidelines": "# Severity"},
    "archiveProject": {"archived": True},
    "addQuestion": _QUESTION,
    "changeQuestion": {"categories": [*_CATEGORIES[:2], {"label": "serious", "renames": "major"}]},
    "changeWeights": {"weights": "quadratic", "reason": "Two steps are worse than two times one"},
    "inviteMember": {"username": "ann", "role": "annotator", "email": "ann@example.org"},
    "decideLabel": {"item": "doc-1", "label": "major", "reason": "The dose is wrong"},
    "submitAnswers": {"item": "doc-1", "answers": {"severity": "major"}},
    "updateAlert": {"state": "resolved", "cause": "real", "reason": "New guidelines"},
    "createGate": {"name": "release", "question": "severity", "rules": _RULES},
    "updateGate": {"rules": _RULES[:1]},
    "createAppeal": {"item": "doc-1", "text": "The dose is right: see line 3."},
    "answerAppeal": {"state": "refused", "answer": "Line 3 is of another patient."},
    "changeExamRules": {"required": True, "max_attempts": 3},
    "decideExam": {"rater": "ann", "do": "grant", "reason": "A wrong gold answer"},
    "setGold": {"answer": ["minor", "major"], "explanation": "Both are defensible"},
    "decideGoldIntervention": {"do": "carry_out"},
    "updateLabelRules": {"method": "dawid_skene", "certain_from": 0.9},
    "createSavedView": {"page": "raters", "name": "Few ratings", "query": "show=few"},
    "createWebhook": _WEBHOOK,
    "updateWebhook": {"paused": True},
    "createSiteWebhook": _WEBHOOK,
    "updateSiteWebhook": {"paused": True},
    # Forms: a file is its content, which a client reads from the file of this name.
    "importFile": {"file": "verdicts.csv", "question": "severity", "map": ["item=doc"]},
    "uploadMedia": {"files": ["scan-7.png"]},
}


def describe_api(result: Any, generator: Any, request: Any, public: bool) -> Any:
    """Add the descriptions of areas and the examples to the schema."""
    result["tags"] = [{"name": name, "description": text} for name, text in AREAS.items()]
    for operations in result["paths"].values():
        for operation in operations.values():
            example = EXAMPLES.get(operation["operationId"])
            if example is not None:
                for body in operation["requestBody"]["content"].values():
                    body["example"] = example
    return result
