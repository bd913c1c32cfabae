"""``make demo``: plant, broker and one Valvey a rack as separate processes, an act, a report. Everything is SIMULATED."""
