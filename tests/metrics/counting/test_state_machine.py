"""Any history of ratings, scale changes, lost and repeated messages and crashes ends in exact numbers.

Hypothesis generates the histories and runs the real code, on the database of the test run.
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
from metrics.models import BacklogRange
from metrics.results import refresh
from projects.models import Category, Item, Project, Question, Rater
from projects.services.project_validation import InvalidProjectChange
from projects.services.projects import change_project
from projects.services.question_validation import NewCategory
from projects.services.questions import change_categories, change_weights
from ratings.models import NO_CODE, Rating
from ratings.services import uncounted_ratings
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.faults.crashes import SimulatedCrash, crash_at
from tests.metrics import invariants
from tests.metrics.counting.counting_oracle import load_stored_counts, recount
from tests.tools.full_run import choose_number

pytestmark = pytest.mark.django_db

ITEMS, RATERS = 6, 4
# (item, rater) -> (category or -1, time)
Portion = dict[tuple[int, int], tuple[int, datetime.datetime | None]]
# a month and a week end within the next days
START = datetime.datetime(2026, 2, 20, 5, tzinfo=datetime.UTC)
ZONES = ("UTC", "Pacific/Kiritimati", "America/Los_Angeles", "Asia/Kolkata")

item = st.integers(0, ITEMS - 1)
rater = st.integers(0, RATERS - 1)
moment = st.none() | st.integers(0, 320).map(
    lambda steps: START + datetime.timedelta(hours=9 * steps)
)
portion = st.dictionaries(
    st.tuples(item, rater), st.tuples(st.integers(-1, 9), moment), min_size=2, max_size=24
)


class CountingMachine(RuleBasedStateMachine):
    """One question from its first rating on.

    The current state is read from the database, never remembered.
    """

    @initialize(
        scale=st.sampled_from(["nominal", "ordinal", "interval"]),
        size=st.integers(2, 4),
        rows=portion,
    )
    def set_up_question(self, scale: str, size: int, rows: Portion) -> None:
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
        self.claimed_ranges: list[tuple[BacklogRange, question_counting.CountChange | None]] = []
        self.items = [
            Item.objects.create(project=project, key=str(number)).pk for number in range(ITEMS)
        ]
        self.raters = [
            Rater.objects.create(project=project, key=str(number)).pk for number in range(RATERS)
        ]
        self.import_ratings(rows)
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

    def list_active_categories(self) -> list[Category]:
        return self.question.active_categories()

    # --- raters

    @rule(item=item, rater=rater, choice=st.integers(0, 9), at=moment)
    def rate_or_change(
        self, item: int, rater: int, choice: int, at: datetime.datetime | None
    ) -> None:
        codes = [category.code for category in self.list_active_categories()]
        judgement = Judgement(
            self.items[item], self.raters[rater], codes[choice % len(codes)], rated_at=at
        )
        record_ratings({self.question: [judgement]}, by=self.user, source="form")

    @rule(item=item, rater=rater)
    def withdraw(self, item: int, rater: int) -> None:
        judgement = Judgement(self.items[item], self.raters[rater], NO_CODE)
        record_ratings({self.question: [judgement]}, by=self.user, source="api")

    @rule(rows=portion)
    def import_ratings(self, rows: Portion) -> None:
        codes = [category.code for category in self.list_active_categories()]
        judgements = [
            Judgement(
                self.items[item],
                self.raters[rater],
                NO_CODE if choice < 0 else codes[choice % len(codes)],
                rated_at=None if choice < 0 else at,
            )
            for (item, rater), (choice, at) in rows.items()
        ]
        record_ratings({self.question: judgements}, by=self.user, source="import")

    # --- leads

    def change_scale(self, categories: list[tuple[int | None, NewCategory]]) -> None:
        question = self.question
        try:
            with transaction.atomic():
                change_categories(
                    question=question, scale=question.scale, categories=categories, by=self.user
                )
        # Categories in use, or too few, may be refused, but must never lead to wrong counts.
        except InvalidProjectChange as error:
            note(f"refused: {error}")

    def list_current_categories(self) -> list[tuple[int | None, NewCategory]]:
        return [
            (
                category.code,
                NewCategory(label=category.label, value=category.value, hotkey=category.hotkey),
            )
            for category in self.list_active_categories()
        ]

    @rule(
        change=st.sampled_from(["add", "retire", "reorder", "weights", "zone"]),
        position=st.integers(0, 9),
        order=st.randoms(use_true_random=False),
        zone=st.sampled_from(ZONES),
    )
    def change_settings(self, change: str, position: int, order: Any, zone: str) -> None:
        categories = self.list_current_categories()
        if change == "add" and len(categories) < 6:
            number = Category.objects.filter(question=self.question_id).count()
            categories.insert(
                position % (len(categories) + 1),
                (None, NewCategory(label=f"c{number}", value=number)),
            )
            self.change_scale(categories)
        elif change == "retire":
            del categories[position % len(categories)]
            self.change_scale(categories)
        elif change == "reorder":
            order.shuffle(categories)
            self.change_scale(categories)
        elif change == "weights":
            self.change_weights(position / 10, custom=position > 2)
        elif change == "zone":
            change_project(
                project=Project.objects.get(pk=self.project_id), by=self.user, time_zone=zone
            )

    def change_weights(self, weight: float, *, custom: bool) -> None:
        size = len(self.list_active_categories())
        matrix = [[1.0 if i == j else weight for j in range(size)] for i in range(size)]
        weights = "custom" if custom else "quadratic"
        change_weights(
            question=self.question, weights=weights, matrix=matrix if custom else None, by=self.user
        )

    # --- messages and crashes

    @rule(
        work=st.sampled_from(
            ["message", "message thrice", "portion", "readings", "sweep", "recount"]
        ),
        items=st.integers(1, 4),
    )
    def run_work(self, work: str, items: int) -> None:
        """Run one kind of work; a lost message is one whose work never runs."""
        if work.startswith("message"):
            for _attempt in range(3 if work.endswith("thrice") else 1):
                tasks.count_question(self.question_id)
        elif work == "portion":
            question_counting.count_items(self.question_id, limit=items)
        elif work == "readings":
            refresh.refresh_results(self.question_id)
        elif work == "sweep":
            question_updates.sweep_questions()
        else:
            question_updates.delete_counts_and_results(self.question)

    @rule(
        step=st.sampled_from(["open", "take", "take", "read", "read", "finish", "finish"]),
        index=st.integers(0, 5),
    )
    def process_range(self, step: str, index: int) -> None:
        """Let workers claim, read and save ranges of a backlog between the other steps.

        A worker may be arbitrarily slow. No lease lasts, so that one worker takes over the range of
        another one.
        """
        claimed = self.claimed_ranges
        if step == "open":
            backlog.start_backlog(self.question_id)
        elif step == "take":
            backlog_range = backlog.claim_range(self.question_id)
            if backlog_range is not None:
                claimed.append((backlog_range, None))
        elif claimed:
            backlog_range, change = claimed.pop(index % len(claimed))
            if step == "read":
                claimed.append((backlog_range, backlog.tally_range(backlog_range)))
            elif change is not None:
                backlog.add_counts_of_range(backlog_range, change)

    @rule(
        work_name=st.sampled_from(["portion", "share", "readings", "both", "recount"]),
        number=st.integers(0, 30),
    )
    def crash_at_statement(self, work_name: str, number: int) -> None:
        works: dict[str, tuple[int, Callable[[], Any]]] = {
            "portion": (15, lambda: question_counting.count_items(self.question_id, limit=2)),
            "share": (25, lambda: backlog.count_ranges(self.question_id)),
            "readings": (31, lambda: refresh.refresh_results(self.question_id)),
            "both": (31, lambda: question_updates.update_question(self.question_id)),
            "recount": (10, lambda: question_updates.delete_counts_and_results(self.question)),
        }
        statements, work = works[work_name]
        self.run_with_crash(number % statements, work)

    def run_with_crash(self, number: int, work: Any) -> None:
        try:
            with crash_at(number):
                work()
        except SimulatedCrash as error:
            note(f"crashed at {str(error)[:60]}")

    # --- invariants

    @invariant()
    def check_uncounted_ratings(self) -> None:
        if hasattr(self, "question_id"):
            listed_ratings = uncounted_ratings.get_ratings([self.question_id])
            assert set(listed_ratings) == set(
                Rating.objects.filter(question=self.question_id).uncounted()
            )

    @invariant()
    def check_counts(self) -> None:
        if (
            not hasattr(self, "question_id")
            or Rating.objects.filter(question=self.question_id).uncounted().exists()
        ):
            return
        question = self.question
        assert load_stored_counts(question) == recount(question)


@pytest.mark.timeout(600)  # a failure is made smaller before it is shown
def test_any_history_ends_in_exact_numbers(small_batches: None) -> None:
    run_state_machine_as_test(
        CountingMachine,
        settings=settings(
            max_examples=choose_number(8, full=15),
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
