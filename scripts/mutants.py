"""Small mistakes that a test should notice: one change of one expression of one module.

A mutant is an edit of a syntax tree that can be made and taken back.  Strings, annotations,
assertions, messages of errors and imports are left alone: they hold no formula and no condition.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
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
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
    "ceil": "floor",
    "floor": "ceil",
}
TINY = 1e-6
"""A smaller constant is a margin for rounding: the mutant goes without it."""
CONDITIONS = {"assumes", "tight_when"}
SILENT = (ast.Assert, ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr)
SKIPPED_FIELDS = {"annotation", "returns", "strict", "type_params"}


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, what it does, and how to make the module with it."""

    file: str
    line: int
    function: str  # dotted name of the top-level function, method or assignment; "" for the module
    change: str
    lines: tuple[int, int] | None  # of that function; None for what runs when the module is loaded
    compiled: Callable[[], object]
    assigned: str = ""  # the constant that the change is in, if any; `f.x` or `f.return` within f

    @property
    def key(self) -> tuple[str, str, str]:
        """What a list of equivalent mutants calls it: no line numbers, so that edits keep it."""
        return self.file, self.function, self.change


@dataclass(frozen=True)
class _Edit:
    owner: ast.AST
    field: str
    index: int | None
    value: object
    shown: ast.AST  # the smallest expression that is worth printing

    def made(self) -> Callable[[], None]:
        """Make the edit and return what takes it back; no value in a list drops the element."""
        old = getattr(self.owner, self.field)
        if self.index is None:
            setattr(self.owner, self.field, self.value)
        else:
            new = [self.value] if self.value is not None else []
            changed = [*old[: self.index], *new, *old[self.index + 1 :]]
            setattr(self.owner, self.field, changed)
        return lambda: setattr(self.owner, self.field, old)


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """Every mutant of one module, in the order of its lines."""
    tree = ast.parse(path.read_text())
    made = []
    for place, lines, statement in _places(tree):
        inner = _assigned_inside(place, statement)
        for edit in _edits(statement):
            mutant = _mutant(tree, path, root, (place, lines), edit)
            name = inner.get(edit.owner, _assigned(statement))
            made.append(replace(mutant, assigned=name))
    return sorted(made, key=lambda m: (m.line, m.change))


def _places(tree: ast.Module) -> Iterator[tuple[str, tuple[int, int] | None, ast.stmt]]:
    """Functions and methods, and with no lines of their own the statements around them."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            yield statement.name, _extent(statement), statement
        elif isinstance(statement, ast.ClassDef):
            for inner in statement.body:
                name = f"{statement.name}.{getattr(inner, 'name', '')}".rstrip(".")
                method = isinstance(inner, ast.FunctionDef)
                yield name, _extent(inner) if method else None, inner
        else:
            yield "", None, statement


def _assigned(statement: ast.stmt) -> str:
    """The name that a statement gives a value, or its names with commas between them."""
    if isinstance(statement, ast.Assign):
        return ", ".join(ast.unparse(target).strip("()") for target in statement.targets)
    return ast.unparse(statement.target) if isinstance(statement, ast.AnnAssign) else ""


def _assigned_inside(place: str, statement: ast.stmt) -> dict[ast.AST, str]:
    """For each expression in a function the name that it helps to give a value, or `return`."""
    names: dict[ast.AST, str] = {}
    if isinstance(statement, ast.FunctionDef):
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.Return):
                name = "return" if isinstance(node, ast.Return) else _assigned(node)
                names |= dict.fromkeys(ast.walk(node), f"{place}.{name}")
    return names


def _extent(node: ast.stmt) -> tuple[int, int]:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(d.lineno for d in decorators)])
    return first, node.end_lineno or node.lineno


def _mutant(
    tree: ast.Module,
    path: Path,
    root: Path,
    place: tuple[str, tuple[int, int] | None],
    edit: _Edit,
) -> Mutant:
    before = _text(edit.shown)
    undo = edit.made()
    after = _text(edit.shown)
    undo()

    def compiled() -> object:
        undo = edit.made()
        try:
            return compile(ast.fix_missing_locations(tree), str(path), "exec")
        finally:
            undo()

    name, lines = place
    decorator = lines is not None and edit.field == "elts" and edit.value is None
    line = getattr(edit.shown, "lineno", lines[0] if lines else 1)
    change = f"{before} -> {after}"
    if edit.value is None and edit.index is not None:
        change = f"without {ast.unparse(getattr(edit.owner, edit.field)[edit.index])}"
    where = str(path.relative_to(root))
    return Mutant(where, line, name, change, None if decorator else lines, compiled)


def _text(node: ast.AST) -> str:
    """The expression, or what a compound statement asks before its body."""
    if isinstance(node, ast.If | ast.While):
        return f"if {ast.unparse(node.test)}"
    if isinstance(node, ast.For):
        return f"for {ast.unparse(node.iter)}"
    return " ".join(ast.unparse(node).split())


def _edits(statement: ast.stmt) -> Iterator[_Edit]:
    if isinstance(statement, ast.FunctionDef):
        for decorator in statement.decorator_list:
            yield from _dropped_conditions(decorator)
        for field in ("defaults", "kw_defaults"):
            for place, default in enumerate(getattr(statement.args, field)):
                if default is not None:
                    yield from _replacements(statement.args, field, place, default)
                    yield from _inside(default)
        yield from _constant_returns(statement)
        for inner in statement.body:
            yield from _inside(inner)
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Tuple):
        yield from _dropped_elements(statement.value)
        yield from _inside(statement.value)
    else:
        yield from _inside(statement)


def _dropped_conditions(decorator: ast.expr) -> Iterator[_Edit]:
    for keyword in getattr(decorator, "keywords", []):
        if keyword.arg in CONDITIONS and isinstance(keyword.value, ast.Tuple):
            yield from _dropped_elements(keyword.value)


def _dropped_elements(row: ast.Tuple) -> Iterator[_Edit]:
    for place, element in enumerate(row.elts):
        if isinstance(element, ast.Attribute) and isinstance(element.value, ast.Name):
            yield _Edit(row, "elts", place, None, row)


def _constant_returns(function: ast.FunctionDef) -> Iterator[_Edit]:
    if not (isinstance(function.returns, ast.Name) and function.returns.id == "float"):
        return
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and not isinstance(node.value, ast.Constant):
            yield _Edit(node, "value", None, ast.Constant(0.0), node)


def _inside(node: ast.AST) -> Iterator[_Edit]:
    """Every edit of an expression or statement and of all it is made of."""
    if isinstance(node, SILENT) or (isinstance(node, ast.Expr) and _is_text(node.value)):
        return
    for field, value in ast.iter_fields(node):
        if field in SKIPPED_FIELDS:
            continue
        children = value if isinstance(value, list) else [value]
        for place, child in enumerate(children):
            if not isinstance(child, ast.AST):
                continue
            if isinstance(child, ast.keyword) and child.arg in SKIPPED_FIELDS:
                continue
            index = place if isinstance(value, list) else None
            yield from _replacements(node, field, index, child)
            yield from _inside(child)
    yield from _changes(node)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _replacements(owner: ast.AST, field: str, index: int | None, node: ast.AST) -> Iterator[_Edit]:
    """Another expression in the place of this one."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield _Edit(owner, field, index, node.operand, owner)
    if isinstance(node, ast.Attribute) and node.attr == "inf":
        yield _Edit(owner, field, index, ast.UnaryOp(ast.USub(), node), owner)
    if field == "test" and isinstance(node, ast.Call | ast.Name | ast.Attribute):
        yield _Edit(owner, field, index, ast.UnaryOp(ast.Not(), node), owner)
    if isinstance(node, ast.Constant):
        for other in _other_values(node.value):
            yield _Edit(owner, field, index, ast.Constant(other), owner)


def _other_values(value: object) -> tuple[object, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int | float):
        if 0.0 < abs(value) < TINY:
            return (0.0,)
        return tuple(other for other in (value + 1, value - 1) if other != value)
    return ()


def _changes(node: ast.AST) -> Iterator[_Edit]:
    """The same expression with another operator."""
    if isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                yield _Edit(node, "ops", place, other(), node)
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        yield _Edit(node, "op", None, OPERATORS[type(node.op)](), node)
    elif isinstance(node, ast.BoolOp):
        other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _Edit(node, "op", None, other_op, node)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in NAMES:
            yield _Edit(node.func, "id", None, NAMES[node.func.id], node)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in NAMES:
            yield _Edit(node.func, "attr", None, NAMES[node.func.attr], node)
