"""Import of files: store, guess, validate the whole file, then write it in resumable batches.

uploads: the stored, unpacked, size-limited upload. decoding: bytes to text and JSON, and the sample
by which a reader recognises its files. readers: the file formats. records: the neutral records that
every reader yields. mapping: the lead's choices of columns, questions and raters, and the guesses
offered for them. values: what the labels mean. staging: every problem with its line; valid records
go to a scratch SQLite file. batch_writer and item_writer: staged rows to items and ratings.
services: the steps a lead takes in the wizard. jobs: the work of a Celery worker. wizard: pages and
forms. command: the same import without the wizard, for the command line and the API.

It may import the layers from ratings.api down.
"""
