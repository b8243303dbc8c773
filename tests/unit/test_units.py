"""Numbers in what commands say."""

from __future__ import annotations

import pytest

from cupti_etl.units import percent, rounded


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.8512, "0.8512"),
        (12.345, "12.35"),
        (1234.5, "1,234"),
        (9999.7, "10,000"),
        (12345, "12,345"),
    ],
)
def test_no_number_has_an_exponent_for_its_size(value: float, text: str) -> None:
    assert rounded(value, 4) == text


@pytest.mark.parametrize(
    ("part", "text"),
    [(0.0085, "0.85 %"), (0.5, "50 %"), (0.996, "100 %"), (1, "100 %"), (2.63, "263 %")],
)
def test_a_percentage_has_no_exponent(part: float, text: str) -> None:
    assert percent(part) == text
