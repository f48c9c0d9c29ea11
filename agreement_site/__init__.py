"""The site: settings, URLs, Celery, accounts, mail, audit log, monitoring and the server.

It may import the layers from quality down.
"""
