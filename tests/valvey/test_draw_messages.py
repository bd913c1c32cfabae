"""The messages as pages: every topic and payload is there, and what the contract pages show is what is taken and sent."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from fieldkit import envelope
from fieldkit.envelope_parts import Part
from fieldkit.errors import Refusal
from fieldkit.letters import Sender
from fieldkit.topics import DELIVERIES, Daemon, Kind, topic
from valvey import draw_messages, letters
from valvey.core.memory import Memory

SENDER = Sender("demo", "r01", Daemon.VALVEY, True, "1", "boot", "d", 0.0, lambda at_s: 1000.0 + at_s, lambda: True)
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contracts" / "requests.md").read_text(encoding="utf-8")


def references(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*map(references, part.values()))
    return set().union(*map(references, part)) if isinstance(part, list) else set()


def test_the_document_for_programs_has_every_topic_and_all_that_it_refers_to() -> None:
    document = yaml.safe_load(draw_messages.asyncapi())
    assert document["asyncapi"] == "3.0.0"
    assert set(document["channels"]) == set(map(str, Kind))
    for reference in references(document):
        found = document
        for name in reference.removeprefix("#/").split("/"):
            found = found[name]
        assert isinstance(found, dict)
    for channel in document["channels"].values():
        assert re.findall(r"{(\w+)}", channel["address"]) == list(channel["parameters"])


def test_an_address_filled_in_is_a_topic_of_the_tree() -> None:
    document = yaml.safe_load(draw_messages.asyncapi())
    fills = {
        "site": "s1",
        "node": "r1",
        "daemon": "valvey",
        "role": "operator",
        "client": "me",
        "alarm_id": "a",
        "rack": "r2",
    }
    for kind in Kind:
        channel = document["channels"][kind]
        rest = [fills[name] for name in list(channel["parameters"])[3:]]
        assert channel["address"].format(**fills) == str(topic("s1", "r1", Daemon.VALVEY, kind, *rest))


def test_the_document_says_how_each_message_travels() -> None:
    document = yaml.safe_load(draw_messages.asyncapi())
    for kind, how in DELIVERIES.items():
        action = "receive" if how.inbound else "send"
        operation = document["operations"][f"{action}_{kind}"]
        assert operation["action"] == action
        assert operation["bindings"]["mqtt"]["qos"] == how.qos
        assert operation["bindings"]["mqtt"]["retain"] is how.retain


@pytest.mark.parametrize("model", envelope.PAYLOADS.values())
def test_every_key_of_a_payload_stands_on_the_page(model: type[Part]) -> None:
    section = draw_messages.payloads().split(f"### {model.__name__}\n")[1].split("###")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(model.model_fields)


def test_the_page_shows_a_request_that_is_taken_and_an_answer_as_it_is_sent() -> None:
    request, response = re.findall(r"```json\n(.*?)\n```", PAGE, re.DOTALL)
    assert not isinstance(envelope.parse_request(request.encode()), Refusal)
    shown = json.loads(response)
    assert json.loads(envelope.dump(envelope.Response.model_validate_json(response))) == shown
    assert shown["id"] == json.loads(request)["id"]


def test_the_page_names_every_status_and_every_detail_of_a_racks_state() -> None:
    for status in envelope.Status:
        assert f"`{status}`" in PAGE
    said = re.findall(r"^\| `(\w+)` \|", PAGE.split("## What a rack's")[1], re.MULTILINE)
    assert said == list(letters.state(SENDER, Memory()).detail)
