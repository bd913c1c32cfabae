"""What the lifecycle measures by itself, beside the windows."""

from racky.core.gates import Measured
from racky.core.inventory import behind, compare
from racky.core.lifecycle_did import devices
from racky.core.plan import Plan
from racky.core.validating import outputs_on
from racky.core.view import View

FACTS = ("mismatches", "behind", "tested", "outputs_on_pct", "diagnostics_failed")


def measured(view: View, plan: Plan) -> dict[str, Measured]:
    """What the lifecycle measures by itself."""
    found, valvey = devices(view), view.sight.valvey
    wrong, late = compare(plan.expected, found), behind(plan.manifest, found)
    full = view.sight.hears_valvey and valvey.inventory == "full" and valvey.tested is True
    bad = [f"{name}: {detail}" for name, (ok, detail) in view.life.diagnosed.items() if not ok]
    undone = [one.id for one in plan.diagnostics if not one.load and one.id not in view.life.diagnosed]
    outputs = len(view.setup.outputs)
    return {
        "mismatches": Measured(float(len(wrong)), "; ".join(map(str, wrong))),
        "behind": Measured(float(len(late)), "; ".join(map(str, late))),
        "tested": Measured(float(full), f"inventory {valvey.inventory}, tested {valvey.tested}"),
        "outputs_on_pct": Measured(100.0 * outputs_on(view) / outputs if outputs else None, f"{outputs_on(view)} of {outputs}"),
        "diagnostics_failed": Measured(float(len(bad) + len(undone)), "; ".join([*bad, *(f"{one}: not done" for one in undone)])),
    }  # fmt: skip
