"""The bench's page: self-contained, and no text of a device or a test can become part of the page's own form."""

import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from bench.demo.plots import Line, Plot
from bench.hil.identity import Identity
from bench.hil.report import Fact, Found, Run, page

EVIL = '<script src="http://evil/x.js">alert(1)</script>&"\''


def run(text: str) -> Run:
    device = Identity("bus", text, 1, text, {"vendor": text}, {"firmware": text}, False, None)
    plot = Plot(text, text, [0.0, 1.0, 2.0], [Line(text, [0.0, 1.0, 0.5])])
    found = Found(text, text, "failed", 1.0, text, [Fact(text, text, text)], [(text, [plot])])
    return Run("sim", {text: text}, [device], {text: found})


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def tags(text: str) -> Tags:
    parser = Tags()
    parser.feed(page(run(text)))
    return parser


@given(st.one_of(st.just(EVIL), st.text(alphabet="<>&\"'/=!-a ", min_size=1, max_size=30)))
def test_no_text_becomes_a_part_of_the_pages_form(text: str) -> None:
    plain, with_text = tags("harmless"), tags(text)
    assert with_text.seen == plain.seen
    assert {name for name, _ in with_text.attributes} == {name for name, _ in plain.attributes}


def test_the_page_loads_nothing_and_forbids_to() -> None:
    text = page(run(EVIL))
    assert "default-src 'none'" in text
    names = {name for name, _ in tags(EVIL).attributes}
    assert names.isdisjoint({"src", "href", "onclick", "onload"})
    assert re.findall(r"url\(|@import", text) == []
    assert "<svg" in text


def test_the_page_says_whether_it_was_simulated_and_what_the_devices_are() -> None:
    text = page(run("rev 1.2.3"))
    assert "SIMULATED" in text
    assert "vendor rev 1.2.3" in text
    assert "firmware rev 1.2.3" in text
    assert "1 failed" in text
    on_hardware = run("x")
    on_hardware.target = "hil"
    assert "SIMULATED" not in page(on_hardware)
