"""Groups of a head's parameters, which one run trains if they share what its theorems speak of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from wane import arguments
from wane.errors import InvalidDescription, MissingExtra

try:
    import torch

    from wane.extra.torch_head import LinearHead
except ImportError:
    raise MissingExtra("This bridge needs torch; install wane[torch].") from None

SHARED = {"lr": "learning rate", "weight_decay": "weight decay"}
"""What a group may set, if every other one sets it alike."""
CURES = {
    "lr": "set one for all (a bias learns faster or slower by the head's intercept)",
    "weight_decay": "set one for all, or leave it to ridge",
}


def groups_of(head: LinearHead, groups: Iterable[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """Return groups that hold each parameter of the head once; one group unless told."""
    if groups is None:
        return [{"params": list(head.parameters())}]
    made = [_group(place, group) for place, group in enumerate(groups)]
    names = {id(parameter): name for name, parameter in head.named_parameters()}
    found = [id(parameter) for group in made for parameter in group["params"]]
    if sorted(found) != sorted(names):
        got = ", ".join(names.get(one, "a parameter that is not the head's") for one in found)
        raise InvalidDescription(
            f"groups must hold each parameter of the head once ({', '.join(names.values())}), got "
            f"{got or 'none'}; a step moves all of them."
        )
    return made


def shared_numbers(head: LinearHead, groups: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the learning rate and the weight decay of all groups; refuse groups that differ.

    The theorems ask how far one step size and one ridge pull two runs together.  Of parameters
    that move at rates of their own they say nothing.
    """
    numbers = [_numbers(group) for group in groups]
    for place, own in enumerate(numbers):
        for (name, words), first, number in zip(SHARED.items(), numbers[0], own, strict=True):
            if number != first:
                raise InvalidDescription(
                    f"param_groups must share one {words}, got {number} in group {place} "
                    f"({_words(head, groups[place])}) beside {first} in group 0 "
                    f"({_words(head, groups[0])}); {CURES[name]}."
                )
    return numbers[0]


def _numbers(group: dict[str, Any]) -> tuple[float, float]:
    rate, decay = (number_of(group[name]) for name in SHARED)
    return arguments.real("lr", rate, above=0.0), arguments.real("weight_decay", decay, least=0.0)


def number_of(value: Any) -> Any:
    """Return the number of a tensor of one element, as a learning rate may be; else the value."""
    return value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value


def _group(place: int, group: Mapping[str, Any]) -> dict[str, Any]:
    strange = sorted(set(group) - {"params", *SHARED})
    if "params" not in group or strange:
        raise InvalidDescription(
            f"group {place} must have params, and may have {' and '.join(SHARED)}, got "
            f"{', '.join(map(str, group)) or 'nothing'}; every other setting is the optimizer's."
        )
    params = group["params"]
    return {**group, "params": [params] if isinstance(params, torch.Tensor) else list(params)}


def _words(head: LinearHead, group: dict[str, Any]) -> str:
    names = {id(parameter): name for name, parameter in head.named_parameters()}
    return ", ".join(names.get(id(parameter), "another") for parameter in group["params"])
