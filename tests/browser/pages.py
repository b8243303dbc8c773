"""A page in a browser: what is done with it, and what it may never do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Address:
    """Where a trace is served."""

    base: str
    token: str

    @property
    def first(self) -> str:
        return f"{self.base}/?token={self.token}"


@dataclass
class Pages:
    """Opens pages of served traces.

    Attributes:
        said: what the consoles of the pages have to say, and errors that nobody caught.
        strange: requests to anybody else.
    """

    browser: Any
    serve: Callable[[str], Address]
    stack: ExitStack
    said: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)

    def open(self, trace: str, state: str = "", *, width: int = 1440, theme: str = "light") -> View:
        """A page of its own, in a browser without memory."""
        at = self.serve(trace)
        context = self.browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme
        )
        self.stack.callback(context.close)
        page = context.new_page()
        page.on("console", lambda message: self._told(message.type, message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self._asked(request.url, at.base))
        page.goto(f"{at.first}{state}")
        return View(page, at)

    def _told(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.said.append(text)

    def _asked(self, url: str, base: str) -> None:
        if not url.startswith((f"{base}/", "data:", "blob:")):
            self.strange.append(url)

    def check(self) -> None:
        """Nothing was wrong on any page."""
        assert self.strange == []
        assert self.said == []


@dataclass
class View:
    """What is done with a page."""

    page: Any
    at: Address

    def names(self) -> list[str]:
        """The views."""
        self.ready()
        found: list[str] = self.page.locator("nav a").all_inner_texts()
        return found

    def go(self, name: str) -> None:
        """Show a view, and wait for all of it."""
        from playwright.sync_api import expect

        self.page.get_by_role("link", name=name, exact=True).first.click()
        expect(self.page.locator("main h1")).to_have_text(name)
        self.ready()

    def ready(self) -> None:
        from playwright.sync_api import expect

        expect(self.page.locator("main h1")).to_be_visible(timeout=60_000)
        for waits in ("[aria-busy=true]", "main .loading", "canvas[data-state=loading]"):
            expect(self.page.locator(waits)).to_have_count(0, timeout=60_000)

    def complaints(self) -> list[str]:
        found: list[str] = self.page.locator(".complaint").all_inner_texts()
        return found

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        found: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return found
