"""Imports point one way: the library's layers, read from the source of every file (style.md, architecture.md)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx

ROOT = Path(__file__).parents[1]
FILES = sorted(path for top in ("bgr", "training", "eval") for path in (ROOT / top).rglob("*.py"))

# A room may import from the layers above its own line here, and from itself; never from a sibling on its line.
LAYERS = (
    ("errors",),
    ("utils",),
    ("graph",),
    ("metrics", "models", "llm"),
    ("collection",),
    ("data", "released"),
    ("reader",),
    ("retrievers",),
    ("pipeline",),
    ("ask", "adapters", "auto"),
    ("predict", "serve", "teacher"),
    ("cli",),
)
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}


def imports(path: Path, *, names: bool = False) -> Iterator[tuple[str, bool, int]]:
    """Each imported module's dotted name, whether the import stands inside a function, and its line.

    Args:
        names: also what is imported from a module, which may be a module itself.
    """

    def walk(node: ast.AST, inside: bool) -> Iterator[tuple[str, bool, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((alias.name, inside, child.lineno) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}:{child.lineno}: write imports from the top, not relative ones"
                assert child.module is not None
                yield child.module, inside, child.lineno
                if names or child.module in ("bgr", "training", "eval"):
                    yield from ((f"{child.module}.{alias.name}", inside, child.lineno) for alias in child.names)
            else:
                function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                # `if TYPE_CHECKING:` never runs, so it counts as inside
                checking = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
                yield from walk(child, inside or function or checking)

    yield from walk(ast.parse(path.read_text(encoding="utf-8")), False)


def room_of(path: Path) -> str:
    """``bgr/data/kb/schema.py`` -> ``kb``, ``bgr/graph/evidence_graph.py`` -> ``graph``."""
    return path.relative_to(ROOT / "bgr").parts[0].removesuffix(".py")


def where(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def in_package(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def test_every_room_has_a_layer():
    rooms = {room_of(path) for path in FILES if path.is_relative_to(ROOT / "bgr")} - {"__init__", "__main__"}
    assert rooms <= set(RANK), f"new rooms without a layer: {sorted(rooms - set(RANK))}; add them to LAYERS"


def test_imports_point_down():
    assert [problem for path in FILES for problem in problems_of(path)] == []


def problems_of(path: Path) -> Iterator[str]:
    """One line for each import that points the wrong way."""
    top = path.relative_to(ROOT).parts[0]
    for name, inside, line in imports(path):
        parts = name.split(".")
        if name == "eval":
            yield f"{where(path, line)}: that shadows the builtin; write from eval.… import …"
        if top == "bgr":
            if in_package(name, "lightning"):
                yield f"{where(path, line)}: the library knows nothing of Lightning"
            if in_package(name, "training") or in_package(name, "eval"):
                if room_of(path) != "cli" or not inside:
                    yield f"{where(path, line)}: {name} is for functions of bgr/cli only"
            elif parts[0] == "bgr" and len(parts) > 1 and room_of(path) in RANK:
                own, other = room_of(path), parts[1]
                if other in RANK and other != own and RANK[other] >= RANK[own]:
                    yield f"{where(path, line)}: bgr.{own} may not import bgr.{other}"
        else:
            if in_package(name, "eval" if top == "training" else "training"):
                yield f"{where(path, line)}: training and eval never import each other"
            if in_package(name, "bgr.cli"):
                yield f"{where(path, line)}: the command line imports {top}, not back"


def test_no_module_imports_itself_in_a_circle():
    """Imports inside functions count too: they hide a circle, they do not break it."""
    modules = {module_of(path): path for path in FILES}
    graph = networkx.DiGraph()
    for name, path in modules.items():
        for imported, _, _ in imports(path, names=True):
            target = imported if imported in modules else imported.rpartition(".")[0]
            if target in modules and target != name:
                graph.add_edge(name, target)
    circles = [sorted(circle) for circle in networkx.strongly_connected_components(graph) if len(circle) > 1]
    assert circles == []


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_the_walk_sees_what_it_must(tmp_path):
    """The walk itself can fail: imports inside functions and behind TYPE_CHECKING are told apart from the others."""
    source = tmp_path / "module.py"
    source.write_text(
        "import a.b\nfrom bgr import graph\nif TYPE_CHECKING:\n    import c\n"
        "def f():\n    from d import e\nclass K:\n    import g\n    def m(self):\n        import h\n"
    )
    found = {name: inside for name, inside, _ in imports(source)}
    assert found == {"a.b": False, "bgr": False, "bgr.graph": False, "c": True, "d": True, "g": False, "h": True}
