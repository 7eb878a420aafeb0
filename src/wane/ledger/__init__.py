"""A ledger of the releases of each data set, safe against crashes and concurrent use."""

from wane.ledger.book import Account, Budget, BudgetExceeded, Entry, HeldAccount, Ledger

__all__ = ["Account", "Budget", "BudgetExceeded", "Entry", "HeldAccount", "Ledger"]
