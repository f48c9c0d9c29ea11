"""Any history of ratings, changes of the scale, lost and doubled messages and crashes ends in exact
numbers.

Hypothesis makes up the histories and runs the real code, on whatever database the test run uses.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from metrics import tasks
from metrics.counting import backlog, question_counting
from metrics.jobs import question_updates
from metrics.models import Share
from metrics.results import refresh as readings
from projects.models import Category, Item, Project, Question, Rater
from projects.services.project_validation import InvalidProjectChange
from projects.services.projects import change_project
from projects.services.question_validation import NewCategory
from projects.services.scales import change_categories, change_weights
from ratings.models import NO_CODE, Rating
from ratings.services import uncounted
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.faults.crashes import Crash, crash_at
from tests.metrics import invariants
from tests.metrics.counting.counting_oracle import recounted, stored

pytestmark = pytest.mark.django_db

ITEMS, RATERS = 6, 4
# (item, rater) -> (category or -1, when)
Portion = dict[tuple[int, int], tuple[int, datetime.datetime | None]]
# months and weeks end within the next days
FIRST = datetime.datetime(2026, 2, 20, 5, tzinfo=datetime.UTC)
ZONES = ("UTC", "Pacific/Kiritimati", "America/Los_Angeles", "Asia/Kolkata")

item = st.integers(0, ITEMS - 1)
rater = st.integers(0, RATERS - 1)
moment = st.none() | st.integers(0, 320).map(
    lambda steps: FIRST + datetime.timedelta(hours=9 * steps)
)
portion = st.dictionaries(
    st.tuples(item, rater), st.tuples(st.integers(-1, 9), moment), min_size=2, max_size=24
)


class Counting(RuleBasedStateMachine):
    """One question from its first rating on. What is in doubt is looked up in the database, never
    remembered."""

    @initialize(
        scale=st.sampled_from(["nominal", "ordinal", "interval"]),
        size=st.integers(2, 4),
        rows=portion,
    )
    def begin(self, scale: str, size: int, rows: Portion) -> None:
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.user = User.objects.create_user("lead")
        project = Project.objects.create(name="Drill")
        question = Question.objects.create(
            project=project, key="severity", text="How severe?", scale=scale
        )
        for code in range(size):
            Category.objects.create(
                question=question, code=code, position=code, label=f"c{code}", value=code
            )
        self.project_id, self.question_id = project.pk, question.pk
        self.held: list[tuple[Share, question_counting.CountChange | None]] = []
        self.items = [
            Item.objects.create(project=project, key=str(number)).pk for number in range(ITEMS)
        ]
        self.raters = [
            Rater.objects.create(project=project, key=str(number)).pk for number in range(RATERS)
        ]
        self.import_many(rows)
        question_updates.sweep_questions()

    def teardown(self) -> None:
        if not hasattr(self, "atomic"):
            return
        try:
            question_updates.sweep_questions()
            invariants.check(self.question_id)
            assert question_updates.sweep_questions() == 0
        finally:
            transaction.set_rollback(True)
            self.atomic.__exit__(None, None, None)

    @property
    def question(self) -> Question:
        return Question.objects.get(pk=self.question_id)

    def active(self) -> list[Category]:
        return self.question.active_categories()

    # --- raters

    @rule(item=item, rater=rater, choice=st.integers(0, 9), at=moment)
    def rate_or_change(
        self, item: int, rater: int, choice: int, at: datetime.datetime | None
    ) -> None:
        codes = [category.code for category in self.active()]
        new = Judgement(
            self.items[item], self.raters[rater], codes[choice % len(codes)], rated_at=at
        )
        record_ratings({self.question: [new]}, by=self.user, source="form")

    @rule(item=item, rater=rater)
    def withdraw(self, item: int, rater: int) -> None:
        new = Judgement(self.items[item], self.raters[rater], NO_CODE)
        record_ratings({self.question: [new]}, by=self.user, source="api")

    @rule(rows=portion)
    def import_many(self, rows: Portion) -> None:
        codes = [category.code for category in self.active()]
        new = [
            Judgement(
                self.items[item],
                self.raters[rater],
                NO_CODE if choice < 0 else codes[choice % len(codes)],
                rated_at=None if choice < 0 else at,
            )
            for (item, rater), (choice, at) in rows.items()
        ]
        record_ratings({self.question: new}, by=self.user, source="import")

    # --- leads

    def change_scale(self, categories: list[tuple[int | None, NewCategory]]) -> None:
        question = self.question
        try:
            with transaction.atomic():
                change_categories(
                    question=question, scale=question.scale, categories=categories, by=self.user
                )
        # a category in use, or too few: allowed to be refused, never to miscount
        except InvalidProjectChange as refused:
            note(f"refused: {refused}")

    def as_they_are(self) -> list[tuple[int | None, NewCategory]]:
        return [
            (
                category.code,
                NewCategory(label=category.label, value=category.value, hotkey=category.hotkey),
            )
            for category in self.active()
        ]

    @rule(
        what=st.sampled_from(["add", "retire", "reorder", "weights", "zone"]),
        place=st.integers(0, 9),
        order=st.randoms(use_true_random=False),
        zone=st.sampled_from(ZONES),
    )
    def change_set_up(self, what: str, place: int, order: Any, zone: str) -> None:
        categories = self.as_they_are()
        if what == "add" and len(categories) < 6:
            number = Category.objects.filter(question=self.question_id).count()
            categories.insert(
                place % (len(categories) + 1), (None, NewCategory(label=f"c{number}", value=number))
            )
            self.change_scale(categories)
        elif what == "retire":
            del categories[place % len(categories)]
            self.change_scale(categories)
        elif what == "reorder":
            order.shuffle(categories)
            self.change_scale(categories)
        elif what == "weights":
            self.change_weights(place / 10, custom=place > 2)
        elif what == "zone":
            change_project(
                project=Project.objects.get(pk=self.project_id), by=self.user, time_zone=zone
            )

    def change_weights(self, weight: float, *, custom: bool) -> None:
        size = len(self.active())
        matrix = [[1.0 if i == j else weight for j in range(size)] for i in range(size)]
        weights = "custom" if custom else "quadratic"
        change_weights(
            question=self.question, weights=weights, matrix=matrix if custom else None, by=self.user
        )

    # --- messages and crashes

    @rule(
        what=st.sampled_from(
            ["message", "message thrice", "portion", "readings", "sweep", "recount"]
        ),
        items=st.integers(1, 4),
    )
    def work(self, what: str, items: int) -> None:
        """A message that never comes is a work that is not chosen."""
        if what.startswith("message"):
            for _time in range(3 if what.endswith("thrice") else 1):
                tasks.count_question(self.question_id)
        elif what == "portion":
            question_counting.count_items(self.question_id, limit=items)
        elif what == "readings":
            readings.refresh_results(self.question_id)
        elif what == "sweep":
            question_updates.sweep_questions()
        else:
            question_updates.reset_counts(self.question)

    @rule(
        what=st.sampled_from(["open", "take", "take", "read", "read", "finish", "finish"]),
        which=st.integers(0, 5),
    )
    def share(self, what: str, which: int) -> None:
        """Workers that hold shares of a backlog between the other steps, each as slow as it likes.
        No lease lasts, so that one worker takes over what another one has in hand."""
        held = self.held
        if what == "open":
            backlog.open_backlog(self.question_id)
        elif what == "take":
            share = backlog.claim_range(self.question_id)
            if share is not None:
                held.append((share, None))
        elif held:
            share, change = held.pop(which % len(held))
            if what == "read":
                held.append((share, backlog.read_range(share)))
            elif change is not None:
                backlog.save_range(share, change)

    @rule(
        where=st.sampled_from(["portion", "share", "readings", "both", "recount"]),
        number=st.integers(0, 30),
    )
    def crash_at_statement(self, where: str, number: int) -> None:
        works: dict[str, tuple[int, Callable[[], Any]]] = {
            "portion": (15, lambda: question_counting.count_items(self.question_id, limit=2)),
            "share": (25, lambda: backlog.count_ranges(self.question_id)),
            "readings": (31, lambda: readings.refresh_results(self.question_id)),
            "both": (31, lambda: question_updates.update_question(self.question_id)),
            "recount": (10, lambda: question_updates.reset_counts(self.question)),
        }
        statements, work = works[where]
        self.crash(number % statements, work)

    def crash(self, number: int, work: Any) -> None:
        try:
            with crash_at(number):
                work()
        except Crash as crash:
            note(f"crashed at {str(crash)[:60]}")

    # --- what holds at every moment

    @invariant()
    def every_uncounted_rating_is_found(self) -> None:
        if hasattr(self, "question_id"):
            found = uncounted.get_ratings([self.question_id])
            assert set(found) == set(Rating.objects.filter(question=self.question_id).uncounted())

    @invariant()
    def counts_are_exact_of_what_is_counted(self) -> None:
        if (
            not hasattr(self, "question_id")
            or Rating.objects.filter(question=self.question_id).uncounted().exists()
        ):
            return
        question = self.question
        assert stored(question) == recounted(question)


@pytest.mark.timeout(600)  # a failure is made smaller before it is shown
def test_any_history_ends_in_exact_numbers(small_shares: None) -> None:
    run_state_machine_as_test(
        Counting,
        settings=settings(
            max_examples=15,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
