"""Prometheus metrics that each process records.

/metrics adds them up over a machine's processes (agreement_site/monitoring/prometheus.py).
"""

from __future__ import annotations

from prometheus_client import Counter, Histogram

REQUESTS = Counter(
    "concord_requests", "Requests answered, by name of the route", ["route", "method", "status"]
)
REQUEST_SECONDS = Histogram(
    "concord_request_seconds",
    "Time from a request's connection slot to its response",
    ["route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
TASK_SECONDS = Histogram(
    "concord_task_seconds",
    "Time of a worker's task or sweep: counting, results, imports, audits",
    ["task"],
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300),
)
TASKS_FAILED = Counter(
    "concord_tasks_failed", "Tasks and sweeps that ended with an error", ["task"]
)
TASK_MESSAGES_FAILED = Counter(
    "concord_task_messages_failed", "Task messages that the broker did not accept"
)
