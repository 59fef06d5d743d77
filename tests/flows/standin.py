"""A stand-in for an installed Madagascar, for the tests of `scons install`: RSFROOT with a package `rsf`.

It has the parts that a third-party program finds there: `rsf.doc` with its registry, the generated `rsf.prog` with one line per module,
and an `rsf.proj` whose Flow knows only registered programs, runs them from $RSFROOT/bin and uses its own environment.
"""
import os
import textwrap

DOC = '''
progs = {}

class rsfpar:
    def __init__(self, type, default="", range="", desc=""):
        self.text = type + " " + "=" + str(default) + " " + range + "\\t" + desc

class rsfprog:
    def __init__(self, name, file, desc=None):
        self.name, self.file, self.desc, self.pars = name, file, desc, {}
        self.snps = self.cmts = self.vers = None
    def par(self, name, par): self.pars[name] = par
    def version(self, vers): self.vers = vers
    def synopsis(self, snps, cmts): self.snps, self.cmts = snps, cmts
    def use(self, book, chapter, project): pass
    def document(self):
        lines = ["NAME", self.name, "DESCRIPTION", self.desc, "SYNOPSIS", self.snps, "COMMENTS", self.cmts, "PARAMETERS"]
        lines += [name + self.pars[name].text for name in sorted(self.pars)] + ["SOURCE", self.file, "VERSION", self.vers]
        return "\\n".join(map(str, lines))
'''

OTHER = '''
import rsf.doc
rsf.doc.progs["sfspike"] = rsf.doc.rsfprog("sfspike", "system/main/spike.c", "Spikes")
'''

PROG = '''import sys, os

import rsf.doc

import rsf.sfmain

import rsf.vpplot


try:
    import rsf.use
except:
    pass

RSFROOT="{root}"

def selfdoc():
    import rsf.doc
    print(rsf.doc.progs.get(os.path.basename(sys.argv[0])))
'''

PROJ = '''
import os
import rsf.doc, rsf.prog
from SCons.Script import *

print("stand-in for Madagascar")
BIN = os.path.join(rsf.prog.RSFROOT, "bin")

class Project(Environment):
    def __init__(self, **kw):
        Environment.__init__(self, tools=[], **kw)
        self["ENV"] = {"PATH": "/usr/local/bin:/opt/bin:/bin:/usr/bin", "RSFROOT": rsf.prog.RSFROOT, "DATAPATH": "./",
                       "HOME": os.environ.get("HOME", "/"), "OMP_NUM_THREADS": 4096}

    def Flow(self, target, source, flow, stdout=1, stdin=1):
        split = lambda names: names if isinstance(names, list) else (names or "").split()
        dotted = lambda names: [name if "." in name else name + ".rsf" for name in split(names)]
        targets, sources = dotted(target), dotted(source)
        pieces = []
        for piece in " ".join(flow.split()).split("|"):
            word, *rest = piece.split()
            name = word if word.startswith("sf") else "sf" + word
            if name in rsf.doc.progs:
                word = os.path.join(BIN, name)
                sources.append(word)
            pieces.append(" ".join([word] + rest))
        line = " | ".join(pieces)
        if stdout == 1:
            line += " > $TARGET"
        elif stdout == 0:
            line += " > /dev/null"
        if stdin and source:
            line = "< $SOURCE " + line
        made = self.Command(targets, sources, line)
        self.Default(made)
        return made

project = Project()

def Flow(target, source, flow, **kw):
    return project.Flow(target, source, flow, **kw)

def End():
    pass
'''


def build(root):
    """Makes RSFROOT with its bin and packages; returns the folder for PYTHONPATH."""
    packages = os.path.join(root, "lib", "python3", "dist-packages")
    os.makedirs(os.path.join(packages, "rsf"))
    os.makedirs(os.path.join(root, "bin"))
    texts = {"__init__": "", "doc": DOC, "sfmain": OTHER, "vpplot": "", "prog": PROG.format(root=root), "proj": PROJ}
    for name, text in texts.items():
        with open(os.path.join(packages, "rsf", name + ".py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
    with open(os.path.join(root, "bin", "sfspike"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho n1=1 the spike of Madagascar\n")
    os.chmod(os.path.join(root, "bin", "sfspike"), 0o755)
    return packages
