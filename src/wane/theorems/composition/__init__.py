"""Charge for every use of a record, as if all iterates were seen."""
