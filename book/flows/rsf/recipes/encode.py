"""SConstructs for elastic modelling import this recipe and use nothing of it; using something tells what is missing."""
from rsf.recipes import absent

__getattr__ = absent("encode")
