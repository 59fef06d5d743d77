"""usage: cells.py NOTEBOOK: runs the code cells of a notebook as Jupyter does, but without Jupyter, and prints the time in seconds at which each picture is shown."""
import json
import os
import subprocess
import sys
import time
import types


def main(notebook):
    began = time.time()
    display = types.ModuleType("IPython.display")
    display.Image = lambda name: print(f"{time.time() - began:.1f} s: {os.path.getsize(name)} bytes of {name}", flush=True)
    sys.modules.update({"IPython": types.ModuleType("IPython"), "IPython.display": display})
    os.chdir(os.path.dirname(os.path.abspath(notebook)))
    with open(notebook, encoding="utf-8") as text:
        cells = json.load(text)["cells"]
    names = {}
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        source = "".join(cell["source"])
        if source.startswith("%%bash\n"):
            subprocess.run(["bash"], input=source.split("\n", 1)[1], text=True, check=True)
        else:
            exec(compile(source, notebook, "exec"), names)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
