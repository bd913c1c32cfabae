"""What the core takes from a rack's file."""

from racky.config import RackyConfig
from racky.core.inventory import Expected
from racky.core.plan import Design, Diagnostic, Plan
from racky.core.setup import Battery, Reclose, Setup, Shelf


def to_setup(config: RackyConfig) -> Setup:
    data = config.data
    power = data.power
    return Setup(
        rack=data.rack,
        rating_kw=power.rating_kw,
        budget_kw=power.budget_kw,
        flow_nominal_lpm=power.flow_nominal_lpm,
        shelves=tuple(Shelf(one.number, one.rating_kw, one.psus) for one in power.shelves),
        batteries=tuple(Battery(one.number) for one in power.batteries),
        shed=power.shed,
        link_of={tag: place.bus for tag, place in config.inputs.items()},
        armed=data.armed,
        reclose=Reclose(power.reclose),
        pause_s=power.pause_s,
        output_s=power.output_s,
        grace_s=power.grace_s,
        shed_s=power.shed_s,
        restore_s=power.restore_s,
        settle_s=power.settle_s,
        plan=_plan(config),
    )


def _plan(config: RackyConfig) -> Plan | None:
    stated, power = config.data.lifecycle, config.data.power
    if stated is None:
        return None
    design = stated.design
    return Plan(
        expected=tuple(Expected(bus, one.model, one.serial) for bus, one in stated.expected.items()),
        manifest=config.releases,
        gates=config.gates,
        design=Design(
            rating_kw=power.rating_kw,
            flow_nominal_lpm=power.flow_nominal_lpm,
            kv_rack=design.kv_rack_m3_h,
            fcv_kvs=design.fcv_kvs_m3_h,
            fcv_rangeability=design.fcv_rangeability,
            xv_kvs=design.xv_kvs_m3_h,
            header_kpa=design.header_kpa,
            header_lpm=design.header_lpm,
            liquid_fraction=design.liquid_fraction,
            detectors=config.detectors,
        ),
        images=config.images,
        times=config.times,
        diagnostics=tuple(Diagnostic(one.id, one.timeout_s, one.text, one.load) for one in stated.diagnostics),
        load_share=stated.load_share,
    )
