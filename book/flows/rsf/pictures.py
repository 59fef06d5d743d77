"""Pictures of flows: their suffixes, their composition, and showing them."""
import os
import re
import shutil
import subprocess

RESULT = ".png"
# Parts of other pictures are SVG, because these can be overlaid without hiding each other and stay sharp.
PART = ".svg"
KNOWN = (".png", ".svg", ".gif", ".jpg", ".pdf", ".html", ".txt")


def named(target, flow, suffix=None, usual=RESULT):
    """The file name of a picture: a suffix of a picture format, or `format=svg` in its command, decides the format."""
    if str(target).endswith(KNOWN):
        return str(target)
    format = re.findall(r"\bformat=(svg|png|gif)\b", str(flow))
    moves = re.search(r"(^|\|)\s*(sf)?movie\b|\bmovie=[123]", str(flow))
    return str(target) + (suffix or ("." + format[-1] if format else RESULT if moves else usual))


def _side(columns):
    return lambda count: f"pictures mode=side columns={columns(count)} ${{SOURCES[:{count}]}}"


def _whole(mode):
    return lambda count: f"pictures mode={mode} ${{SOURCES[:{count}]}}"


COMPOSITIONS = {
    "SideBySideAniso": _side(lambda count: count),
    "SideBySideIso": _side(lambda count: count),
    "OverUnderAniso": _whole("over"),
    "OverUnderIso": _whole("over"),
    "TwoRows": _side(lambda count: (count + 1) // 2),
    "TwoColumns": _side(lambda count: 2),
    "Overlay": _whole("overlay"),
    "Movie": _whole("movie"),
}


def show(target, source, env):
    """Prints the name of a picture, and opens it if there is a screen."""
    path = os.path.abspath(str(source[0]))
    print(path, flush=True)
    screen = env["ENV"].get("DISPLAY") or env["ENV"].get("WAYLAND_DISPLAY")
    viewer = shutil.which("xdg-open") or shutil.which("display")
    if screen and viewer:
        subprocess.Popen([viewer, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    return 0
