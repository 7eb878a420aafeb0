"""The theorems: one folder for each proof technique, found by walking; imports nothing.

Python runs this file before any verifier below it, and a verifier may load nothing of a theorem.
"""

FOLDERS = ("composition", "joint_programme", "modulus", "sampled", "contraction", "log_sobolev")
"""The order in which theorems are asked and shown; folders that are not named here come last."""
