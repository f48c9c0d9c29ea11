"""Template tags that declare a table, for HTML and CSV (core/web/tables.py).

    {% table pair in pairs name="pairs-title" sorted_by=sort %}
      {% column _("Rater") pair.rater_a header %}
      {% column _("Items") pair.n_items|count num sort="items" first="-items" %}
      {% columnblock _("Pair") hidden %}<a href="...">...</a>{% endcolumnblock %}
    {% endtable %}

``name`` is the id of the heading that labels the table. A column has a label and an expression,
which the page shows as its filters format it, and the file without format. A ``columnblock`` shows
its own HTML; the file has its expression, or its text if it is of the word ``text`` (then it has no
HTML but ``{% span "badge" %}``), or else no such column. Other tags inside a table (if, for, with)
apply to the head and to each row.

Words: ``header`` (the cell names its row), ``num``, ``hidden`` (the label is for screen readers),
``text``, ``file_only``. Options: ``class``, ``head_class`` and ``cell_class``; ``dir`` and
``data_label`` of the cell; ``about`` (HTML after the label); ``sort`` and ``first``: the key to
sort by, and the order of the first click. Options of the table: ``class``; ``id`` and
``scroll_class`` of its container; ``caption``; ``headless``; ``row_...``: attributes of each row.
"""

from __future__ import annotations

import copy
import html
from collections.abc import Iterable, Mapping, Sequence

from django import template
from django.http import HttpRequest
from django.template.base import (
    FilterExpression,
    NodeList,
    Parser,
    TextNode,
    Token,
    render_value_in_context,
    token_kwargs,
)
from django.utils.functional import Promise
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from . import tables
from .links import has_links
from .tables import Column, Table

register = template.Library()

WORDS = ("header", "num", "hidden", "text", "file_only")
CELL_OPTIONS = ("class", "cell_class", "dir")
WRITER = "_write_column"  # the variable with what a column writes: its head, a cell, or nothing
Options = Mapping[str, FilterExpression]


class ColumnNode(template.Node):
    """A column of a table: writes its heading, a cell, or a value for a file, as the table asks."""

    child_nodelists = ("body",)

    def __init__(
        self,
        label: FilterExpression,
        expression: FilterExpression | None,
        *,
        words: frozenset[str],
        options: Options,
        body: NodeList | None,
    ) -> None:
        self.label, self.expression, self.words, self.options = label, expression, words, options
        self.body = body
        self.raw = _strip_formats(expression) if expression else None
        self.is_exported = expression is not None or "text" in words
        self.tag = 'th scope="row"' if "header" in words else "td"
        cell_options = [self.options[name] for name in CELL_OPTIONS if name in self.options]
        has_variables = any(option.is_var for option in cell_options) or "data_label" in options
        # The same for all rows: rendered once, because a page has a thousand cells.
        self.cell_attributes = (
            None if has_variables else self._render_attributes(template.Context())
        )

    def render(self, context: template.Context) -> str:
        text: str = context[WRITER](self)
        return text

    def get_label(self, context: template.Context) -> str:
        return " ".join(str(self.label.resolve(context)).split())

    def get_value(self, context: template.Context) -> object:
        if self.raw is not None:
            autoescape, context.autoescape = context.autoescape, False  # for join
            value = self.raw.resolve(context, ignore_failures=True)
            context.autoescape = autoescape
            return value
        assert self.body is not None
        # The body has no tags, only escaped characters.
        return html.unescape(self.body.render(context))

    def render_head(self, context: template.Context, sorted_by: str) -> str:
        if "file_only" in self.words:
            return ""
        label = conditional_escape(self.label.resolve(context))
        attributes = self._render_class(context, "head_class")
        if "hidden" in self.words:
            label = format_html('<span class="visually-hidden">{}</span>', label)
        elif "sort" in self.options and sorted_by and has_links():
            key, first = self._resolve(context, "sort"), self._resolve(context, "first")
            attributes += _render_sort_state(key, sorted_by)
            label = _render_sort_link(
                context["request"], label, key, first=first or key, sorted_by=sorted_by
            )
        about = self._resolve(context, "about")
        about_html = f" {conditional_escape(about)}" if about else ""
        return f'<th scope="col"{attributes}>{label}{about_html}</th>'

    def render_cell(self, context: template.Context) -> str:
        if "file_only" in self.words:
            return ""
        content = ""
        if self.body is not None:
            content = self.body.render(context)
        elif self.expression is not None:
            value = self.expression.resolve(context)
            content = render_value_in_context(value, context)
        attributes = self.cell_attributes
        if attributes is None:
            attributes = self._render_attributes(context)
        return f"<{self.tag}{attributes}>{content}</{self.tag[:2]}>"

    def _render_attributes(self, context: template.Context) -> str:
        names = {"dir": "dir", "data-label": "data_label"}
        values = {name: self._resolve(context, option) for name, option in names.items()}
        return self._render_class(context, "cell_class") + _render_attributes(values)

    def _render_class(self, context: template.Context, part: str) -> str:
        names = ["num"] if "num" in self.words else []
        names += [str(self._resolve(context, name)) for name in ("class", part)]
        value = " ".join(filter(None, names))
        return format_html(' class="{}"', value) if value else ""

    def _resolve(self, context: template.Context, name: str) -> str:
        option = self.options.get(name)
        value = option.resolve(context) if option is not None else ""
        return "" if value is None else value


class TableNode(template.Node):
    """A table: renders its rows as HTML, or fills the requested ``Export`` with a ``Table``."""

    def __init__(
        self, variables: list[str], rows: FilterExpression, options: Options, columns: NodeList
    ) -> None:
        self.variables, self.rows, self.options, self.columns = variables, rows, options, columns

    child_nodelists = ("columns",)

    def render(self, context: template.Context) -> SafeString:
        options = {
            name: expression.resolve(context)
            for name, expression in self.options.items()
            if not name.startswith("row_")
        }
        export = tables.get_export()
        with context.push():
            if export is None:
                return mark_safe(self._render_html(context, options))  # noqa: S308
            if export.name == options["name"]:
                export.table = self._build_table(context, headless=bool(options.get("headless")))
        return SafeString()

    def _build_table(self, context: template.Context, *, headless: bool) -> Table:
        columns: list[Column] = []
        values: list[object] = []

        def add_column(node: ColumnNode) -> str:
            if node.is_exported:
                columns.append(Column("" if headless else node.get_label(context)))
            return ""

        def add_value(node: ColumnNode) -> str:
            if node.is_exported:
                values.append(node.get_value(context))
            return ""

        context[WRITER] = add_column
        self.columns.render(context)
        context[WRITER] = add_value
        for _row in self._iter_rows(context):
            values.clear()
            self.columns.render(context)
            for column, value in zip(columns, values, strict=True):
                column.values.append(value)
        return Table(columns)

    def _render_html(self, context: template.Context, options: Mapping[str, str]) -> str:
        head = "" if options.get("headless") else self._render_head(context, options)
        context[WRITER] = lambda node: node.render_cell(context)
        body = [
            f"<tr{self._render_row_attributes(context)}>{self.columns.render(context)}</tr>\n"
            for _row in self._iter_rows(context)
        ]
        container = format_html(
            '<div class="{}"{} tabindex="0" role="group" aria-labelledby="{}">\n'
            '<table class="{}">\n',
            f"table-scroll {options.get('scroll_class', '')}".strip(),
            format_html(' id="{}"', options["id"]) if "id" in options else "",
            options["name"],
            f"table {options.get('class', '')}".strip(),
        )
        caption = options.get("caption", "")
        caption = format_html("<caption>{}</caption>", caption) if caption else ""
        return f"{container}{caption}{head}<tbody>\n{''.join(body)}</tbody>\n</table>\n</div>"

    def _render_head(self, context: template.Context, options: Mapping[str, str]) -> str:
        sorted_by = options.get("sorted_by", "")
        context[WRITER] = lambda node: node.render_head(context, sorted_by)
        return f"<thead>\n<tr>{self.columns.render(context)}</tr>\n</thead>\n"

    def _render_row_attributes(self, context: template.Context) -> str:
        values = {
            name.removeprefix("row_").replace("_", "-"): expression.resolve(context)
            for name, expression in self.options.items()
            if name.startswith("row_")
        }
        return _render_attributes(values)

    def _iter_rows(self, context: template.Context) -> Iterable[object]:
        for row in self.rows.resolve(context, ignore_failures=True) or ():
            values = (row,) if len(self.variables) == 1 else row
            for name, value in zip(self.variables, values, strict=True):
                context[name] = value
            yield row


@register.simple_tag(takes_context=True)
def csv_link(context: template.Context, *parts: object) -> SafeString:
    """Render the CSV link of the table whose heading has the id ``parts``, joined to one text.

    Empty on pages that cannot be requested again (not GET) and on shared pages.
    """
    name = "".join(map(str, parts))
    request: HttpRequest = context["request"]
    # The page that answers a form cannot be requested again; a shared page has no files.
    if request.method != "GET" or not has_links():
        return SafeString()
    query = request.GET.copy()
    for name_to_drop in ("page", "after"):
        query.pop(name_to_drop, None)
    query[tables.PARAMETER] = name
    return format_html(
        '<a class="button button--quiet button--small table-csv" href="{0}?{1}" id="{2}-csv" '
        'aria-labelledby="{2}-csv {2}">CSV</a>',
        request.path, query.urlencode(), name,
    )  # fmt: skip


@register.simple_block_tag
def span(
    content: str | Promise, css_class: str, tag: str = "span", **attributes: str
) -> SafeString:
    """Render an element, by default a <span>, around the content; in a file, the content alone."""
    if tables.is_exporting():
        return conditional_escape(str(content))
    all_attributes = _render_attributes({"class": css_class, **attributes})
    return format_html(f"<{tag}{{}}>{{}}</{tag}>", all_attributes, content)


@register.simple_block_tag
def capture(content: SafeString) -> SafeString:
    """Return the HTML between the tags, for a variable: ``{% capture as name %}``."""
    return content


@register.filter("at")
def get_value_at(values: Sequence[object], position: int) -> object:
    """Return ``values[position]`` for a variable position; "" if there are no values."""
    return values[position] if values else ""


def _render_attributes(attributes: Mapping[str, object]) -> SafeString:
    """Return the attributes of an element, without empty ones."""
    return format_html_join(
        "", ' {}="{}"', ((name, value) for name, value in attributes.items() if value)
    )


def _strip_formats(expression: FilterExpression) -> FilterExpression:
    """Return the expression without the filters that only format a value for the page."""
    raw = copy.copy(expression)
    raw.filters = [
        (getattr(function, "export_value", function), arguments)
        for function, arguments in expression.filters
    ]
    return raw


def _render_sort_state(key: str, sorted_by: str) -> str:
    state = {key: "ascending", f"-{key}": "descending"}.get(sorted_by)
    return format_html(' aria-sort="{}"', state) if state else ""


def _render_sort_link(
    request: HttpRequest, label: str, key: str, *, first: str, sorted_by: str
) -> SafeString:
    """Render the link that sorts by a column; a second click reverses the order."""
    order = {key: f"-{key}", f"-{key}": key}.get(sorted_by, first)
    query = request.GET.copy()
    for name in ("page", "version"):
        query.pop(name, None)
    query["sort"] = order
    return format_html('<a id="sort-{}" href="?{}">{}</a>', key, query.urlencode(), label)


@register.tag("column")
def compile_column(parser: Parser, token: Token) -> ColumnNode:
    """Compile the tag ``column``, whose cells show the value of an expression."""
    return _compile_column(parser, token, None)


@register.tag("columnblock")
def compile_columnblock(parser: Parser, token: Token) -> ColumnNode:
    """Compile the tag ``columnblock``, whose cells show the HTML up to ``endcolumnblock``."""
    body = parser.parse(("endcolumnblock",))
    parser.delete_first_token()
    return _compile_column(parser, token, body)


def _compile_column(parser: Parser, token: Token, body: NodeList | None) -> ColumnNode:
    _tag, label, *bits = token.split_contents()
    words = frozenset(bit for bit in bits if bit in WORDS)
    bits = [bit for bit in bits if bit not in WORDS]
    options = {}
    expressions = []
    while bits:
        pairs = token_kwargs(bits, parser)
        options.update(pairs)
        if bits:
            expressions.append(parser.compile_filter(bits.pop(0)))
    if len(expressions) > 1 or (body is None and (not expressions or "text" in words)):
        raise template.TemplateSyntaxError(f"{token.contents}: a column has one expression")
    expression = expressions[0] if expressions else None
    return ColumnNode(
        parser.compile_filter(label), expression, words=words, options=options, body=body
    )


@register.tag("table")
def compile_table(parser: Parser, token: Token) -> TableNode:
    """Compile ``{% table row in rows name="heading-id" %}`` up to ``{% endtable %}``.

    Raises TemplateSyntaxError without a name.
    """
    _tag, *bits = token.split_contents()
    position = bits.index("in")
    variables = "".join(bits[:position]).split(",")
    rows = parser.compile_filter(bits[position + 1])
    options = token_kwargs(bits[position + 2 :], parser)
    if "name" not in options:
        raise template.TemplateSyntaxError("a table needs name, the id of its heading")
    nodes = parser.parse(("endtable",))
    parser.delete_first_token()
    # Without the white space between the columns, which would stand in every row.
    columns = [node for node in nodes if not isinstance(node, TextNode) or node.s.strip()]
    return TableNode(variables, rows, options, NodeList(columns))
