"""The parameters NAME=VALUE that the top SConstruct reads."""
import difflib

KNOWN = ("full", "only", "answers", "pdf", "mpi", "prefix", "RSFROOT")


def refusal(arguments):
    """Returns a message about the first parameter that is not known, or None."""
    for word, value in arguments.items():
        if word not in KNOWN:
            near = difflib.get_close_matches(word, KNOWN, 1)
            meant = f"; is {near[0]}= meant? Known are " if near else "; known are "
            return f"{word}={value}: ./sconsw does not know this parameter" + meant + ", ".join(f"{name}=" for name in KNOWN) + ". Correct it or leave it out, then run this again."
    return None
