"""Rows and columns as frames of pandas or polars, whichever is there. Neither is needed: without
both, a frame is a dict of lists."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from typing import Any, Literal

FrameKind = Literal["pandas", "polars", "dict"]
Columns = dict[str, list[Any]]

_KINDS: tuple[FrameKind, ...] = ("pandas", "polars", "dict")


def kind(wanted: str | None) -> FrameKind:
    """The kind that was asked for, checked; unset: pandas, else polars, else dict."""
    if wanted is None:
        return next((name for name in _KINDS if name == "dict" or importlib.util.find_spec(name)), "dict")
    if wanted not in _KINDS:
        raise ValueError(f"frame {wanted!r}: expected one of {', '.join(_KINDS)}")
    if wanted != "dict" and not importlib.util.find_spec(wanted):
        raise ValueError(f"frame {wanted!r}: {wanted} is not installed: pip install 'isobar-numa[{wanted}]'")
    return wanted


def frame(columns: Columns, wanted: FrameKind) -> Any:
    """Columns as a frame."""
    if wanted == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    if wanted == "polars":
        import polars

        # All values decide on a column's type: the first may not be measured.
        return polars.DataFrame(columns, infer_schema_length=None, strict=False)
    return columns


def columns(rows: Iterable[Mapping[str, Any]]) -> Columns:
    """Rows as columns, in the order in which their keys first occur; what a row lacks is None."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}


def flat(row: Mapping[str, Any], drop: Iterable[str] = ()) -> dict[str, Any]:
    """A row whose tables became columns: {"a": {"b": 1}} as {"a_b": 1}."""
    flattened: dict[str, Any] = {}
    for name, value in row.items():
        if name in drop:
            continue
        if isinstance(value, Mapping):
            flattened.update({f"{name}_{inner}": one for inner, one in flat(value).items()})
        else:
            flattened[name] = value
    return flattened
