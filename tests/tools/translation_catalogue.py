"""The translatable texts of this repository and their catalogues: `make messages` gathers, sorts
and compiles them.

Texts are found in pure Python, so that nobody has to install gettext: programs are parsed, and
templates go through Django's own templatize, which leaves nothing but calls of gettext.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polib
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[2]
LOCALE = ROOT / "locale"
APPS = ("agreement_site", "events", "core", "metrics", "projects", "quality", "ratings")
# Function -> the places of singular, plural and context among its arguments.
PLACES: dict[str, tuple[int, int | None, int | None]] = {
    "gettext": (0, None, None),
    "ngettext": (0, 1, None),
    "pgettext": (1, None, 0),
    "npgettext": (1, 2, 0),
}
FUNCTIONS = {
    **{
        f"{name}{kind}": places
        for name, places in PLACES.items()
        for kind in ("", "_lazy", "_noop")
    },
    **dict.fromkeys(("_", "_lazy"), PLACES["gettext"]),
}
LITERAL = r"""u?'(?:\\.|[^'\\])*'|u?"(?:\\.|[^"\\])*\""""
CALL = re.compile(rf"(?<![\w.])(?:n?p?gettext|_)\((?:{LITERAL}|count|[,\s])+\)")
# What is put into a text: %(name)s, %s and, for format_lazy, {} and {name}.
FILLED = re.compile(r"%\(\w+\)[a-z]|%[sd]|\{\w*\}")

Key = tuple[str | None, str]  # context, text


@dataclass
class Text:
    """A translatable text: its plural, if it has one, and the files where it stands."""

    plural: str | None = None
    files: list[str] = field(default_factory=list)


def texts() -> dict[Key, Text]:
    """Every text of the programs and the templates, in the order of the files."""
    found: dict[Key, Text] = {}
    for path in sources():
        for context, text, plural in texts_in(path):
            one = found.setdefault((context, text), Text())
            one.plural = one.plural or plural
            name = path.relative_to(ROOT).as_posix()
            if name not in one.files:
                one.files.append(name)
    return found


def sources() -> list[Path]:
    programs = [
        path
        for app in APPS
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts
    ]
    return sorted(programs) + sorted(
        path for path in (ROOT / "templates").rglob("*") if path.is_file()
    )


def texts_in(path: Path) -> Iterator[tuple[str | None, str, str | None]]:
    """(context, text, plural) of one file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _called(ast.parse(source, str(path)))
    else:
        for call in CALL.finditer(templatize(source, origin=str(path))):
            yield from _called(ast.parse(call[0]))


def _called(tree: ast.AST) -> Iterator[tuple[str | None, str, str | None]]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        if name not in FUNCTIONS:
            continue
        words = [_literal(part) for part in call.args]
        text, plural, context = (None if at is None else words[at] for at in FUNCTIONS[name])
        if text is not None:  # a name: the text itself is marked where it is written
            yield context, text, plural


def _literal(part: ast.expr) -> str | None:
    if isinstance(part, ast.Constant) and isinstance(part.value, str):
        return part.value
    return None


def languages() -> list[str]:
    return sorted(path.name for path in LOCALE.iterdir() if path.is_dir())


def source_of(language: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / "django.po"


def read(language: str) -> polib.POFile:
    return polib.pofile(str(source_of(language)), wrapwidth=110)


def number_of_plurals(catalogue: polib.POFile) -> int:
    found = re.search(r"nplurals=(\d)", catalogue.metadata["Plural-Forms"])
    assert found
    return int(found[1])


def merge(catalogue: polib.POFile, found: dict[Key, Text]) -> polib.POFile:
    """The texts of today in the order of the files, each with the translation that it has had."""
    known = {(entry.msgctxt, entry.msgid): entry for entry in catalogue if not entry.obsolete}
    n_forms = number_of_plurals(catalogue)
    catalogue.clear()
    for (context, text), one in found.items():
        entry = known.get((context, text)) or polib.POEntry(msgctxt=context, msgid=text)
        entry.occurrences = [(name, "") for name in one.files]
        fuzzy = ["fuzzy"] if entry.fuzzy else []
        entry.flags = fuzzy + (["python-format"] if "%" in "".join(FILLED.findall(text)) else [])
        entry.msgid_plural = one.plural or ""
        if one.plural and not entry.msgstr_plural:
            entry.msgstr, entry.msgstr_plural = "", dict.fromkeys(range(n_forms), entry.msgstr)
        elif not one.plural:
            entry.msgstr, entry.msgstr_plural = entry.msgstr or entry.msgstr_plural.get(0, ""), {}
        catalogue.append(entry)
    return catalogue


def main() -> None:
    """Bring the catalogues up to date, compile them, and name what is not translated."""
    found = texts()
    for language in languages():
        catalogue = merge(read(language), found)
        catalogue.save()
        catalogue.save_as_mofile(str(source_of(language).with_suffix(".mo")))
        for entry in catalogue.untranslated_entries():
            sys.stdout.write(f"{language}: {entry.occurrences[0][0]}: {entry.msgid}\n")
        sys.stdout.write(
            f"{language}: {catalogue.percent_translated()} % of {len(catalogue)} texts translated\n"
        )


if __name__ == "__main__":
    main()
