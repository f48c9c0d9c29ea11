"""Limits that keep the code base in standard English (docs/glossary.md).

`pytest tests/test_naming.py -s` prints the figures. The limits are tightened when a figure improves.
In healthchecks, job-server, djangoproject.com, httpx, Label Studio and Read the Docs, 50 to 85% of
functions begin with a verb, none to two are one vague word, and 0 to 0.1% of local names are vague.
"""

# ruff: noqa: T201, SIM905

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
PRODUCT = ("agreement_site", "core", "events", "metrics", "projects", "quality", "ratings")
SCRIPTS = ("benchmarks", "tests")

MIN_VERB_FIRST = 0.90  # share of functions
MAX_VAGUE_LOCALS = 0.0  # share of local names
MAX_REPEATED_CLASS_NAMES = 10
MAX_QUESTION_DOCSTRINGS = 0.0  # share of docstrings
MAX_MODULES_PER_PACKAGE = 14
MAX_UNTYPED_DICTS = 120  # `dict[str, Any]`
MAX_HTML_PARSERS = 0  # modules

VERBS = frozenset(
    """
    accept acquire act adapt add adjust advance announce answer append apply archive are as assign attribute
    audit authenticate average backdate begin bootstrap build calibrate call can cancel carry center change
    check choose claim classify clean clear clip close collect compact compare compute concatenate configure
    confirm construct continue convert copy correct count create cumulate cut decline declare decode decorate
    delete derive describe detect diagnose diff disclose discard dispatch display divide download draw drop edit
    encode end ensure escape estimate evaluate execute exit expand expire explain export extend extract fetch
    fill filter find finish fit flatten flush fold for forget format from generate get grant group guess
    handle has hash hide import increment index install interpret invite is iter join judge label leave limit link list
    load lock log look make manage map mark mask match matches may measure merge needs normalize notify number
    observe open order override pad paginate parse patch pause plan pop populate post postpone prepare preload
    preview print process pseudonymize put query quote raise rank rate read rearrange rebuild receive recompute
    record recount redact redirect reduce refresh register reject release remove rename render reopen reorder
    repair replace report request require requires reread reset resolve respond restart restore restrict resume
    retire reuse revoke rewrite run sample save scan score search select send serialize serve set should show
    sign signal simulate skip sleep sort split spool stack star start stop store stream strip submit subtract
    stage suggest sum summarize sweep take tally thin tie to trace transform transition trim truncate try
    undo unescape unpack unsubscribe update upload upsert use validate wait waive wake warn weigh widen withdraw work wrap
    write
    """.split()
)
# Names that frameworks call.
HOOKS = frozenset(
    """
    file_complete form_invalid form_valid gettext_noop new_file on_authentication_error pre_save
    pre_social_login ready main bad_request forbidden csrf_failure not_found server_error healthz livez
    """.split()
)
VAGUE_FUNCTIONS = frozenset(
    """
    about alone anew apart asked at begun chosen come drawn each ever found given gone had held kept known
    later left look looked made mine moved named of one ones others own rest said seen shown since some stands
    stood taken told those unless wanted whole whose
    """.split()
)
VAGUE_LOCALS = frozenset(
    """
    asked chosen drawn found given gone kept known made mine one said seen shown stands stood taken told
    wanted whole
    """.split()
)
QUESTION_WORDS = re.compile(
    r"(What|Which|Who|Whom|Whose|Whoever|Whatever|Whether|How|Where|When|Why)\b"
)


def iter_modules(*packages: str) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the path and the syntax tree of each module, migrations left out."""
    for package in packages:
        for path in sorted((BASE_DIR / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path.relative_to(BASE_DIR), parse_module(path)


@cache
def parse_module(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def list_definitions(path: Path) -> list[ast.FunctionDef | ast.ClassDef]:
    """Return the functions and classes of a module, nested ones included."""
    tree = parse_module(BASE_DIR / path)
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def iter_functions(*packages: str) -> Iterator[tuple[Path, ast.FunctionDef]]:
    """Yield each named function, dunder methods left out."""
    for path, _tree in iter_modules(*packages):
        for node in list_definitions(path):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
                yield path, node


def has_decorator(function: ast.FunctionDef, *words: str) -> bool:
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    return any(word in decorator for decorator in decorators for word in words)


def list_queryset_methods(path: Path) -> set[ast.AST]:
    """Return the methods that narrow a queryset, as in `Rating.objects.current()`."""
    return {
        method
        for node in list_definitions(path)
        if isinstance(node, ast.ClassDef) and node.name.endswith("QuerySet")
        for method in node.body
    }


def list_functions_without_verb() -> tuple[list[str], int]:
    """Return the functions that do not begin with a verb, and the number of all functions."""
    names = []
    total = 0
    for path, _tree in iter_modules(*PRODUCT):
        queryset_methods = list_queryset_methods(path)
        for node in list_definitions(path):
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("__"):
                continue
            if has_decorator(node, "property", "setter", "register") or node.name in HOOKS:
                continue
            if node in queryset_methods:
                continue
            total += 1
            if node.name.strip("_").split("_")[0] not in VERBS:
                names.append(f"{path}: {node.name}")
    return names, total


def list_local_names(function: ast.FunctionDef) -> list[str]:
    return [
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ] + [argument.arg for argument in function.args.args + function.args.kwonlyargs]


def test_functions_begin_with_a_verb() -> None:
    names, total = list_functions_without_verb()
    share = 1 - len(names) / total
    print(f"\nfunctions that begin with a verb: {share:.1%} of {total}")
    assert share >= MIN_VERB_FIRST, "\n".join(names)


def test_no_function_has_a_vague_name() -> None:
    names = [
        f"{path}: {function.name}"
        for path, function in iter_functions(*PRODUCT, *SCRIPTS)
        if function.name.strip("_") in VAGUE_FUNCTIONS
    ]
    print(f"\nfunctions named by one vague word: {len(names)}")
    assert names == []


def test_locals_name_the_thing() -> None:
    names = []
    total = 0
    for path, function in iter_functions(*PRODUCT, *SCRIPTS):
        local_names = list_local_names(function)
        total += len(local_names)
        names += [
            f"{path}: {function.name}: {name}" for name in local_names if name in VAGUE_LOCALS
        ]
    print(f"\nvague local names: {len(names)} of {total}")
    assert len(names) <= MAX_VAGUE_LOCALS * total, "\n".join(names)


def test_class_names_are_unique() -> None:
    names: Counter[str] = Counter()
    for path, _tree in iter_modules(*PRODUCT):
        for node in list_definitions(path):
            if isinstance(node, ast.ClassDef) and node.name not in ("Meta", "Command", "Migration"):
                names[node.name] += 1
    repeated = {name: number for name, number in names.items() if number > 1}
    print(f"\nclass names that are used more than once: {len(repeated)}")
    assert len(repeated) <= MAX_REPEATED_CLASS_NAMES, repeated


def test_docstrings_are_no_questions() -> None:
    questions = []
    total = 0
    for path, tree in iter_modules(*PRODUCT, *SCRIPTS):
        for node in (tree, *list_definitions(path)):
            text = ast.get_docstring(node)
            total += text is not None
            if text and QUESTION_WORDS.match(text):
                questions.append(f"{path}: {text.splitlines()[0]}")
    print(f"\ndocstrings that begin with a question word: {len(questions)} of {total}")
    assert len(questions) <= MAX_QUESTION_DOCSTRINGS * total, "\n".join(questions)


def test_packages_are_small() -> None:
    sizes: Counter[str] = Counter()
    for package in (*PRODUCT, "tests"):
        for path in (BASE_DIR / package).rglob("*.py"):
            if path.name != "__init__.py" and "migrations" not in path.parts:
                sizes[str(path.parent.relative_to(BASE_DIR))] += 1
    print(f"\nmodules in the largest package: {max(sizes.values())}")
    large = {folder: n for folder, n in sizes.items() if n > MAX_MODULES_PER_PACKAGE}
    assert large == {}


def test_results_are_typed() -> None:
    number = sum(
        path.read_text().count("dict[str, Any]")
        for package in PRODUCT
        for path in (BASE_DIR / package).rglob("*.py")
    )
    print(f"\n`dict[str, Any]`: {number}")
    assert number <= MAX_UNTYPED_DICTS


def test_code_does_not_parse_its_own_html() -> None:
    parsers = [
        str(path)
        for path, tree in iter_modules(*PRODUCT)
        for node in tree.body
        if isinstance(node, ast.ImportFrom | ast.Import)
        and re.search(r"html\.parser|bs4|lxml\.html|html5lib", ast.unparse(node))
    ]
    print(f"\nmodules that parse HTML: {len(parsers)}")
    assert len(parsers) <= MAX_HTML_PARSERS, parsers


def list_import_cycles() -> list[list[str]]:
    """Return the groups of modules that import each other while they load.

    Imports inside functions and below TYPE_CHECKING are left out: they run later.
    """
    modules: dict[str, ast.Module] = {}
    packages = set()
    for path, tree in iter_modules(*PRODUCT):
        name = ".".join(path.with_suffix("").parts)
        if path.name == "__init__.py":
            name = name.removesuffix(".__init__")
            packages.add(name)
        modules[name] = tree
    imports = {
        name: {
            target
            for target in iter_imported_names(name, tree, set(modules), name in packages)
            if target in modules and target != name
        }
        for name, tree in modules.items()
    }
    return list_strong_components(imports)


def iter_imported_names(
    name: str, tree: ast.Module, modules: set[str], is_package: bool
) -> Iterator[str]:
    """Yield the modules that a module imports while it loads."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            parts = name.split(".")
            if node.level:
                keep = len(parts) - node.level + is_package
                base = ".".join(parts[:keep] + ([node.module] if node.module else []))
            else:
                base = node.module or ""
            for alias in node.names:
                submodule = f"{base}.{alias.name}"
                yield submodule if submodule in modules else base


def list_strong_components(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of two or more nodes (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                components.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return components


def test_modules_do_not_import_each_other() -> None:
    cycles = list_import_cycles()
    print(f"\nimport cycles: {len(cycles)}")
    assert cycles == []
