"""Finds a Python with numpy and scipy for the flow: the Python of the machine, or a Python in .venv with pinned versions from PyPI."""
import os
import subprocess
import sys

# scipy 1.16 requires Python 3.11, and 1.10 supports 3.8 to 3.10.
NEW, OLD = ("numpy==2.3.5", "scipy==1.16.3"), ("numpy==1.24.4", "scipy==1.10.1")
NEEDED = "import numpy, scipy.optimize, scipy.ndimage"
MISSING = ("scipy is missing and could not be installed into .venv, so nothing was inverted: install scipy with your package manager "
           "(Debian: python3-scipy) or give this machine a network, then run this again.")


def works(command, environment):
    """Whether a Python has numpy and scipy."""
    run = subprocess.run([*command, "-c", NEEDED], env=environment, capture_output=True)
    return run.returncode == 0


def quietly(*words):
    try:
        return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def versions(python):
    new = quietly(python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))")
    return NEW if new else OLD


def find(folder):
    """The shell command of a Python with numpy and scipy; None if there is none and none can be installed."""
    venv = os.path.join(folder, ".venv")
    own, site = os.path.join(venv, "bin", "python"), os.path.join(venv, "site")
    pip = ("-m", "pip", "install", "--quiet", "--retries", "1")
    beside = dict(os.environ, PYTHONPATH=os.pathsep.join([site, os.environ.get("PYTHONPATH", "")]))
    ways = (
        (lambda: True, ["python3"], os.environ, "python3"),
        (lambda: os.path.exists(own), [own], os.environ, own),
        (lambda: os.path.isdir(site), ["python3"], beside, f"PYTHONPATH={site}:$$PYTHONPATH python3"),
        # Debian's python3 cannot create a venv with pip, so pip installs into a plain folder there.
        (lambda: quietly("python3", "-m", "venv", "--clear", venv) and quietly(own, *pip, *versions(own)), [own], os.environ, own),
        (lambda: quietly("python3", *pip, "--target", site, *versions("python3")), ["python3"], beside,
         f"PYTHONPATH={site}:$$PYTHONPATH python3"),
    )
    for ready, command, environment, text in ways:
        try:
            if ready() and works(command, environment):
                return text
        except OSError:
            continue
    sys.stderr.write(MISSING + "\n")
    return None
