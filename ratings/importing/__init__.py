"""A file becomes ratings: store, guess, check the whole, and only then write, in resumable pieces.

files: the upload on disk, unpacked, bounded · sources: a reader for each kind of file · columns:
what the columns mean · table, judging, checking: every problem with its line, and the right rows
*staged* in a scratch file · writing: staged rows to ratings · steps: what the lead does in the
wizard · work: what a worker does.
"""
