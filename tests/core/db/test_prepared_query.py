"""A prepared query is built once and executed with the values of each call."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Value

from core.db.bulk import execute_statements
from core.db.prepared_query import Parameter, PreparedQuery
from projects.models import Member, Project

pytestmark = pytest.mark.django_db


def test_each_execution_has_its_own_values_in_every_part(
    make_project: Any, lead: User, viewer: User
) -> None:
    members = [
        Member.objects.create(project=make_project(user.username), user=user, role="lead")
        for user in (lead, viewer)
    ]
    of_user = Member.objects.filter(project=OuterRef("pk"), user=Parameter("user"))
    selected = Project.objects.filter(Exists(of_user), pk=Parameter("project"))
    rows = selected.order_by().annotate(kind=Value("project")).values_list("kind", "pk")
    memberships = Member.objects.filter(user=Parameter("user"), project=Parameter("project"))
    own_rows = memberships.order_by().annotate(kind=Value("member")).values_list("kind", "pk")
    query = PreparedQuery(rows.union(own_rows, all=True))

    def select_rows(user: int, project: int) -> list[Any]:
        [selected_rows] = execute_statements([(query.sql, query.bind(user=user, project=project))])
        return sorted(selected_rows)

    for member in members:
        assert select_rows(member.user_id, member.project_id) == [
            ("member", member.pk), ("project", member.project_id)
        ]  # fmt: skip
    assert select_rows(lead.pk, members[1].project_id) == []
