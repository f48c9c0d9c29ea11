"""/healthz: whether the site answers, and how far counting is behind. Open to everybody, so it says
nothing else."""

from __future__ import annotations

from django.db.models import Sum
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from metrics.auditing import schedule
from metrics.counting import backlog
from metrics.models import CountState
from ratings.recording import waiting


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    uncounted, oldest = waiting.how_far()
    unread = CountState.objects.aggregate(sum=Sum("unread"))["sum"] or 0
    seconds = max(0.0, (timezone.now() - oldest).total_seconds()) if oldest else 0
    open_ones = backlog.all_progress().values()
    return JsonResponse(
        {
            "status": "ok",
            "uncounted": uncounted + unread,
            "oldest_uncounted_seconds": round(seconds, 3),
            "backlog": {name: sum(one[name] for one in open_ones) for name in ("done", "total")},
            "audit": schedule.last(),
        }
    )
