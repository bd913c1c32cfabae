"""Generated pages: Markdown tables, and the reference of a configuration from the models that read it."""

import ast
import inspect
from collections.abc import Iterable, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any

from fieldkit.config_draft import in_words


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table, ending in a newline."""
    lines = [heads, ["---"] * len(heads), *([_cell(one) for one in row] for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def sections(schema: dict[str, Any], *modules: ModuleType) -> str:
    """Return every key of a model, section by section; meanings stand under the fields in the modules' sources."""
    defs = schema.get("$defs", {})
    out, seen, todo, meanings = (
        [],
        set[str](),
        [("", schema)],
        _meanings(modules),
    )
    while todo:
        name, one = todo.pop(0)
        if name:
            out.append(f"\n### {name}\n\n{_sentence(one.get('description', ''))}\n\n")
        needed = one.get("required", [])
        rows = []
        for key, kind in one["properties"].items():
            refs = _refs(kind)
            rows.append((
                f"`{key}`",
                _words(kind, defs),
                _default(key, kind, needed),
                _sentence(meanings.get((one["title"], key), "")),
            ))
            todo += [(ref, defs[ref]) for ref in refs if ref not in seen and "properties" in defs[ref]]
            seen.update(refs)
        out.append(table(("key", "type", "default", "meaning"), rows))
    return "".join(out)


def _meanings(modules: Iterable[ModuleType]) -> dict[tuple[str, str], str]:
    """Return what stands under each field of the modules' models, by class and field; of two the later counts."""
    models = [
        one for module in modules for one in ast.parse(inspect.getsource(module)).body if isinstance(one, ast.ClassDef)
    ]
    out: dict[tuple[str, str], str] = {}
    for model in models:
        for field, under in pairwise(model.body):
            match field, under:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    out[model.name, name] = text
                case _:
                    pass
    return out


def _default(key: str, kind: dict[str, Any], needed: list[str]) -> str:
    value = kind.get("default")
    if key in needed:
        return "must be stated"
    if value is None or isinstance(value, dict) or value == []:
        return "none"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _words(kind: dict[str, Any], defs: dict[str, Any]) -> str:
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})" if "properties" in defs[name] else in_words(defs[name])
    if "anyOf" in kind:
        return " or ".join(words for one in kind["anyOf"] if one.get("type") != "null" and (words := _words(one, defs)))
    if kind.get("type") == "array" and isinstance(kind.get("items"), dict):
        return f"list of {_words(kind['items'], defs)}"
    if kind.get("type") == "object" and isinstance(kind.get("additionalProperties"), dict):
        return f"by name: {_words(kind['additionalProperties'], defs)}"
    for one in kind.get("patternProperties", {}).values():
        return f"by name: {_words(one, defs)}"
    return in_words(kind)


def _refs(kind: Any) -> list[str]:
    if isinstance(kind, dict):
        own = [kind["$ref"].rpartition("/")[2]] if "$ref" in kind else []
        return own + [ref for value in kind.values() for ref in _refs(value)]
    return [ref for value in kind for ref in _refs(value)] if isinstance(kind, list) else []


def _sentence(text: str) -> str:
    return " ".join(text.replace("``", "`").split())
