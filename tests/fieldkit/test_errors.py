"""What people are told."""

from fieldkit.errors import ConfigError, Fault, nearest


def test_a_fault_says_where_what_and_what_would_do() -> None:
    fault = Fault("rack.yaml", 7, "limits.flow_l", "unknown key", "flow_ll_lpm, flow_l_lpm", "flow_l_lpm")
    assert str(fault) == (
        "rack.yaml:7: limits.flow_l: unknown key; did you mean 'flow_l_lpm'? (allowed: flow_ll_lpm, flow_l_lpm)"
    )


def test_a_fault_of_a_whole_file_needs_neither_line_nor_key() -> None:
    assert str(Fault("rack.yaml", None, "", "cannot be read")) == "rack.yaml: cannot be read"


def test_an_error_lists_every_fault() -> None:
    error = ConfigError(Fault("a", n, "k", "m") for n in (1, 2))
    assert len(error.faults) == 2
    assert str(error) == "a:1: k: m\na:2: k: m"


def test_the_nearest_name_is_found_whatever_its_capitals() -> None:
    assert nearest("degc", ["degF", "degC", "K"]) == "degC"
    assert nearest("leak_debonce_s", ["leak_debounce_s", "leak_hold_s"]) == "leak_debounce_s"
    assert nearest("zzz", ["leak_hold_s"]) is None
