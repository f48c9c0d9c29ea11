"""Badge of a gate: a small SVG picture with its name and its last verdict."""

from __future__ import annotations

from xml.sax.saxutils import escape

from quality.models import Gate, VerdictValue

from .verdict_texts import get_verdict_label

# White text on them has a contrast of 4.5 or more.
COLORS = {
    VerdictValue.PASS.value: "#1a7f37",
    VerdictValue.FAIL.value: "#c62828",
    VerdictValue.NOT_ENOUGH.value: "#8a5a00",
}
PENDING_COLOR = NAME_COLOR = "#4a4f57"
HEIGHT, PADDING = 20, 8
NARROW_WIDTH, WIDE_WIDTH = 6.6, 12.0  # of a Latin and of a Chinese character, in pixels
MAX_NAME_LENGTH = 40


def render_badge(gate: Gate) -> str:
    """Return the badge of a gate as SVG, in the reader's language."""
    name = gate.name if len(gate.name) <= MAX_NAME_LENGTH else f"{gate.name[:MAX_NAME_LENGTH]}…"
    text = get_verdict_label(gate)
    left, right = _measure_width(name), _measure_width(text)
    width = left + right
    label = escape(f"{name}: {text}", {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" role="img"'
        f' aria-label="{label}"><title>{label}</title>'
        f'<rect width="{width}" height="{HEIGHT}" rx="3" fill="{NAME_COLOR}"/>'
        f'<rect x="{left}" width="{right}" height="{HEIGHT}" rx="3"'
        f' fill="{COLORS.get(gate.verdict, PENDING_COLOR)}"/>'
        '<g fill="#fff" font-family="system-ui,sans-serif" font-size="12" text-anchor="middle">'
        f'<text x="{left / 2}" y="14">{escape(name)}</text>'
        f'<text x="{left + right / 2}" y="14">{escape(text)}</text></g></svg>'
    )


def _measure_width(text: str) -> int:
    """Return the width of a part of the badge in pixels."""
    return round(
        sum(WIDE_WIDTH if ord(character) >= 0x2E80 else NARROW_WIDTH for character in text)
        + 2 * PADDING
    )
