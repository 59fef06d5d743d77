"""Packages of Python that tests use beside the programs, in versions that do not change by themselves."""
import hashlib
import os

LIST = os.path.join("tests", "flows", "packages.txt")


def pins(top):
    """What pip is asked for: each package with its version, those that others need included."""
    with open(os.path.join(top, LIST), encoding="utf-8") as text:
        return [line.strip() for line in text if line.strip() and not line.startswith("#")]


def folder(top):
    """Where they lie: another list has another folder."""
    return os.path.join(top, ".venv", "python-" + hashlib.sha256("\n".join(pins(top)).encode()).hexdigest()[:12])
