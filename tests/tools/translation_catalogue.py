"""Translatable texts of this repository and their catalogues, updated by `make messages`.

Texts are extracted in pure Python, so that nobody has to install gettext: Python files are parsed,
and templates go through Django's own templatize, which leaves only gettext calls.
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
# Function -> positions of singular, plural and context among its arguments.
ARGUMENT_POSITIONS: dict[str, tuple[int, int | None, int | None]] = {
    "gettext": (0, None, None),
    "ngettext": (0, 1, None),
    "pgettext": (1, None, 0),
    "npgettext": (1, 2, 0),
}
FUNCTIONS = {
    **{
        f"{name}{kind}": places
        for name, places in ARGUMENT_POSITIONS.items()
        for kind in ("", "_lazy", "_noop")
    },
    **dict.fromkeys(("_", "_lazy"), ARGUMENT_POSITIONS["gettext"]),
}
STRING_LITERAL = r"""u?'(?:\\.|[^'\\])*'|u?"(?:\\.|[^"\\])*\""""
GETTEXT_CALL = re.compile(rf"(?<![\w.])(?:n?p?gettext|_)\((?:{STRING_LITERAL}|count|[,\s])+\)")
# Placeholders: %(name)s, %s and, for format_lazy, {} and {name}.
PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%[sd]|\{\w*\}")

Key = tuple[str | None, str]  # context, text


@dataclass
class TranslatableText:
    """A translatable text: its plural, if it has one, and the files that contain it."""

    plural: str | None = None
    files: list[str] = field(default_factory=list)


def collect_texts() -> dict[Key, TranslatableText]:
    """Return every text of the Python files and the templates, in the order of the files."""
    texts_by_key: dict[Key, TranslatableText] = {}
    for path in list_source_files():
        for context, text, plural in iter_texts(path):
            entry = texts_by_key.setdefault((context, text), TranslatableText())
            entry.plural = entry.plural or plural
            name = path.relative_to(ROOT).as_posix()
            if name not in entry.files:
                entry.files.append(name)
    return texts_by_key


def list_source_files() -> list[Path]:
    """Return the Python files and templates that may contain translatable texts."""
    python_files = [
        path
        for app in APPS
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts
    ]
    return sorted(python_files) + sorted(
        path for path in (ROOT / "templates").rglob("*") if path.is_file()
    )


def iter_texts(path: Path) -> Iterator[tuple[str | None, str, str | None]]:
    """Yield (context, text, plural) of one file.

    Context and plural are None for a text without them.
    """
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _iter_gettext_calls(ast.parse(source, str(path)))
    else:
        for call in GETTEXT_CALL.finditer(templatize(source, origin=str(path))):
            yield from _iter_gettext_calls(ast.parse(call[0]))


def _iter_gettext_calls(tree: ast.AST) -> Iterator[tuple[str | None, str, str | None]]:
    """Yield (context, text, plural) of each gettext call, in the order of the source.

    Context and plural are None where the call has none; calls without a literal text are left out.
    """
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        if name not in FUNCTIONS:
            continue
        literals = [_get_literal(argument) for argument in call.args]
        text, plural, context = (
            None if position is None else literals[position] for position in FUNCTIONS[name]
        )
        if text is not None:  # None: a variable, whose text is marked where it is written
            yield context, text, plural


def _get_literal(node: ast.expr) -> str | None:
    """Return the value of a string literal, or None for any other expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def list_languages() -> list[str]:
    """Return the languages that have a catalogue."""
    return sorted(path.name for path in LOCALE.iterdir() if path.is_dir())


def get_catalogue_path(language: str) -> Path:
    """Return the path of the language's .po file."""
    return LOCALE / language / "LC_MESSAGES" / "django.po"


def read_catalogue(language: str) -> polib.POFile:
    """Return the catalogue of the language."""
    return polib.pofile(str(get_catalogue_path(language)), wrapwidth=110)


def count_plural_forms(catalogue: polib.POFile) -> int:
    """Return the number of plural forms of the catalogue's language."""
    match = re.search(r"nplurals=(\d)", catalogue.metadata["Plural-Forms"])
    assert match
    return int(match[1])


def merge_texts(catalogue: polib.POFile, texts: dict[Key, TranslatableText]) -> polib.POFile:
    """Replace the entries of a catalogue by the texts, in their order; keep translations.

    Returns the same catalogue.
    """
    old_entries = {(entry.msgctxt, entry.msgid): entry for entry in catalogue if not entry.obsolete}
    n_forms = count_plural_forms(catalogue)
    catalogue.clear()
    for (context, text), translatable in texts.items():
        entry = old_entries.get((context, text)) or polib.POEntry(msgctxt=context, msgid=text)
        entry.occurrences = [(name, "") for name in translatable.files]
        fuzzy = ["fuzzy"] if entry.fuzzy else []
        entry.flags = fuzzy + (
            ["python-format"] if "%" in "".join(PLACEHOLDER.findall(text)) else []
        )
        entry.msgid_plural = translatable.plural or ""
        if translatable.plural and not entry.msgstr_plural:
            entry.msgstr, entry.msgstr_plural = "", dict.fromkeys(range(n_forms), entry.msgstr)
        elif not translatable.plural:
            entry.msgstr, entry.msgstr_plural = entry.msgstr or entry.msgstr_plural.get(0, ""), {}
        catalogue.append(entry)
    return catalogue


def main() -> None:
    """Update and compile the catalogues, and print untranslated texts."""
    texts = collect_texts()
    for language in list_languages():
        catalogue = merge_texts(read_catalogue(language), texts)
        catalogue.save()
        catalogue.save_as_mofile(str(get_catalogue_path(language).with_suffix(".mo")))
        for entry in catalogue.untranslated_entries():
            sys.stdout.write(f"{language}: {entry.occurrences[0][0]}: {entry.msgid}\n")
        sys.stdout.write(
            f"{language}: {catalogue.percent_translated()} % of {len(catalogue)} texts translated\n"
        )


if __name__ == "__main__":
    main()
