"""The programs that a flow may name: the folder they lie in, and their names."""
import os


def _root():
    """The folder whose bin/ holds the programs: build/rsf of a checkout, else the prefix of an installation."""
    here = os.path.dirname(os.path.abspath(__file__))
    checkout = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(here))), "build", "rsf")
    parents = [here]
    while parents[-1] != os.path.dirname(parents[-1]):
        parents.append(os.path.dirname(parents[-1]))
    for folder in [checkout] + parents:
        if os.path.exists(os.path.join(folder, "bin", "sfewefd2d-gpu")):
            return folder
    return checkout


RSFROOT = _root()
BIN = os.path.join(RSFROOT, "bin")


def names():
    """Every program's name, with its prefix; empty before the programs are built."""
    try:
        return {name for name in os.listdir(BIN) if name.startswith("sf")}
    except OSError:
        return set()
