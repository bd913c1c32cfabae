"""What each point is, for the retained meta message."""

from fieldkit.envelope_parts import PointMeta
from fieldkit.tag import BY_TAG
from valvey import derived
from valvey.config_rack import RackConfig
from valvey.core.limits import LPM_PER_KW, Limits


def metas(config: RackConfig, limits: Limits) -> dict[str, PointMeta]:
    """Return one entry for each tag of the rack, outputs included, and for each value that is worked out."""
    shown = limits_of(limits)
    out: dict[str, PointMeta] = {}
    for tag, place in config.data.tags.items():
        profile = config.profiles[place.bus]
        point = profile.points[place.point]
        row = BY_TAG.get(tag)
        out[tag] = PointMeta(
            unit=point.reading_unit,
            range=point.range if point.range is not None else (0.0, 1.0),
            limits=shown.get(tag, {}),
            profile=profile.profile,
            point=place.point,
            description="" if row is None else row.description,
            verified=point.verified,
        )
    return out | derived.metas()


def limits_of(limits: Limits) -> dict[str, dict[str, float]]:
    """Return the set-points by tag, in the tag's unit; flow limits are those of the rated load."""
    need_lpm = LPM_PER_KW * limits.rating_kw
    returns = {"H": limits.return_h_c, "HH": limits.return_hh_c}
    flow = {"LL": limits.flow_ll_fraction * need_lpm, "L": limits.flow_l_fraction * need_lpm}
    return {
        "PT-101": {"LL": limits.static_ll_kpa, "HH": limits.supply_hh_kpa},
        "PT-102": {"LL": limits.static_ll_kpa},
        "TT-101": {"H": limits.supply_h_c, "HH": limits.supply_hh_c},
        "TT-102A": returns,
        "TT-102B": returns,
        "TT-102C": returns,
        "FT-101": flow,
        "FT-102": flow,
    }
