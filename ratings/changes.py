"""How others learn, after the commit, that ratings of a question changed: they listen here."""

from __future__ import annotations

from core.jobs.hooks import Listeners

listeners = Listeners()  # a number is a question's id
listen = listeners.listen
announce = listeners.announce
