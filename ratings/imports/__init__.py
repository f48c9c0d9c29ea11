"""Import of files: store, guess, validate the whole file, then write it in resumable batches.

uploads: the stored, unpacked, size-limited upload. decoding: bytes to text and JSON, and the sample
by which a reader recognises its files. readers: one module a file format. records: the neutral
records that every reader yields. mapping: the lead's choices of columns, labels, questions and
raters, and the guesses offered for them. validation: every problem with its line; valid records go
to staging, a scratch SQLite file. writing: staged rows to items and ratings. services: the steps a
lead takes in the wizard. jobs: the work of a Celery worker. wizard: pages and forms. command: the
same import from the command line.

It may import the layers from ratings.api down.
"""
