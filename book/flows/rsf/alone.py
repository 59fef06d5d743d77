"""One run at a time in a folder: two at once would write each other's files, and take them for their own later."""
import os

try:
    import fcntl
except ImportError:
    fcntl = None

# The lock goes with the process, however it ends: a file that is left behind stops nobody.
_held = []


def refusal(folder):
    """Takes the lock of the flow whose notes are in `folder`, for as long as this process lives. Returns a message if another run has it, or None."""
    if fcntl is None or _held:
        return None
    try:
        os.makedirs(folder, exist_ok=True)
        lock = open(os.path.join(folder, "lock"), "a+", encoding="utf-8")
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        process = lock.read().strip()
        lock.close()
        return f"another run of this flow is at work in this folder (process {process or 'unknown'}): wait for it, or copy the folder, then run this again."
    except OSError:
        # A file system without locks.
        lock.close()
        return None
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    _held.append(lock)
    return None
