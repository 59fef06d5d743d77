"""SConstructs for elastic modelling import this recipe but use nothing of it; an error says what is missing if they do."""
from rsf.recipes import absent

__getattr__ = absent("wemig")
