"""A CSV file becomes ratings: store, guess, check the whole, and only then write, in resumable
pieces.

files -> the upload on disk, unpacked, bounded · reading -> its records · guessing -> what the
columns mean · checking -> every problem with its line, and the rows *staged* in a scratch file ·
writing -> staged rows to ratings · actions -> the steps of the wizard and of the worker.
"""
