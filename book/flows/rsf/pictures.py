"""Pictures of flows: their suffix, how several become one, how they are shown."""
import os
import re
import shutil
import subprocess

SUFFIX = ".png"
KNOWN = (".png", ".svg", ".gif", ".jpg", ".pdf", ".html", ".txt")


def _suffix(name, flow, suffix):
    if suffix:
        return suffix
    format = re.findall(r"\bformat=(svg|png|gif)\b", str(flow))
    return "." + format[-1] if format else SUFFIX


def named(target, flow, suffix=None):
    """The file of a picture: `format=svg` in its command, or a suffix that is one of a picture, decides."""
    if str(target).endswith(KNOWN):
        return str(target)
    return str(target) + _suffix(target, flow, suffix)


def composed(target, files, word, suffix=None):
    """The file of several pictures together."""
    return named(target, "", suffix or os.path.splitext(str(files[0]))[1] or None)


def _beside(columns):
    return lambda count: f"compose columns={columns(count)} ${{SOURCES[:{count}]}}"


COMPOSITIONS = {
    "SideBySideAniso": _beside(lambda count: count),
    "SideBySideIso": _beside(lambda count: count),
    "OverUnderAniso": _beside(lambda count: 1),
    "OverUnderIso": _beside(lambda count: 1),
    "TwoRows": _beside(lambda count: (count + 1) // 2),
    "TwoColumns": _beside(lambda count: 2),
    "Overlay": lambda count: f"compose overlay=y ${{SOURCES[:{count}]}}",
    "Movie": lambda count: f"compose movie=y ${{SOURCES[:{count}]}}",
}


def show(target, source, env):
    """Says where a picture is, and opens it where there is a screen."""
    path = os.path.abspath(str(source[0]))
    print(path, flush=True)
    screen = env["ENV"].get("DISPLAY") or env["ENV"].get("WAYLAND_DISPLAY")
    viewer = shutil.which("xdg-open") or shutil.which("display")
    if screen and viewer:
        subprocess.Popen([viewer, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    return 0
