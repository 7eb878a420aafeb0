"""Lemmas that several verifiers share, in balls; files have the names of their twins in doubles."""
