"""Run the coordinator's ``step`` again over what was recorded, and say whether it decides the same."""

from collections.abc import Mapping, Sequence
from typing import Any

from fieldkit.letters import plain
from valvey.core.loop.facts import LoopFactKind
from valvey.core.loop.step import step
from valvey.loop import recording
from valvey.replay import Difference, Replayed


def run(name: str, head: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], ended: bool) -> Replayed:
    """Run one recording again."""
    out = Replayed(name, complete=ended)
    try:
        loop, limits, memory = recording.read_head(head)
        frames: list[recording.Frame] = []
        for number, part in enumerate(parts):
            frames += list(recording.unpack(part, number))
    except ValueError as error:
        out.trouble = str(error)
        return out
    for frame in frames:
        scan = step(memory, frame.inputs, loop, limits, frame.now_s)
        memory = scan.memory
        out.trips += [str(fact.fields["event"]) for fact in scan.facts if fact.kind is LoopFactKind.EVENT]
        if recording.digest(scan) != frame.digest or memory.state_seq != frame.state_seq:
            now = {
                "writes": plain(scan.writes),
                "replies": [reply.granted for reply in scan.replies],
                "facts": [str(fact.kind) for fact in scan.facts],
                "state_seq": memory.state_seq,
            }
            then = {"digest": frame.digest, "state_seq": frame.state_seq}
            out.difference = Difference(out.scans, frame.now_s, "decisions", then, now)
            break
        out.scans += 1
        out.seconds = frame.now_s - frames[0].now_s
    return out
