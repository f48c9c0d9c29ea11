"""Canonical JSON: numbers and keys of RFC 8785, and values that it does not allow."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quality.gates import signing

# Appendix B of RFC 8785: bits of the number, and its text.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "becbf647612f3696": "-0.0000033333333333333333",
}


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_of_the_standard(bits: str, text: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert signing.encode_canonical_json(number).decode() == text


def test_example_of_the_standard() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\nA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    assert signing.encode_canonical_json(value).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_are_sorted_by_their_utf_16_code_units() -> None:
    keys = ["€", "\r", "\ufb33", "1", "😀", "\u0080", "ö"]
    assert list(json.loads(signing.encode_canonical_json(dict.fromkeys(keys)))) == [
        "\r", "1", "\u0080", "ö", "€", "😀", "\ufb33",
    ]  # fmt: skip


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_is_read_back(number: float) -> None:
    assert float(signing.encode_canonical_json(number)) == number


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53 + 1, {1: 2}])
def test_other_values_are_rejected(value: object) -> None:
    with pytest.raises(ValueError, match=r"number|exact|texts"):
        signing.encode_canonical_json(value)
