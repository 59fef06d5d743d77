"""Python packages that the tests use, in fixed versions."""
import hashlib
import os

LIST = os.path.join("tests", "flows", "packages.txt")


def pins(top):
    """The packages with their versions for pip, including the dependencies."""
    with open(os.path.join(top, LIST), encoding="utf-8") as text:
        return [line.strip() for line in text if line.strip() and not line.startswith("#")]


def folder(top):
    """The folder of the packages; each list has its own folder."""
    return os.path.join(top, ".venv", "python-" + hashlib.sha256("\n".join(pins(top)).encode()).hexdigest()[:12])
