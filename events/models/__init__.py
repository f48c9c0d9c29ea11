"""Models of events, of their feed, and of webhooks."""

from .event import Event, EventBatch, FeedState
from .webhook import Delivery, Webhook

__all__ = ["Delivery", "Event", "EventBatch", "FeedState", "Webhook"]
