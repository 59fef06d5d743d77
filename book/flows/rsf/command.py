"""The text of a flow: `window n1=5 | math output=input*2 && attr` converted to commands of the shell."""
import os
import re
import shlex

SEPARATORS = ("&&", "||", "|", ";")
CLOSING = {"{": "}", "(": ")"}


def stages(flow):
    """Cuts a flow into stages: a list of (text, separator after it), the last separator empty.

    Text in quotes, in ${...} and in (...) is never cut.
    """
    parts, text, open_marks, i = [], "", [], 0
    while i < len(flow):
        char = flow[i]
        inside = open_marks[-1] if open_marks else ""
        if char == "\\" and inside != "'" and i + 1 < len(flow):
            text += flow[i:i + 2]
            i += 2
            continue
        if inside in ("'", '"'):
            if char == inside:
                open_marks.pop()
        elif char in "'\"":
            open_marks.append(char)
        elif inside and char == inside:
            open_marks.pop()
        elif char in CLOSING and (char == "(" or text.endswith("$")):
            open_marks.append(CLOSING[char])
        elif not open_marks:
            cut = next((mark for mark in SEPARATORS if flow.startswith(mark, i)), "")
            # >| is a redirection
            if cut and not (cut == "|" and text.endswith(">")):
                parts.append((text.strip(), cut))
                text, i = "", i + len(cut)
                continue
        text += char
        i += 1
    if open_marks:
        raise ValueError(f"`{open_marks[-1]}` is missing in the flow `{' '.join(flow.split())}`")
    parts.append((text.strip(), ""))
    return parts


class Command:
    """A flow with its programs looked up."""

    def __init__(self, flow, names, folder, prefix="sf"):
        """`names` are the known programs of `folder`; every other first word is left as typed.

        With prefix="" names must be complete.
        """
        self.programs = []
        cut = stages(" ".join(str(flow).split()))
        # A separator at the very end (`a | b;`) does not begin another stage.
        if len(cut) > 1 and not cut[-1][0]:
            cut[-2:] = [(cut[-2][0], "")]
        if any(not text for text, _ in cut):
            raise ValueError(f"a command is missing in the flow `{' '.join(str(flow).split())}`")
        self.stages = [(self._looked_up(text, names, folder, prefix), mark) for text, mark in cut]
        self.ends_in_program = self._last_is_program

    def _looked_up(self, text, names, folder, prefix):
        match = re.match(r"((?:[A-Za-z_]\w*=\S*\s+)*)(\S+)(.*)", text, re.DOTALL)
        settings, word, rest = match.groups()
        name = word if word.startswith(prefix) and word in names else prefix + word
        self._last_is_program = name in names
        if self._last_is_program:
            path = os.path.join(folder, name)
            self.programs.append(path)
            word = shlex.quote(path)
        elif folder and word.startswith(folder + os.sep):
            self.programs.append(word)
        return settings + word + rest

    def line(self, before="", after="", watched=False):
        """The command as one line for the shell, with `before` in front of the first stage and `after` at the end of the last.

        `watched`: a stage whose output goes into a pipe reports its exit status into the file $FLOW_FAILED, because the
        shell returns only the status of the last stage of a pipe.
        """
        last = len(self.stages) - 1
        words = []
        for number, (text, mark) in enumerate(self.stages):
            text = (before if number == 0 else "") + text + (after if number == last else "")
            if watched and mark == "|":
                text = "{ " + text + ' || echo $$? >> "$$FLOW_FAILED"; }'
            words += [text, mark] if mark else [text]
        return re.sub(r" ;", ";", " ".join(words))
