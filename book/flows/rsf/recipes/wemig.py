"""A stand-in for Madagascar's recipe of this name, which SConstructs for elastic modelling import without using it."""
from rsf.recipes import absent

__getattr__ = absent("wemig")
