"""Opacus on many settings of one data set; noise that several settings share is found once.

Run by held_apart.py inside Opacus' own environment, with the arguments of peer_opacus.py.
"""

from functools import cache

import opacus.privacy_engine
from peer_opacus import main

opacus.privacy_engine.get_noise_multiplier = cache(opacus.privacy_engine.get_noise_multiplier)

if __name__ == "__main__":
    main()
