"""Types of images, audio and video that items may have.

Readers of imports use them in commands that start without the site, such as `manage.py agreement`,
so this module imports nothing of it.
"""

from __future__ import annotations

# extension -> (kind, content type). Nothing that a browser would execute: no SVG, HTML or PDF.
MEDIA_TYPES = {
    "png": ("image", "image/png"),
    "jpg": ("image", "image/jpeg"),
    "gif": ("image", "image/gif"),
    "webp": ("image", "image/webp"),
    "avif": ("image", "image/avif"),
    "mp3": ("audio", "audio/mpeg"),
    "ogg": ("audio", "audio/ogg"),
    "wav": ("audio", "audio/wav"),
    "flac": ("audio", "audio/flac"),
    "m4a": ("audio", "audio/mp4"),
    "mp4": ("video", "video/mp4"),
    "webm": ("video", "video/webm"),
}
