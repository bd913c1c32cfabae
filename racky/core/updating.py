"""FIRMWARE: devices behind the manifest are updated, one at a time, while the rack carries no power."""

from dataclasses import replace

from racky.core import firmware
from racky.core.firmware import Reply
from racky.core.inventory import Behind, behind
from racky.core.lifecycle_did import Did, devices
from racky.core.mailbox import Mailbox
from racky.core.memory import Phase
from racky.core.plan import Plan
from racky.core.view import View


def update(view: View, plan: Plan) -> Did:
    """One device at a time, by name, while the rack carries no power."""
    life, late = view.life, behind(plan.manifest, devices(view))
    if life.update is None:
        if not late:
            return Did(replace(life, remark=""), ended=True)
        return _begin(view, plan, late[0])
    one = life.update
    image, box = image_of(plan, view, one.device)
    if image is None or box is None:
        return Did(replace(life, update=None), failed=f"{one.device}: no image brings {one.revision} any more")
    reply: Reply | None = None
    if one.order is not None:
        reply = next((told for told in view.sight.replies if told.id == one.order.id), None)
    one = firmware.advance(one, image, box, reply, view.now_s)
    percent = 100.0 * firmware.share(one, image, box)
    life = replace(life, update=one, remark=f"{one.device}: {one.phase}, {percent:.0f} %")
    if one.phase is firmware.Phase.DONE:
        return Did(replace(life, update=None, orders=one.orders, updated={**life.updated, one.device: one.revision}))
    if one.phase is firmware.Phase.FAILED:
        return Did(replace(life, update=None, orders=one.orders), failed=f"{one.device}: {one.remark}")
    return Did(life, orders=() if one.order is None else (one.order,))


def image_of(plan: Plan, view: View, device: str) -> tuple[bytes | None, Mailbox | None]:
    found = view.sight.identities.get(device)
    for release in plan.manifest:
        if found is not None and release.model == found.model and release.image is not None:
            return plan.images.get(release.image), release.mailbox
    return None, None


def _begin(view: View, plan: Plan, one: Behind) -> Did:
    image, box = image_of(plan, view, one.device)
    if one.release is None or image is None or box is None:
        return Did(view.life, failed=f"{one}; nothing here can bring it")
    if not box.two_slots:
        return Did(view.life, failed=f"{one}; a device with one slot is updated by hand")
    if view.power.phase is not Phase.OFF:
        return Did(replace(view.life, remark="waits for the power to be off"), power=False)
    begun = firmware.begin(one.device, one.release.revision, view.now_s, view.life.orders)
    return Did(replace(view.life, update=begun, remark=f"{one.device}: begins"))
