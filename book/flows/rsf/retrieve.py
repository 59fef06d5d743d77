"""The action of Fetch, which copies data files from a server, a folder, or an existing copy."""
import os
import shutil
import sys
import urllib.request

BLOCK = 1 << 20


def show(target, source, env):
    """The line that SCons prints for the action."""
    return f"fetch {' '.join(map(str, target))} from {env['FETCH_FROM']}"


def place(server, top, dir):
    """The folder or address that holds the files; server='local' is the folder TOP/DIR of this machine."""
    if server == "local":
        return os.path.join(top or "", dir)
    return "/".join(part.rstrip("/") for part in (server, top, dir) if part)


def copies(name, dir):
    """The paths of possible copies: $SIFAKA_DATA/DIR/NAME and $SIFAKA_DATA/NAME."""
    top = os.environ.get("SIFAKA_DATA")
    return [os.path.join(top, dir, name), os.path.join(top, name)] if top else []


def run(target, source, env):
    """Fetches every target, completely or not at all."""
    for node in target:
        name = os.path.basename(str(node))
        try:
            _one(name, str(node), env["FETCH_FROM"], copies(name, env["FETCH_DIR"]))
        except (OSError, ValueError) as reason:
            sys.stderr.write(
                f"fetch: {name} could not be fetched from {env['FETCH_FROM']} ({reason}); "
                f"put a copy into a folder and name that folder in SIFAKA_DATA.\n"
            )
            return 1
    return 0


def _one(name, path, place, at_hand):
    draft = path + ".part"
    address = f"{place}/{name}"
    local = next((copy for copy in at_hand if os.path.exists(copy)), None)
    if local is None and "://" not in address:
        local = address
    try:
        if local is not None:
            shutil.copyfile(local, draft)
        else:
            with urllib.request.urlopen(address, timeout=60) as answer, open(draft, "wb") as file:
                shutil.copyfileobj(answer, file, BLOCK)
        if os.path.getsize(draft) == 0:
            raise OSError("the file is empty")
        os.replace(draft, path)
    finally:
        if os.path.exists(draft):
            os.remove(draft)
