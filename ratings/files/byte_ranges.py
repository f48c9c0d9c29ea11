"""Delivery of stored files with byte ranges, for players and for downloads that are resumed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

CHUNK_BYTES = 1 << 18
RANGE_PATTERN = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


def build_file_response(
    request: HttpRequest,
    path: Path,
    *,
    content_type: str,
    headers: Mapping[str, str],
    etag: str = "",
) -> HttpResponseBase:
    """Return the file, or the byte range that the request names.

    A range that the file does not have gets the status 416. ``etag``: of the content, in quotes. A
    range with another ``If-Range`` gets the complete file. Raises FileNotFoundError if the path
    does not exist.
    """
    size = path.stat().st_size
    byte_range = None
    if request.headers.get("If-Range", etag) == etag:
        byte_range = parse_range(request.headers.get("Range", ""), size)
    first, last = byte_range or (0, size - 1)
    if byte_range and first > last:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    all_headers = {
        "Content-Length": str(last - first + 1),
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
        **({"ETag": etag} if etag else {}),
        **headers,
    }
    if byte_range:
        all_headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    return StreamingHttpResponse(
        _iter_bytes(path, first, last) if request.method == "GET" else iter(()),
        status=206 if byte_range else 200,
        content_type=content_type,
        headers=all_headers,
    )


def parse_range(header: str, size: int) -> tuple[int, int] | None:
    """Return the first and last byte of the requested range.

    None without a range, or for one that is not supported (several parts). If the range cannot be
    satisfied, the first is after the last.
    """
    match = RANGE_PATTERN.fullmatch(header.strip())
    if match is None or not any(match.groups()):
        return None
    first, last = match.groups()
    if not first:  # a suffix range: the last N bytes
        return (max(size - int(last), 0), size - 1) if int(last) else (1, 0)
    end = min(int(last), size - 1) if last else size - 1
    return (int(first), end) if int(first) < size else (1, 0)


def _iter_bytes(path: Path, first: int, last: int) -> Iterator[bytes]:
    n_left = last - first + 1
    with path.open("rb") as file:
        file.seek(first)
        while n_left > 0 and (chunk := file.read(min(CHUNK_BYTES, n_left))):
            n_left -= len(chunk)
            yield chunk
