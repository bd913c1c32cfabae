"""Devices that racks really have, each with its maker's map and its quirks.

Their maps are typed from the makers' pages (docs/devices/sources.md), never from configs/profiles: a wrong address in a
profile shows.
"""
