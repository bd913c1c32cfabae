"""Why planned work was given up: one name for each cause, with what it means for people. Data."""

# fmt: off
#: By name; an alarm ``work-failed-NAME`` stands until new work begins.
FAILURES: dict[str, str] = {
    "late":             "a step took longer than allowed",
    "drain_open":       "the drain valve left its shut limit during opening work",
    "key_turned":       "the lock-out key HS-102 was turned during opening work",
    "lease_lost":       "the coordinator's lease was lost or ran out",
    "passing":          "pressure stays or returns in the vented rack: a shut valve lets liquid pass, or the vent is blocked",
    "vent_shut":        "the vent valve does not open",
    "vent_open":        "the vent valve is not proven shut",
    "pressure_lost":    "neither PT-101 nor PT-102 can be believed",
    "temperature_lost": "the temperature of the shut rack cannot be believed",
    "meter_lost":       "the flow meter that counts the volume cannot be believed",
    "blocked":          "nothing runs out of a rack that is not empty: the drain is blocked or its valve does not open",
    "overdrained":      "more ran out than the rack holds: a shut valve lets liquid pass, or volume_l is wrong",
    "sump_high":        "the drain sump is high, or LSH-203 cannot be believed",
    "no_flow":          "nothing flows into the rack: XV-101, FCV-101 or the vent does not open, or the header has no pressure",
    "throttle":         "FCV-101 stands further open than filling allows, or ZT-101 cannot be believed",
    "return_open":      "XV-102 is not proven shut while the rack is filled",
    "loop_low":         "filling draws the loop's static pressure down to its limit",
    "vent_blocked":     "the rack is under pressure and nothing leaves through the vent",
    "air":              "the rack is full and its flow is still not calm: air is left in it",
    "overfull":         "more went in than the rack holds and it is not full: a leak, or volume_l is wrong",
    "no_pressure":      "there is no pressure to test with: the rack is not full",
    "decay":            "the rack does not hold its pressure",
    "rising":           "the pressure in the shut rack rises: XV-101 lets liquid pass",
    "power_unproven":   "the power was not proven off in time (XI-101, ET-101, EV-101): the rack stays dark, and coolant flows on",
    "unsteady":         "pressure and temperature did not become steady in time",
    "stuck_101":        "XV-101 did not make its full stroke in time",
    "stuck_102":        "XV-102 did not make its full stroke in time",
}
# fmt: on
