"""Events: what happened, recorded in the transaction of the change; their feed and webhooks.

It may import projects and the layers below.
"""
