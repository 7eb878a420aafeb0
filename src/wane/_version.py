"""The version, in the one place that packaging and certificates read."""

__version__ = "0.2.0"
