"""Argument checks under the name that descriptions use."""

from __future__ import annotations

from wane.arguments import kind, member, real, whole

__all__ = ["kind", "member", "real", "whole"]
