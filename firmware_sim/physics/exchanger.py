"""The CDU's plate heat exchanger: counterflow, effectiveness by number of transfer units."""

import math


def effectiveness(ntu: float, capacity_ratio: float) -> float:
    """Share of the greatest possible heat that a counterflow exchanger moves, 0..1.

    ntu              UA over the smaller capacity rate
    capacity_ratio   smaller over larger capacity rate, 0..1
    """
    if ntu <= 0.0:
        return 0.0
    if abs(1.0 - capacity_ratio) < 1e-9:
        return ntu / (1.0 + ntu)
    decay = math.exp(-ntu * (1.0 - capacity_ratio))
    return (1.0 - decay) / (1.0 - capacity_ratio * decay)


def heat_w(ua_w_k: float, hot_w_k: float, cold_w_k: float, hot_in_c: float, cold_in_c: float) -> float:
    """Heat from the hot to the cold side, W; 0 when either side stands still. Negative when the "hot" side is colder."""
    smaller, larger = min(hot_w_k, cold_w_k), max(hot_w_k, cold_w_k)
    if smaller <= 0.0:
        return 0.0
    return effectiveness(ua_w_k / smaller, smaller / larger) * smaller * (hot_in_c - cold_in_c)


def cold_rate_for_heat_w_k(
    wanted_w: float, ua_w_k: float, hot_w_k: float, cold_max_w_k: float, hot_in_c: float, cold_in_c: float
) -> float:
    """Capacity rate of the cold side that moves ``wanted_w``, W/K; its maximum where even that is too little."""
    if wanted_w <= 0.0:
        return 0.0
    if heat_w(ua_w_k, hot_w_k, cold_max_w_k, hot_in_c, cold_in_c) <= wanted_w:
        return cold_max_w_k
    low, high = 0.0, cold_max_w_k
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if heat_w(ua_w_k, hot_w_k, middle, hot_in_c, cold_in_c) < wanted_w else (low, middle)
    return 0.5 * (low + high)
