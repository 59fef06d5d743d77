"""The names of programs, and a folder with links for all of them."""
import os
import re
import subprocess

# The names of the programs of Weiss and Shragge, so that their SConstructs run unchanged.
OLD = {
    "sfewefd2d_gpu": "sfewefd2d-gpu",
    "sfewefd3d_gpu": "sfewefd3d-gpu",
    "sfewefd3d_gpu_p2p": "sfewefd3d-gpu",
    "sfewefd3d_gpu_mpi": "sfewefd3d-gpu",
}
# Madagascar's own CPU programs: these names are only for flows on machines without it, and are never installed together with it.
OMP = {"sfewefd2d_omp": "sfewefd2d-gpu", "sfewefd3d_omp": "sfewefd3d-gpu"}


def everyday(basics):
    """The programs inside the binary `sfbasics`, which it lists itself."""
    try:
        answer = subprocess.run([basics], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError:
        return []
    return sorted("sf" + name for name in re.findall(r"^\s+sfbasics (\w+)", answer.stdout + answer.stderr, re.MULTILINE))


def link(target, path):
    """Makes a symbolic link, in one step and only if it changes."""
    if os.path.islink(path) and os.readlink(path) == target:
        return
    draft = path + ".new"
    if os.path.lexists(draft):
        os.remove(draft)
    os.symlink(target, draft)
    os.replace(draft, path)


def folder_of_flows(programs, built, folder):
    """Fills `folder` with a link to every program, under every name that a flow may use.

    programs: names in the folder `built`. The folder is apart from `built`, which users put on their PATH: there the
    everyday programs would hide Madagascar's own.
    """
    os.makedirs(folder, exist_ok=True)
    links = {name: name for name in programs}
    links.update({old: new for old, new in {**OLD, **OMP}.items() if new in programs})
    if "sfbasics" in programs:
        links.update({name: "sfbasics" for name in everyday(os.path.join(built, "sfbasics")) if name not in programs})
    for name, program in links.items():
        link(os.path.join(os.path.relpath(built, folder), program), os.path.join(folder, name))
    for name in set(os.listdir(folder)) - set(links):
        os.remove(os.path.join(folder, name))
