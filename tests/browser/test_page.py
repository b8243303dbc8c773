"""The page in a browser: traces from an H200, of nsys, of two ranks, and hostile ones."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from browser.conftest import AXE, HOSTILE
from browser.pages import Pages, View

pytestmark = pytest.mark.slow

KERNELS = 5947  # of the H200
COUNT = r"^([\d,]+) executions$"


# Of two ranks and of nothing, the views that differ: each view takes seconds.
SOME = {
    "ranks": ("Overview", "Ranks", "Compare"),
    "empty": ("Timeline", "Kernels", "Memory", "SQL"),
}
# Charts that are there at least.
CHARTS = {"Overview": 4, "Kernels": 4, "Launches": 1, "Ranges": 1, "SQL": 1}
LOOKS = [(width, theme) for theme in ("light", "dark") for width in (1440, 900, 390)]


def shown(view: View, name: str) -> None:
    view.go(name)
    assert view.complaints() == [], name
    assert view.overflow() <= 0, name
    assert view.page.locator("section.panel, .timeline canvas, main > div > .empty").count(), name


@pytest.mark.parametrize("trace", ["nsys", *SOME])
def test_every_view_is_shown(pages: Pages, trace: str) -> None:
    view = pages.open(trace)
    for name in SOME.get(trace) or view.names():
        shown(view, name)
    if trace == "ranks":
        assert "Two traces are compared" not in view.page.locator("main").inner_text()


def test_axe_finds_nothing_grave_in_any_view(pages: Pages) -> None:
    from playwright.sync_api import expect

    view = pages.open("h200")
    names = view.names()
    assert {*CHARTS, "Copies", "Memory", "Ranks", "Compare"} <= set(names)
    assert view.page.evaluate("location.search") == "", "the token stays in the address"
    view.page.evaluate(AXE.read_text())
    found = []
    for name in names:
        view.page.set_viewport_size({"width": 1440, "height": 900})
        shown(view, name)
        if least := CHARTS.get(name):
            expect(view.page.locator("figure svg").nth(least - 1)).to_be_visible()
        for width, theme in LOOKS:
            view.page.set_viewport_size({"width": width, "height": 900})
            view.page.emulate_media(color_scheme=theme)
            said = view.page.evaluate("axe.run({resultTypes: ['violations']})")
            found += [
                (name, width, theme, each["id"], node["html"][:200])
                for each in said["violations"]
                if each["impact"] in ("serious", "critical")
                for node in each["nodes"][:3]
            ]
            assert view.overflow() <= 0, (name, width)
    assert found == []


def executions(view: View) -> int:
    text = view.page.locator(".selected").inner_text()
    found = re.search(COUNT, text)
    assert found, text
    return int(found[1].replace(",", ""))


def test_brushing_filters_and_a_click_takes_it_away(pages: Pages) -> None:
    from playwright.sync_api import expect

    view = pages.open("h200", "#view=kernels")
    view.ready()
    assert executions(view) == KERNELS
    # Where a chart lies is known when all are there: they come one after the other.
    charts = view.page.locator("figure svg")
    expect(charts.nth(CHARTS["Kernels"] - 1)).to_be_visible()
    box = charts.nth(1).bounding_box()
    middle = box["y"] + box["height"] / 2

    def drag(start: float, end: float) -> None:
        view.page.mouse.move(box["x"] + start * box["width"], middle)
        view.page.mouse.down()
        view.page.mouse.move(box["x"] + end * box["width"], middle, steps=4)
        view.page.mouse.up()

    drag(0.15, 0.3)
    everything = re.compile(f"^{KERNELS:,} executions$")
    expect(view.page.locator(".selected")).not_to_have_text(everything)
    assert 0 < executions(view) < KERNELS
    view.page.mouse.click(box["x"] + 0.6 * box["width"], middle)
    expect(view.page.locator(".selected")).to_have_text(everything)


def test_the_address_restores_what_is_shown(pages: Pages) -> None:
    from playwright.sync_api import expect

    view = pages.open("h200", "#view=copies&from=5500000000&to=5700000000")
    view.ready()
    assert "From 5.5 s to 5.7 s" in view.page.locator("header").inner_text()
    rows = view.page.locator("td").all_inner_texts()
    view.go("Kernels")
    assert "from=5500000000" in view.page.url
    assert 0 < executions(view) < KERNELS
    view.page.go_back()
    expect(view.page.locator("main h1")).to_have_text("Copies")
    view.ready()
    assert view.page.locator("td").all_inner_texts() == rows
    view.page.get_by_role("button", name="Whole trace").click()
    view.ready()
    assert view.page.locator("td").all_inner_texts() != rows


def test_names_are_shown_as_text(pages: Pages) -> None:
    view = pages.open("hostile")
    for name in ("Overview", "Timeline", "Kernels", "SQL"):
        shown(view, name)
        assert view.page.locator("img, main script").count() == 0, name
        assert view.page.get_by_text(HOSTILE).count() or name == "Timeline", name
    assert "a<b>" in view.page.locator("header").inner_text()
    assert view.page.evaluate("window.ran") is None
    # Of a long name there is a part, in cells and their titles.
    assert "x" * 60 in view.page.content()
    assert "x" * 5000 not in view.page.content()


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_a_line_of_source_opens_to_its_instructions(pages: Pages, width: int, theme: str) -> None:
    from playwright.sync_api import expect

    view = pages.open("stalls", "#view=stalls", width=width, theme=theme)
    view.ready()
    assert view.complaints() == []
    lines = view.page.locator("details.line")
    assert lines.count() == 14
    hot = lines.filter(has_text="47.5 %")
    expect(hot).to_contain_text("11")
    expect(hot).to_contain_text("long_scoreboard 99 %")
    hot.locator("summary").click()
    expect(hot.locator("code", has_text="STG.E")).to_have_count(4)
    assert view.page.locator(".panel figure svg").count() >= 4
    view.page.evaluate(AXE.read_text())
    said = view.page.evaluate("axe.run({resultTypes: ['violations']})")
    assert [each["id"] for each in said["violations"] if each["impact"] != "minor"] == []
    assert view.overflow() <= 0


def test_sql(pages: Pages) -> None:
    from playwright.sync_api import expect

    view = pages.open("h200", "#view=sql")
    view.ready()
    editor = view.page.get_by_role("textbox", name="SQL statement")

    def run(statement: str) -> None:
        editor.click()
        view.page.keyboard.press("Control+A")
        # Text that replaces highlighted text gets a style of its own from Chromium itself: the
        # policy refuses that, and the editor draws the text anew anyway.
        view.page.keyboard.press("Delete")
        view.page.keyboard.insert_text(statement)
        view.page.keyboard.press("Control+Enter")
        view.ready()

    run("SELECT count(*) AS kernels FROM kernel")
    expect(view.page.locator(".result td")).to_have_text([f"{KERNELS:,}"])
    assert "kernels" in view.page.url
    view.page.reload()
    view.ready()
    expect(view.page.locator(".result td")).to_have_text([f"{KERNELS:,}"])
    pages.check()
    run("SELECT nothing FROM kernel")
    expect(view.page.get_by_role("alert")).to_contain_text("nothing")
    run("FROM read_text('/etc/hostname')")
    expect(view.page.get_by_role("alert")).to_be_visible()
    # The browser says of itself that a request was refused.
    assert all("422" in said for said in pages.said)
    pages.said.clear()


def test_the_policy_lets_nothing_else_in(pages: Pages) -> None:
    view = pages.open("h200", "#view=sql")
    view.ready()
    ran = view.page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.ran = 1";
        document.body.append(script);
        return window.ran ?? null;
    }""")
    assert ran is None
    refused = view.page.evaluate(
        "fetch('http://127.0.0.1:9/').then(() => 'answered', (error) => error.name)"
    )
    assert refused == "TypeError"
    assert len(pages.said) >= 2
    assert all("Content Security Policy" in said for said in pages.said), pages.said
    pages.said.clear()


def test_a_wrong_token_is_said(pages: Pages) -> None:
    view = pages.open("h200", "#view=compare")
    view.ready()
    view.page.goto(f"{view.at.base}/?token=wrong")
    assert "the token is missing or wrong" in view.page.get_by_role("alert").inner_text()
    assert all("401" in said for said in pages.said)
    pages.said.clear()


def test_a_theme_that_was_chosen_stays(pages: Pages) -> None:
    view = pages.open("empty", "#view=compare")
    view.ready()
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    before = view.page.evaluate(ground)
    view.page.get_by_role("button", name="Dark theme").click()
    view.page.reload()
    view.ready()
    assert view.page.evaluate(ground) != before


def test_a_finding_leads_to_its_panel(pages: Pages) -> None:
    from playwright.sync_api import expect

    view = pages.open("h200", "#view=overview")
    view.ready()
    view.page.get_by_role("link", name="launch_bound").first.click()
    expect(view.page.locator("main h1")).to_have_text("Launches")
    view.page.go_back()
    view.ready()
    view.page.get_by_role("link", name="gap_attribution").first.click()
    panel = view.page.locator("[data-query=gap_attribution]")
    expect(panel).to_be_in_viewport()
    few = panel.locator("thead th").count()
    panel.get_by_role("button", name=re.compile("All .* columns")).click()
    assert panel.locator("thead th").count() > few


def test_what_all_panels_have_in_common_is_said_once(pages: Pages) -> None:
    view = pages.open("h200")
    view.ready()
    assert view.page.get_by_text("Part of the trace:").count() == 1
    view.go("Memory")
    absent = view.page.locator(".absent")
    reasons = absent.locator("> ul > li")
    assert reasons.count() == len(set(reasons.all_inner_texts())) > 0
    assert "no PCs were sampled" not in absent.inner_text()
    view.go("Stalls")
    assert absent.inner_text().count("no PCs were sampled") == 1
    assert absent.locator("ul ul li").count() == 6


def test_headings_are_words_and_what_a_row_is_about_stays(pages: Pages) -> None:
    view = pages.open("h200", "#view=kernels", width=390)
    view.ready()
    panel = view.page.locator("[data-query=kernel_category]")
    heads = panel.locator("thead th")
    assert heads.first.inner_text() == "category"
    assert "longest name" in heads.all_inner_texts()
    assert "kernel_rule" in (heads.first.get_attribute("title") or "")
    cell = view.page.locator("[data-query=kernel_summary] tbody th").first
    before = cell.evaluate("(cell) => cell.getBoundingClientRect().x")
    cell.evaluate("(cell) => { cell.closest('.scroll').scrollLeft = 100 }")
    assert cell.evaluate("(cell) => cell.getBoundingClientRect().x") == before


@pytest.mark.parametrize("trace", ["ranks", "stalls"])
def test_charts_of_kernels_are_as_wide_as_their_place(pages: Pages, trace: str) -> None:
    view = pages.open(trace, "#view=kernels", width=390)
    view.ready()
    for plot in view.page.locator(".beside svg").all():
        edge = plot.evaluate("it => it.getBoundingClientRect().right")
        words = plot.locator("text").all()
        ends = [word.evaluate("it => it.getBoundingClientRect().right") for word in words]
        assert max(ends) <= edge
        # The last of them is what the axis is about.
        ticks = [each.bounding_box() for each in plot.locator("g[aria-label^=x-axis] text").all()]
        for left, right in pairwise(sorted((each["x"], each["width"]) for each in ticks[:-1])):
            assert left[0] + left[1] < right[0]
        # As large as they are meant to be.
        assert plot.evaluate("it => it.getBoundingClientRect().width / it.width.baseVal.value") == 1


def test_what_was_not_answered_can_be_asked_again(pages: Pages) -> None:
    from playwright.sync_api import expect

    view = pages.open("h200", "#view=compare")
    view.ready()
    asks = re.compile("/(arrow|sql)")
    view.page.route(asks, lambda route: route.abort())
    view.page.get_by_role("link", name="Kernels").click()
    said = view.page.get_by_role("alert")
    expect(said.first).to_contain_text("the server does not answer")
    expect(view.page.locator("[aria-busy=true]")).to_have_count(0)
    view.page.unroute(asks)
    # One asks for all panels.
    said.get_by_role("button", name="Try again").first.click()
    view.ready()
    assert said.count() == 0
    assert executions(view) == KERNELS
    assert all("ERR_FAILED" in each for each in pages.said)
    pages.said.clear()


def test_the_timeline_says_what_is_pointed_at(pages: Pages) -> None:
    from playwright.sync_api import expect

    view = pages.open("h200", "#view=timeline")
    view.ready()
    canvas = view.page.locator("canvas")
    box = canvas.bounding_box()
    tip = view.page.locator(".tip")
    places = [(at / 20, row) for row in (55, 78) for at in range(4, 20)]
    for across, down in places:
        view.page.mouse.move(box["x"] + across * box["width"], box["y"] + down)
        if tip.is_visible():
            break
    assert re.search(r"(gaps|activities) \(.*\), busy|: .* from", tip.inner_text())
    view.page.mouse.down()
    view.page.mouse.move(box["x"] + box["width"] / 2 + 40, box["y"] + down, steps=4)
    assert not tip.is_visible()
    view.page.mouse.up()
    expect(view.page).to_have_url(re.compile("from="))
    view.page.get_by_role("button", name="Table").click()
    assert view.page.get_by_role("columnheader").all_inner_texts() == ["Lane", "Count", "Busy"]


def test_a_panel_says_for_how_long_it_waits(pages: Pages) -> None:
    from playwright.sync_api import expect

    view = pages.open("h200", "#view=compare")
    view.ready()
    view.page.route("**/arrow/*", lambda route: None)
    view.page.get_by_role("link", name="Copies").click()
    expect(view.page.locator(".loading").first).to_have_text(re.compile(r"Loading … \d s"))


def test_where_the_time_of_a_gpu_went_is_a_bar_of_parts(pages: Pages) -> None:
    view = pages.open("h200")
    view.ready()
    panel = view.page.locator("[data-query=busy_breakdown]")
    said = panel.get_by_role("img").get_attribute("aria-label") or ""
    assert re.search(r"gpu 0: compute .* ms; .*gpu 0: idle .* ms", said)
    # What is left is grey.
    assert panel.locator("svg rect").last.get_attribute("fill") == "#b0b0b0"


def test_of_captures_that_lie_apart_one_is_seen(pages: Pages) -> None:
    from playwright.sync_api import expect

    view = pages.open("apart", "#view=timeline")
    view.ready()
    said = view.page.locator(".range")
    expect(said).to_have_text("5 us from 0")
    view.page.get_by_role("button", name="5 us from 3,600 s").click()
    expect(said).to_have_text("5 us from 3,600 s")
    view.page.get_by_role("button", name="Fit").click()
    expect(said).to_have_text("3,600 s from 0")
