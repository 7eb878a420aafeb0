"""A local web page: turn the knobs of a description and see what can be claimed (extra `web`)."""

from wane.web.server import serve
from wane.web.table import LocalTable

__all__ = ["LocalTable", "serve"]
