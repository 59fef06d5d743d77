"""The data path of Madagascar: the prefix of the data files of RSF headers."""
import os
import re


def _of_file(name):
    """The prefix in a `.datapath` file: `datapath=PREFIX`, then lines `HOST datapath=PREFIX`; None without one."""
    try:
        with open(name, encoding="utf-8") as text:
            lines = text.read().splitlines()
    except OSError:
        return None
    path = None
    for line in lines:
        match = re.match(r"(?:(\S+)\s+)?datapath=(\S+)", line)
        if match and match.group(1) in (None, os.uname().nodename):
            path = match.group(2)
    return path


def datapath():
    """The data path: from `./.datapath`, $DATAPATH or `~/.datapath`, otherwise `./`, in the same order as in the programs."""
    home = os.path.join(os.path.expanduser("~"), ".datapath")
    return _of_file(".datapath") or os.environ.get("DATAPATH") or _of_file(home) or "./"


def getpath(cwd):
    """The data path of the project in `cwd`, whose last three folders distinguish projects. Creates the folder."""
    top = datapath()
    if top.startswith("./"):
        return top
    folder, rest = os.path.split(top)
    for level in cwd.split(os.sep)[-3:]:
        folder = os.path.join(folder, level)
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, rest)
