"""A page as somebody reads it who may see this page alone: nothing in it leads elsewhere and
nothing can be sent. It looks at the finished HTML, so that no template can forget it."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser

# What the frame keeps: the reader may choose a language.
LANGUAGE = "language-form"
CONTROLS = ("input", "select", "textarea", "button", "datalist", "option", "optgroup", "output")
ASK = ("hx-get", "hx-post", "hx-put", "hx-patch", "hx-delete", "action", "formaction", "href")
STYLE = ("#", "/static/", "/fixed/")  # what an address of its own style begins with
VOID = ("input", "br", "img", "hr", "meta", "link", "wbr", "source", "col")
_CHART = re.compile(r"/projects/\d+/(?:charts/)?([\w-]+)\.json\b")


def unlinked(html: str, own: str) -> str:
    """``own``: the path of the page itself, with a slash at its end; its charts stand below it."""
    found = _Unlinked(own)
    found.feed(html)
    found.close()
    return "".join(found.out)


class _Unlinked(HTMLParser):
    def __init__(self, own: str) -> None:
        super().__init__(convert_charrefs=False)
        self.own = own
        self.out: list[str] = []
        self.left_out = ""  # the element that is left out with all that stands in it
        self.depth = 0  # of elements of its name in it
        self.links: list[bool] = []  # of the open <a>: whether it stays
        self.in_language = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.left_out:
            self.depth += tag == self.left_out
            return
        known = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.in_language = known.get("id") == LANGUAGE
            if self.in_language:
                self.out.append(self.get_starttag_text() or "")
        elif tag in CONTROLS and not self._stays(tag, known):
            self._leave_out(tag)
        elif tag == "a":
            self._link(known)
        else:
            self.out.append(self._tag(tag, attrs))

    def _stays(self, tag: str, known: dict[str, str]) -> bool:
        if self.in_language or known.get("form") == LANGUAGE:
            return True
        # They open a text on this page, or save a chart of it.
        return tag == "button" and ("popovertarget" in known or "data-download" in known)

    def _link(self, known: dict[str, str]) -> None:
        stays = known.get("href", "").startswith("#")
        if not stays and "button" in known.get("class", "").split():
            self._leave_out("a")
            return
        self.links.append(stays)
        self.out.append((self.get_starttag_text() or "") if stays else "<span>")

    def _leave_out(self, tag: str) -> None:
        if tag not in VOID:
            self.left_out, self.depth = tag, 1

    def _tag(self, tag: str, attrs: list[tuple[str, str | None]]) -> str:
        whole = self.get_starttag_text() or ""
        stays = [(name, value) for name, value in attrs if self._goes(name, value)]
        kept = [(name, self._value(name, value)) for name, value in stays]
        if kept == attrs:
            return whole
        told = [f' {name}="{escape(value)}"' if value else f" {name}" for name, value in kept]
        return f"<{tag}{''.join(told)}>"

    def _goes(self, name: str, value: str | None) -> bool:
        """Whether an attribute stays: the page asks for nothing but itself and its style."""
        if name not in ASK:
            return True
        return value == self.own or (name == "href" and (value or "").startswith(STYLE))

    def _value(self, name: str, value: str | None) -> str | None:
        if name == "data-chart":
            return _CHART.sub(rf"{self.own}\1.json", (value or "").partition("?")[0])
        return value

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("a", "form", *CONTROLS):
            self.handle_starttag(tag, attrs)
        else:
            self._add(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        if self.left_out:
            self.depth -= tag == self.left_out
            if not self.depth:
                self.left_out = ""
        elif tag == "form":
            if self.in_language:
                self.out.append("</form>")
            self.in_language = False
        elif tag == "a" and self.links:
            self.out.append("</a>" if self.links.pop() else "</span>")
        else:
            self.out.append(f"</{tag}>")

    def _add(self, text: str) -> None:
        if not self.left_out:
            self.out.append(text)

    def handle_data(self, data: str) -> None:
        self._add(data)

    def handle_entityref(self, name: str) -> None:
        self._add(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._add(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._add(f"<!{decl}>")
