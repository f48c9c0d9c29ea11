"""Remove links and controls from the HTML of a page, for guests with a share link.

Works on the rendered HTML, so that no template can be forgotten.
"""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser

# Stays: the reader may choose a language.
LANGUAGE_FORM_ID = "language-form"
CONTROL_TAGS = ("input", "select", "textarea", "button", "datalist", "option", "optgroup", "output")
REQUEST_ATTRIBUTES = (
    "hx-get",
    "hx-post",
    "hx-put",
    "hx-patch",
    "hx-delete",
    "action",
    "formaction",
    "href",
)
ALLOWED_HREF_PREFIXES = ("#", "/static/", "/bundles/")  # anchors and static files
VOID_TAGS = ("input", "br", "img", "hr", "meta", "link", "wbr", "source", "col")
_CHART = re.compile(r"/projects/\d+/(?:charts/)?([\w-]+)\.json\b")


def remove_links(html: str, page_path: str) -> str:
    """Return the page without links and controls.

    ``page_path``: path of the page with a slash at its end; its charts are below it.
    """
    remover = _LinkAndControlRemover(page_path)
    remover.feed(html)
    remover.close()
    return "".join(remover.output)


class _LinkAndControlRemover(HTMLParser):
    def __init__(self, page_path: str) -> None:
        super().__init__(convert_charrefs=False)
        self.page_path = page_path
        self.output: list[str] = []
        self.skipped_tag = ""  # tag of the element that is skipped with its content
        self.skip_depth = 0  # nested open elements with this tag
        self.kept_links: list[bool] = []  # for each open <a>: whether it is kept
        self.in_language_form = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.skipped_tag:
            self.skip_depth += tag == self.skipped_tag
            return
        attr_values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.in_language_form = attr_values.get("id") == LANGUAGE_FORM_ID
            if self.in_language_form:
                self.output.append(self.get_starttag_text() or "")
        elif tag in CONTROL_TAGS and not self._is_control_kept(tag, attr_values):
            self._start_skipping(tag)
        elif tag == "a":
            self._handle_link_start(attr_values)
        else:
            self.output.append(self._render_tag(tag, attrs))

    def _is_control_kept(self, tag: str, attr_values: dict[str, str]) -> bool:
        if self.in_language_form or attr_values.get("form") == LANGUAGE_FORM_ID:
            return True
        # Buttons that open a help text on this page, or download one of its charts.
        return tag == "button" and (
            "popovertarget" in attr_values or "data-download" in attr_values
        )

    def _handle_link_start(self, attr_values: dict[str, str]) -> None:
        is_kept = attr_values.get("href", "").startswith("#")
        if not is_kept and "button" in attr_values.get("class", "").split():
            self._start_skipping("a")
            return
        self.kept_links.append(is_kept)
        self.output.append((self.get_starttag_text() or "") if is_kept else "<span>")

    def _start_skipping(self, tag: str) -> None:
        if tag not in VOID_TAGS:
            self.skipped_tag, self.skip_depth = tag, 1

    def _render_tag(self, tag: str, attrs: list[tuple[str, str | None]]) -> str:
        original = self.get_starttag_text() or ""
        kept_attrs = [
            (name, value) for name, value in attrs if self._is_attribute_kept(name, value)
        ]
        new_attrs = [(name, self._rewrite_value(name, value)) for name, value in kept_attrs]
        if new_attrs == attrs:
            return original
        parts = [f' {name}="{escape(value)}"' if value else f" {name}" for name, value in new_attrs]
        return f"<{tag}{''.join(parts)}>"

    def _is_attribute_kept(self, name: str, value: str | None) -> bool:
        """Return True unless the attribute requests anything but this page and static files."""
        if name not in REQUEST_ATTRIBUTES:
            return True
        return value == self.page_path or (
            name == "href" and (value or "").startswith(ALLOWED_HREF_PREFIXES)
        )

    def _rewrite_value(self, name: str, value: str | None) -> str | None:
        if name == "data-chart":
            return _CHART.sub(rf"{self.page_path}\1.json", (value or "").partition("?")[0])
        return value

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("a", "form", *CONTROL_TAGS):
            self.handle_starttag(tag, attrs)
        else:
            self._append(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        if self.skipped_tag:
            self.skip_depth -= tag == self.skipped_tag
            if not self.skip_depth:
                self.skipped_tag = ""
        elif tag == "form":
            if self.in_language_form:
                self.output.append("</form>")
            self.in_language_form = False
        elif tag == "a" and self.kept_links:
            self.output.append("</a>" if self.kept_links.pop() else "</span>")
        else:
            self.output.append(f"</{tag}>")

    def _append(self, text: str) -> None:
        if not self.skipped_tag:
            self.output.append(text)

    def handle_data(self, data: str) -> None:
        self._append(data)

    def handle_entityref(self, name: str) -> None:
        self._append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._append(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._append(f"<!{decl}>")
