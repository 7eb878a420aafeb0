"""Powers of kernels in few products, and in fewer once repeating changes nothing any more."""

from __future__ import annotations

from typing import Protocol, TypeVar


class Factor(Protocol):
    """What can be multiplied and may know that further repetition does not matter."""

    def then(self: Kind, following: Kind) -> Kind:
        """The product."""
        ...

    def settled(self: Kind, times: int) -> Kind | None:
        """The power or any later one, if that needs no product."""
        ...


Kind = TypeVar("Kind", bound=Factor)


def raised(base: Kind, times: int) -> Kind:
    """The base multiplied by itself so many times, by repeated squaring.

    Two ones in a row of the binary number are one digit if that saves products.
    """
    digits = bin(times)[2:]
    known = {"1": base}
    # The cube costs two products, one of which saves a squaring if the number starts with it.
    price = 1 if digits.startswith("11") else 2
    if len(digits) > 2 and _windows(digits) + price < digits.count("1"):
        squared = base.then(base)
        known["11"] = squared.then(base)
    start = "11" if "11" in known and digits.startswith("11") else "1"
    result, place = known[start], len(start)
    while place < len(digits):
        window = "11" if "11" in known and digits.startswith("11", place) else digits[place]
        for _ in window:
            result = result.then(result)
        if window != "0":
            result = result.then(known[window])
        place += len(window)
        same = result.settled(times // int(digits[:place], 2))
        if same is not None:
            return same
    return result


def _windows(digits: str) -> int:
    """How many digits remain non-zero when two ones in a row are read as one digit."""
    return digits.replace("11", "2").replace("2", "1").count("1")
