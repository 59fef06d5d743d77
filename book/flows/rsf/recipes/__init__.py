"""Recipes: functions that write several flows at once. They are imported by `from rsf.recipes import fdmod, stiffness`, or, as in
SConstructs of Madagascar's book, by `import fdmod, stiffness`.

Their names and parameters are those of Madagascar's recipes; their code is new and uses the programs of this project.
"""


def absent(module):
    """A `__getattr__` for a module of recipes: raises an error for names that only Madagascar's recipe has."""

    def answer(name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"{module}.{name} is a recipe of Madagascar that this package does not have; "
            "write its flows into the SConstruct, or run this where Madagascar is installed."
        )

    return answer
