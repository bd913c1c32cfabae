"""What a client is told of its request, of an answer's, a progress's or an end's fact: the lifecycle of contract 1."""

from collections.abc import Mapping
from typing import Any

from fieldkit import envelope
from fieldkit.envelope import Response, Status
from fieldkit.letters import Sender, plain


def responses(
    sender: Sender, kind: str, at_s: float, fields: Mapping[str, Any], *, pending: bool, at_once: bool
) -> list[envelope.Response]:
    """Return the messages of one fact, in order.

    kind      ``answer``, ``progress`` or ``ended``
    pending   an accepted request whose end is still to come
    at_once   a request that is done as soon as it is accepted; so is one that found nothing to do and says why
    """
    wall_s = sender.wall_of(at_s)
    about = {"simulated": sender.simulated, "id": fields["id"], "request": fields["request"], "wall_s": wall_s}
    if kind == "ended":
        proof = {name: plain(value) for name, value in fields["proof"].items()} | {"state": str(fields["state"])}
        return [Response(**about, status=Status(fields["status"]), reason=str(fields["reason"]) or None, proof=proof)]
    if kind == "progress":
        about |= {"step": str(fields["step"]), "percent": fields["percent"], "eta_s": fields["eta_s"]}
        return [Response(**about, status=Status.PROGRESS, reason=fields["remark"] or None)]
    about["state_seq"] = fields["state_seq"]
    reason = str(fields["reason"]) or None
    if fields["status"] == "refused":
        allow = str(fields["allow"]) or "nothing"
        return [Response(**about, status=Status.REFUSED, code=fields["code"], reason=reason, would_allow=allow)]
    out = [Response(**about, status=Status.ACCEPTED, code="ok", reason=reason)]
    if pending:
        return [*out, Response(**about, status=Status.STARTED, step=str(fields["state"]))]
    if at_once or reason is not None:
        out.append(Response(**about, status=Status.SUCCEEDED, proof={"state": str(fields["state"])}))
    return out
