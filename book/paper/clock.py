"""Writes the wall-clock seconds of a command, the mean of several runs, as an RSF file of one number to standard output.

    python3 clock.py RUNS PROGRAM WORDS...

The program's output is discarded, and so are its messages unless it fails.
"""
import os
import subprocess
import sys
import time

runs, command = int(sys.argv[1]), sys.argv[2:]
began = time.perf_counter()
for _ in range(runs):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        sys.stderr.buffer.write(done.stderr)
        sys.exit(done.returncode)
seconds = (time.perf_counter() - began) / runs
spike = os.path.join(os.path.dirname(command[0]), "sfspike")
sys.exit(subprocess.run([spike, "n1=1", f"mag={seconds:.6g}"]).returncode)
