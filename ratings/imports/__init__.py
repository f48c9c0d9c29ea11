"""A file becomes items and ratings: store, guess, check the whole, and only then write, in
resumable pieces.

files: the upload on disk, unpacked, bounded · sample: its beginning, by which a source knows it ·
sources: a reader for each kind of file · shape: what readers yield, whatever tool wrote the file ·
columns, table: what the columns of a table mean, and its rows · judging, checking: every problem
with its line, and what is right *staged* in a scratch file · writing: what is staged to items and
ratings · steps: what the lead does in the wizard · work: what a worker does · unattended: both in
one, for the command line.
"""
