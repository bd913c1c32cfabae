"""Small wrong versions of a module: what a tired programmer could have written instead.

``mutants_of`` lists them, ``apply`` makes the syntax tree of one. Nothing here runs anything.
"""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATOR: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
MODULE = "<module>"
_CALL = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one node.

    id     ``path::function::what::n``, the n-th of its kind there: stays the same when other lines move
    path   of the module, as given
    line   where the change is
    span   first and last line of the statement around it, of a block statement's head only
    where  dotted name of the function or class, ``MODULE`` outside all
    what   the change in words
    node   position among the nodes that may change, in the order of the text
    """

    id: str
    path: str
    line: int
    span: tuple[int, int]
    where: str
    what: str
    node: int


Edit = Callable[[ast.AST], None]


@dataclass(frozen=True, slots=True)
class _Change:
    what: str
    do: Edit


def mutants_of(source: str, path: str) -> tuple[Mutant, ...]:
    """List every mutant of one module, in the order of the text; no two have the same id."""
    seen: Counter[str] = Counter()
    out = []
    for index, (node, place) in enumerate(_places(ast.parse(source)).items()):
        for change in _changes(node, place.home == MODULE):
            key = f"{path}::{place.home}::{change.what}"
            seen[key] += 1
            line = getattr(node, "lineno", place.span[0])
            out.append(Mutant(f"{key}::{seen[key]}", path, line, place.span, place.home, change.what, index))
    return tuple(out)


def apply(source: str, mutant: Mutant) -> ast.Module:
    """Return the tree of ``source`` with that one change; line numbers stay."""
    tree = ast.parse(source)
    node = list(_places(tree))[mutant.node]
    change = next(change for change in _changes(node, mutant.where == MODULE) if change.what == mutant.what)
    change.do(node)
    return ast.fix_missing_locations(tree)


def code_lines(source: str) -> int:
    """Lines that hold code: no blank ones, no comments, no docstrings."""
    prose = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and _is_prose(node)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(source.splitlines(), start=1)
    return sum(1 for number, text in lines if number not in prose and text.strip() and not text.strip().startswith("#"))


def _is_prose(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@dataclass(frozen=True, slots=True)
class _Place:
    home: str
    span: tuple[int, int]


def _places(tree: ast.Module) -> dict[ast.AST, _Place]:
    """Each node that may change, with where it stands: no annotations, decorators or docstrings."""
    places: dict[ast.AST, _Place] = {}

    def visit(node: ast.AST, home: str, span: tuple[int, int]) -> None:
        span = _span(node) if isinstance(node, ast.stmt) else span
        places[node] = _Place(home, span)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            home = node.name if home == MODULE else f"{home}.{node.name}"
        for child in _children(node):
            visit(child, home, span)

    visit(tree, MODULE, (0, 0))
    return places


def _span(statement: ast.stmt) -> tuple[int, int]:
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return statement.lineno, statement.end_lineno or statement.lineno
    first = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
    return statement.lineno, max(statement.lineno, first.lineno - 1)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    skipped = {"annotation", "returns", "decorator_list", "type_comment", "type_params", "bases"}
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.JoinedStr) or _is_prose(node):
        return
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":  # zip's own check of what cannot happen
        return
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and _is_type(node.value.id):
        return
    for name, value in ast.iter_fields(node):
        if name not in skipped:
            yield from (
                child for child in (value if isinstance(value, list) else [value]) if isinstance(child, ast.AST)
            )


def _is_type(name: str) -> bool:
    return name.istitle() or name in {"tuple", "list", "dict", "set", "frozenset", "type"}


def _changes(node: ast.AST, at_import: bool) -> Iterator[_Change]:
    """The changes of one node; those of the parts it holds are theirs. Words are unique within a node."""
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                for other in _COMPARE.get(type(op), ()):
                    yield _Change(f"{type(op).__name__} to {other.__name__} [{at}]", _replace_item("ops", at, other))
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in _OPERATOR:
            new = _OPERATOR[type(op)]
            yield _Change(f"{type(op).__name__} to {new.__name__}", _set("op", lambda _: new()))
        case ast.BoolOp(op=op, values=values):
            swapped = ast.Or if isinstance(op, ast.And) else ast.And
            yield _Change(f"{type(op).__name__} to {swapped.__name__}", _set("op", lambda _: swapped()))
            yield from (
                _Change(f"drop operand [{at}]", _drop("values", at)) for at in range(len(values)) if len(values) > 2
            )
        case ast.UnaryOp(op=ast.USub()):
            yield _Change("drop minus", _set("op", lambda _: ast.UAdd()))
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) if not isinstance(test, ast.Compare):
            yield _Change("negate condition", _set("test", _negated))
        case ast.comprehension(ifs=ifs):
            yield from (_Change(f"drop filter [{at}]", _drop("ifs", at)) for at in range(len(ifs)))
        case ast.Constant(value=bool(value)):
            yield _Change(f"{value} to {not value}", _set("value", lambda was: not was))
        case ast.Constant(value=int(value) | float(value)):
            yield _Change(
                f"{value!r} up", _set("value", lambda was: was + 1 if isinstance(was, int) else was * 1.1 + 0.1)
            )
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield _Change("return None", _set("value", lambda _: ast.Constant(None)))
        case ast.Call(func=ast.Name(id=name)) if name in _CALL:
            yield _Change(f"{name} to {_CALL[name]}", _set("func", lambda _: ast.Name(_CALL[name], ast.Load())))
        case ast.Tuple(elts=elts, ctx=ast.Load()) | ast.List(elts=elts, ctx=ast.Load()) | ast.Set(elts=elts):
            if at_import and len(elts) > 1:
                yield from (_Change(f"drop {_short(elt)} [{at}]", _drop("elts", at)) for at, elt in enumerate(elts))
        case ast.Dict(keys=keys) if at_import and len(keys) > 1:
            yield from (_Change(f"drop {_short(key)} [{at}]", _drop_pair(at)) for at, key in enumerate(keys))
        case _:
            return


def _short(node: ast.AST | None) -> str:
    text = ast.unparse(node) if node is not None else "**"
    return text if len(text) <= 60 else text[:57] + "..."


def _set(field: str, make: Callable[..., object]) -> Edit:
    return lambda node: setattr(node, field, make(getattr(node, field)))


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), copy.deepcopy(test))


def _replace_item(field: str, at: int, make: Callable[[], object]) -> Edit:
    return lambda node: getattr(node, field).__setitem__(at, make())


def _drop(field: str, at: int) -> Edit:
    return lambda node: getattr(node, field).__delitem__(at)


def _drop_pair(at: int) -> Edit:
    def do(node: ast.AST) -> None:
        assert isinstance(node, ast.Dict)
        del node.keys[at], node.values[at]

    return do
