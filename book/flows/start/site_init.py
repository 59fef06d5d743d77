"""Read by SCons before any SConstruct, because `sconsw` names this folder with --site-dir.

If the machine has no Madagascar, it makes `from rsf.proj import *` find the package next to this folder. A Madagascar
that can be imported is used, unless SIFAKA_RSF=own selects the package of this project.
"""


def _offer_flows():
    """Makes this package available to Python, unless an installed Madagascar is found."""
    import importlib.util
    import os
    import sys

    try:
        madagascar = importlib.util.find_spec("rsf.proj") is not None
    except ImportError:
        madagascar = False
    if madagascar and os.environ.get("SIFAKA_RSF") != "own":
        return
    # Loaded modules of another package named rsf, for instance one without proj, must be removed.
    for name in [name for name in sys.modules if name == "rsf" or name.startswith("rsf.")]:
        del sys.modules[name]
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


_offer_flows()
del _offer_flows
