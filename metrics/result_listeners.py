"""How others learn, after the commit, that readings of a question moved: they listen here.

A mail below a limit, or an alarm, begins with a listener. What it hears of it must also find by
itself later, as the sweep does with counts: a worker that is killed announces nothing.
"""

from __future__ import annotations

from core.jobs.hooks import Listeners

listeners = Listeners()  # a number is a question's id
listen = listeners.listen
announce = listeners.announce
