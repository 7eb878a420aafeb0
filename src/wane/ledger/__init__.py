"""A ledger of releases: what was spent on each data set, kept through crashes and crowds."""

from wane.ledger.book import Account, Budget, BudgetExceeded, Entry, HeldAccount, Ledger

__all__ = ["Account", "Budget", "BudgetExceeded", "Entry", "HeldAccount", "Ledger"]
