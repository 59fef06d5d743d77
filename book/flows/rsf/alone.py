"""One run at a time in a folder: two simultaneous runs would overwrite each other's files, and later use them as their own."""
import os

try:
    import fcntl
except ImportError:
    fcntl = None

# The lock ends with the process, however that ends: a lock file that remains does not block later runs.
_held = []


def refusal(folder):
    """Takes the lock of the flow whose notes are in `folder` until this process ends. Returns a message if another run has it, or if the flow cannot write into its own folder; otherwise None."""
    if fcntl is None or _held:
        return None
    try:
        os.makedirs(folder, exist_ok=True)
        lock = open(os.path.join(folder, "lock"), "a+", encoding="utf-8")
    except OSError as problem:
        own = os.path.dirname(os.path.abspath(folder))
        return f"this flow cannot write into its folder {own} ({problem.strerror}): copy the folder to a place of your own and run the flow there."
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        process = lock.read().strip()
        lock.close()
        return f"another run of this flow is in progress in this folder (process {process or 'unknown'}): wait for it, or copy the folder, then run this again."
    except OSError:
        # The file system has no locks.
        lock.close()
        return None
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    _held.append(lock)
    return None
