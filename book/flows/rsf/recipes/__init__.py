"""Recipes: functions that write several flows at once. `from rsf.recipes import fdmod, stiffness`, or as SConstructs of
Madagascar's book do it, `import fdmod, stiffness`.

Their names and parameters are those of Madagascar's recipes; what they do is written anew on the programs of this project.
"""


def absent(module):
    """For `__getattr__` of a module: what Madagascar's recipe of that name has and ours has not is told in a sentence."""

    def answer(name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"{module}.{name} is a recipe of Madagascar that this package does not have; "
            "write its flows into the SConstruct, or run this where Madagascar is installed."
        )

    return answer
