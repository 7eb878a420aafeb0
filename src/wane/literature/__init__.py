"""Bounds exactly as printed in papers, for comparison only; nothing here can enter a certificate.

Each module holds one paper.  A printed bound says where it stands, what it assumes, and whether it
is sound, loose or false, with the reason.
"""
