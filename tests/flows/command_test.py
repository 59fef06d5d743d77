"""The text of flows: where it is split, which words are looked up, and what the shell receives."""
import importlib.util
import os
import unittest

from support import FLOWS

spec = importlib.util.spec_from_file_location("command", os.path.join(FLOWS, "rsf", "command.py"))
command = importlib.util.module_from_spec(spec)
spec.loader.exec_module(command)


def line(flow, before="", after="", **options):
    return command.Command(flow, {"sfmath", "sfcat", "sfwindow"}, "/b").line(before, after, **options)


class Stages(unittest.TestCase):
    def test_cuts(self):
        self.assertEqual(command.stages("a b|c && d; e || f"), [("a b", "|"), ("c", "&&"), ("d", ";"), ("e", "||"), ("f", "")])

    def test_quotes_braces_and_escapes_are_never_cut(self):
        for text in ("""a 'x | y' "p && q" """, "a $(b | c; d)", "a ${SOURCES[1]}", r"a \| \"", "(a | b) > c", "a >| b", "a \"it's\""):
            self.assertEqual(command.stages(text), [(text.strip(), "")])

    def test_what_is_open_is_told(self):
        for text in ("a 'x", 'a "x', "a $(b", "a ${b"):
            with self.assertRaisesRegex(ValueError, "is missing in the flow"):
                command.stages(text)


class Lines(unittest.TestCase):
    def test_first_words_are_looked_up(self):
        self.assertEqual(line("math x=1 | sfcat math\n && ls; /b/sfwindow"), "/b/sfmath x=1 | /b/sfcat math && ls; /b/sfwindow")
        made = command.Command("X=1 Y='2' math | time math; /b/other", {"sfmath"}, "/b")
        self.assertEqual(made.line(), "X=1 Y='2' /b/sfmath | time math; /b/other")
        self.assertEqual(made.programs, ["/b/sfmath", "/b/other"])

    def test_names_in_full_only(self):
        made = command.Command("math x=1 | sfmath | sfnone", {"sfmath"}, "/b", prefix="")
        self.assertEqual(made.line(), "math x=1 | /b/sfmath | sfnone")
        self.assertEqual(made.programs, ["/b/sfmath"])

    def test_redirections_stand_at_both_ends(self):
        self.assertEqual(line("math | cat", "< $SOURCE ", " > $TARGET"), "< $SOURCE /b/sfmath | /b/sfcat > $TARGET")

    def test_a_last_separator_opens_no_stage(self):
        self.assertEqual(line("a > b;", "", " > c"), "a > b > c")

    def test_stages_before_a_pipe_report(self):
        self.assertEqual(
            line("a | b && c", "< s ", " > t", watched=True),
            '{ < s a || echo $$? >> "$$FLOW_FAILED"; } | b && c > t',
        )

    def test_a_folder_with_a_blank_is_quoted(self):
        self.assertEqual(command.Command("math", {"sfmath"}, "/a b").line(), "'/a b/sfmath'")


if __name__ == "__main__":
    unittest.main()
