"""Print every rating of an installation's database with its history, as JSON lines.

Run it in a process of its own, with the installation's environment. --sweep first does what
a worker would do, --counts verifies that counts and results are exact.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict


def main() -> None:
    import django

    django.setup()

    from metrics.jobs import question_updates
    from projects.models import Question
    from ratings.models import Rating, Revision
    from tests.metrics import invariants

    questions = Question.objects.order_by("pk").values_list("pk", flat=True)
    if "--sweep" in sys.argv:
        question_updates.sweep_questions()
    if "--counts" in sys.argv:
        for question_id in questions:
            invariants.check(question_id)
    history: dict[int, list[str]] = defaultdict(list)
    for rating_id, comment in Revision.objects.order_by("pk").values_list("rating_id", "comment"):
        history[rating_id].append(comment)
    labels = {}
    for question_id in questions:
        for code, label in Question.objects.get(pk=question_id).categories.values_list(
            "code", "label"
        ):
            labels[question_id, code] = label
    columns = ("pk", "item__key", "rater__key", "question_id", "code", "comment")
    for pk, item, rater, question_id, code, comment in Rating.objects.values_list(*columns):
        row = [item, rater, labels.get((question_id, code)), comment, history[pk]]
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
