"""Contract 1 as pages: what travels on which topic, and the same as an AsyncAPI 3 document for code generators."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from fieldkit.envelope import PAYLOADS, schemas
from fieldkit.markdown import table
from fieldkit.topics import DELIVERIES, LEVELS, Daemon, Kind, Role

ADDRESS = "racky/v1/{site}/{node}/{daemon}"
_REFERENCE = "#/components/schemas/"


def _levels(kind: Kind) -> tuple[str, ...]:
    return tuple(name.replace(" ", "_") for name in LEVELS.get(kind, ()))


def _address(kind: Kind) -> str:
    return "/".join((ADDRESS, kind, *(f"{{{name}}}" for name in _levels(kind))))


def _says(kind: Kind) -> str:
    """What the payload's docstring begins with."""
    first = (inspect.getdoc(PAYLOADS[kind]) or "").partition("\n\n")[0]
    return first.replace("\n", " ").replace("``", "`")


def topics() -> str:
    rows = (
        (
            f"`{_address(kind).removeprefix(f'{ADDRESS}/')}`",
            "in" if how.inbound else "out",
            str(how.qos),
            "retained" if how.retain else "never",
            _says(kind),
        )
        for kind, how in DELIVERIES.items()
    )
    return table(("topic", "direction", "QoS", "kept by the broker", "what it says"), rows)


def _type(schema: Mapping[str, Any]) -> str:
    """Name a JSON Schema in a few words."""
    if (reference := schema.get("$ref")) is not None:
        return f"[{(name := reference.rpartition('/')[2])}](#{name.lower()})"
    if (parts := schema.get("anyOf")) is not None:
        return " or ".join(dict.fromkeys(map(_type, parts)))
    if "const" in schema:
        return f"`{schema['const']}`"
    if (values := schema.get("enum")) is not None:
        return ", ".join(f"`{value}`" for value in values)
    if (pairs := schema.get("prefixItems")) is not None:
        return f"[{', '.join(map(_type, pairs))}]"
    match schema.get("type"):
        case "array":
            return f"list of {_type(schema['items'])}"
        case "object" if isinstance(inner := schema.get("additionalProperties"), dict) and inner:
            return f"object: {_type(inner)} by name"
        case str(name):
            return "text" if name == "string" else name
        case _:
            return "any JSON"


def _definitions() -> dict[str, dict[str, Any]]:
    """Return every payload and piece of one by its name; what requests and answers share means the same in both."""
    found: dict[str, dict[str, Any]] = {}
    for schema in schemas().values():
        pieces = schema.pop("$defs", {})
        for name, piece in {schema["title"]: schema, **pieces}.items():
            if found.setdefault(name, piece) != piece:
                raise ValueError(f"two payloads are called {name}")
    return found


def _fields(schema: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    needed = set(schema.get("required", ()))
    for name, one in schema.get("properties", {}).items():
        yield f"`{name}`", _type(one), "always" if name in needed else "may be left out"


def payloads() -> str:
    out = []
    for name, schema in _definitions().items():
        body = schema.get("description", "any value that JSON has").replace("``", "`")
        fields = list(_fields(schema))
        if fields:
            body += "\n\n" + table(("key", "value", ""), fields)
        elif "enum" in schema:
            body += f"\n\nOne of {_type(schema)}.\n"
        out.append(f"### {name}\n\n{body}")
    return "\n".join(out)


def _moved(schema: Any) -> Any:
    """Return the schema with its references where an AsyncAPI document keeps schemas."""
    if isinstance(schema, dict):
        return {
            key: value.replace("#/$defs/", _REFERENCE) if key == "$ref" else _moved(value)
            for key, value in schema.items()
        }
    return [_moved(one) for one in schema] if isinstance(schema, list) else schema


def _parameters(kind: Kind) -> dict[str, dict[str, Any]]:
    known: dict[str, dict[str, Any]] = {
        "site": {"description": "Name of the site: a-z, 0-9, _ and -."},
        "node": {"description": "A rack, or the loop of a CDU."},
        "daemon": {"enum": [str(one) for one in Daemon]},
        "role": {"enum": [str(one) for one in Role], "description": "Who asks, bound by the broker's ACL."},
        "client": {"description": "The client's user at the broker; its answers come on response/{client}."},
        "alarm_id": {"description": "As in the table of alarms, with the tag or device after a dash where there are many."},
        "rack": {"description": "The rack that asks, or is answered."},
    }  # fmt: skip
    return {name: known[name] for name in ("site", "node", "daemon", *_levels(kind))}


def asyncapi() -> str:
    """Return the AsyncAPI 3 document, as YAML: seen from a daemon, which receives requests and sends all else."""
    channels, operations, messages = {}, {}, {}
    for kind, how in DELIVERIES.items():
        name = PAYLOADS[kind].__name__
        channels[str(kind)] = {
            "address": _address(kind),
            "messages": {str(kind): {"$ref": f"#/components/messages/{kind}"}},
            "parameters": _parameters(kind),
        }
        operations[f"{'receive' if how.inbound else 'send'}_{kind}"] = {
            "action": "receive" if how.inbound else "send",
            "channel": {"$ref": f"#/channels/{kind}"},
            "bindings": {"mqtt": {"qos": how.qos, "retain": how.retain, "bindingVersion": "0.2.0"}},
        }
        messages[str(kind)] = {
            "contentType": "application/json",
            "summary": _says(kind),
            "payload": {"$ref": f"{_REFERENCE}{name}"},
        }
    document = {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Racky and Valvey",
            "version": "1",
            "description": "What rack and loop daemons say and hear over MQTT (contract 1).",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": _moved(_definitions())},
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)
