"""The distributed Python runs on the oldest version that the pages name: its syntax and its standard library are sufficient."""
import ast
import os
import re
import unittest

from support import TOP

from suite import dist

OLDEST = tuple(map(int, re.fullmatch(r">=(\d+)\.(\d+)", dist.PYTHON).groups()))
# Methods, functions and modules that were added in 3.9 to 3.14; numpy has some of the mathematical functions, too.
LATER = set(
    "removeprefix removesuffix bit_count pairwise batched is_relative_to with_stem hardlink_to randbytes binomialvariate to_thread TaskGroup "
    "file_digest unparse get_annotations linear_regression StrEnum ExceptionGroup add_note anext aiter".split()
)
MATH = set("lcm nextafter ulp cbrt exp2 sumprod fma".split())
MODULES = {"zoneinfo", "graphlib", "tomllib"}
GENERIC = {"list", "dict", "tuple", "set", "frozenset", "type"}


def sources():
    """Every Python file below book/, including SConstructs, and the SConstruct at the top."""
    found = [os.path.join(TOP, "SConstruct")]
    for folder, folders, names in os.walk(os.path.join(TOP, "book")):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        found += [os.path.join(folder, name) for name in names if name.endswith(".py") or name in ("SConstruct", "SConscript")]
    return found


def later(text):
    """The lines of a text that need a newer version, and what they need."""
    try:
        tree = ast.parse(text, feature_version=OLDEST)
    except SyntaxError as fault:
        return [(fault.lineno, fault.msg)]
    lazy = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" and node.names[0].name == "annotations" for node in tree.body)
    noted = set()
    for node in ast.walk(tree):
        notes = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        noted |= {id(inner) for note in notes if note and lazy for inner in ast.walk(note)}
    found = []
    for node in ast.walk(tree):
        name = getattr(node, "attr", getattr(node, "id", None))
        of_math = name in MATH and getattr(getattr(node, "value", None), "id", "") == "math"
        if isinstance(node, (ast.Attribute, ast.Name)) and (name in LATER or of_math):
            found.append((node.lineno, name))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            words = [getattr(node, "module", None)] + [alias.name for alias in node.names]
            newer = MODULES | LATER | (MATH if words[0] == "math" else set())
            found += [(node.lineno, word) for word in words if word in newer]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "zip" and any(word.arg == "strict" for word in node.keywords):
            found.append((node.lineno, "zip(strict=)"))
        elif isinstance(node, ast.Subscript) and getattr(node.value, "id", "") in GENERIC and id(node) not in noted:
            found.append((node.lineno, f"{node.value.id}[...]"))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            # The operator | joins dictionaries, or types.
            sides = (node.left, node.right)
            kinds = any(isinstance(side, ast.Dict) or getattr(side, "id", "") in GENERIC | {"int", "str", "float"} for side in sides)
            none = any(isinstance(side, ast.Constant) and side.value is None for side in sides)
            if (kinds or none) and id(node) not in noted:
                found.append((node.lineno, "| of dictionaries or types"))
    return found


class Versions(unittest.TestCase):
    def test_nothing_is_newer_than_the_pages_say(self):
        files = sources()
        self.assertGreater(len(files), 100)
        for path in files:
            with open(path, encoding="utf-8") as file:
                self.assertEqual(later(file.read()), [], path)

    def test_what_is_newer_is_found(self):
        for text in (
            "a.removeprefix('x')",
            "from math import lcm",
            "math.cbrt(2)",
            "import tomllib",
            "zip(a, b, strict=True)",
            "{} | {}",
            "x: int | None = 3",
            "def f() -> list[int]: pass",
            "match a:\n    case 1: pass",
        ):
            self.assertEqual(len(later(text)), 1, text)
        self.assertEqual(later("from __future__ import annotations\ndef f(a: int | None) -> list[int]: return a | {1}"), [])


if __name__ == "__main__":
    unittest.main()
