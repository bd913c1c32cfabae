"""Makers' devices in a bench file."""

from pathlib import Path

import pytest

from fieldkit.errors import ConfigError
from fieldkit.yamlfile import check, parse
from firmware_sim.bench_file import BenchFile, load_bench
from firmware_sim.parts.makers.catalogue import MAKERS

SIM = Path(__file__).parents[2] / "configs" / "sim"


def test_the_shipped_bench_of_real_devices_has_them_all() -> None:
    (rack,) = load_bench(SIM / "real_devices.yaml").racks
    assert set(rack.also) == set(MAKERS)


def test_a_device_that_is_none_or_stands_twice_is_refused_with_its_line() -> None:
    text = b"racks:\n  - name: r01\n    also: [rle-ldra7]\n"
    with pytest.raises(ConfigError, match=r"bench\.yaml:3: racks\.0\.also: no device rle-ldra7; known: belimo"):
        check(parse(text, "bench.yaml"), BenchFile)
    text = b"racks:\n  - name: r01\n    also: [rle-ldra6, rle-ldra6]\n"
    with pytest.raises(ConfigError, match="rle-ldra6 stands twice"):
        check(parse(text, "bench.yaml"), BenchFile)
