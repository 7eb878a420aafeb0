"""Descriptions that ship with wane."""
