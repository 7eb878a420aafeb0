"""The source papers beside wane: their bounds as printed, refuted or corrected, and their figures.

One folder for each paper.  Nothing here enters a certificate: of wane only the command line imports
this package.
"""
