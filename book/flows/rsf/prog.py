"""The programs that a flow may use: their folder and their names."""
import os


def _bin():
    """The folder with the programs: build/rsf/bin of a checkout, otherwise bin of the installation around this package,
    otherwise the first folder on PATH that contains the everyday programs of this project under their own names."""
    here = os.path.dirname(os.path.abspath(__file__))
    checkout = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(here))), "build", "rsf")
    parents = [here]
    while parents[-1] != os.path.dirname(parents[-1]):
        parents.append(os.path.dirname(parents[-1]))
    for folder in [checkout] + parents:
        if os.path.exists(os.path.join(folder, "bin", "sfewefd2d-gpu")):
            return os.path.join(folder, "bin")
    for folder in os.get_exec_path():
        if all(os.access(os.path.join(folder, name), os.X_OK) for name in ("sfbasics", "sfspike")):
            return os.path.abspath(folder)
    return os.path.join(checkout, "bin")


BIN = _bin()
RSFROOT = os.path.dirname(BIN)


def names():
    """The names of all programs, with their prefix; empty if the programs have not been built."""
    try:
        return {name for name in os.listdir(BIN) if name.startswith("sf")}
    except OSError:
        return set()
