"""Flows for SCons on machines without Madagascar.

`from rsf.proj import *` gives Flow, Plot, Result, Fetch, Get and End with the meaning they have in Madagascar, over the
programs of this project. Where a real Madagascar can be imported this package is not used (../start/site_init.py).
"""
