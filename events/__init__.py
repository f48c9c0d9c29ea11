"""Events: what happened, recorded in the transaction of the change; their feed and webhooks.

It may import the layers from projects down.
"""
