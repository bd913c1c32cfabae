"""What the register maps of all reference devices share."""

from firmware_sim.parts.registers import Kind, Row, Table

VENDOR = "Racky open hardware"

COMMON: tuple[Row, ...] = (
    Row(Table.INPUT, 900, "model", Kind.ASCII, words=8),
    Row(Table.INPUT, 908, "firmware version", Kind.ASCII, words=4),
    Row(Table.INPUT, 912, "serial", Kind.ASCII, words=8),
    Row(Table.INPUT, 920, "since start", Kind.U16, unit="s", note="wraps"),
)
