"""Flows for SCons on machines without Madagascar.

`from rsf.proj import *` gives Flow, Plot, Result, Fetch, Get and End with the same meaning as in Madagascar, for the
programs of this project. If a real Madagascar can be imported, this package is not used (../start/site_init.py).
"""
