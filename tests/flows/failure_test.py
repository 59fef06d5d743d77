"""Flows that fail, are interrupted or killed do not leave half-written files."""
import os
import signal
import subprocess
import sys
import unittest
import unittest.mock

from support import MODEL, NAMES, Scratch, TOP

# A command that takes long enough to be interrupted. The process that writes `reached` is also the process that sleeps,
# because a shell that is just forking may lose the signal.
SLEEP = f"""{sys.executable} -c "import time; open('reached', 'w').close(); time.sleep(60)\""""
# Writes two RSF files, and then runs the command above, but only while the file `slow` exists.
JOB = f"{NAMES}/sf{MODEL} > $TARGET && {NAMES}/sf{MODEL} > ${{TARGETS[1]}} && if test -e slow; then {SLEEP}; fi"


class Failures(Scratch):
    def assert_nothing_of(self, *names):
        left = [name for name in self.names() if name.startswith(names)]
        self.assertEqual(left, [])
        self.assertFalse([name for name in os.listdir(self.path(".flows")) if "unfinished" in name])

    def test_the_sentence_is_seen_and_the_flow_stops(self):
        self.flows(f"""
            Flow('good', None, '{MODEL}')
            Flow('bad worse', 'good', '/bin/cat > ${{TARGETS[1]}} && stiffness vp=2 vs=1 ro=-3 n1=5')
            Flow('after', 'bad', '/bin/cat')
        """)
        status, text = self.scons()
        self.assertEqual(status, 2)
        self.assertRegex(text, r"sfstiffness: .*ro")
        self.assertIn("flow: bad.rsf: the command ended with exit status 1", text)
        self.assertIn("[bad.rsf] Error 1", text)
        self.assertNotIn("> after.rsf", text)
        self.assert_nothing_of("bad", "worse", "after")

    def test_a_failure_at_the_head_of_a_pipe_is_one(self):
        self.flows("Flow('bad', None, 'stiffness vp=2 | /bin/cat | /bin/cat')\nFlow('well.txt', None, 'false | /bin/cat || echo yes; true')\n")
        status, text = self.scons("-k")
        self.assertEqual(status, 2)
        self.assertIn("flow: bad.rsf: the command ended with exit status 1", text)
        self.assertIn("flow: well.txt: ", text)
        self.assert_nothing_of("bad", "well")

    def test_a_reader_that_has_seen_enough_is_none(self):
        self.flows(f"Flow('some.txt', None, '{MODEL.replace('n1=31', 'n1=3000')} | head -c 1000')\n")
        self.made()
        self.assertEqual(os.path.getsize(self.path("some.txt")), 1000)

    def test_a_word_that_nobody_reads_is_refused(self):
        self.write("sizes.py", "from SCons.Script import ARGUMENTS\n\nsize = int(ARGUMENTS.get('size', '3'))\n")
        text = "import sys\nsys.path.append('.')\nimport sizes\nfull = ARGUMENTS.get('full', 'n') == 'y'\nname = ARGUMENTS['name'] if len(sys.argv) > 99 else 'a'\nFlow(name, None, 'spike n1=%d' % sizes.size)\n"
        self.flows(text)
        status, said = self.scons("ful=y")
        self.assertNotEqual(status, 0)
        self.assertIn("rsf.proj: ful=y: neither the flow of this folder nor rsf.proj reads this word; is full= meant? Known are CHECKPAR=, full=, name=, size=, TIMER=.", said)
        self.assertEqual(self.names(), ["sizes.py"])
        # A parameter of a program is not a parameter of the flow.
        self.assertIn("rsf.proj: n1=9: neither the flow", self.scons("n1=9")[1])
        # Parameters of the flow, of its module and of the package.
        for word in ("full=y", "size=4", "name=b", "TIMER=y"):
            self.made(word)
        # A flow that examines all parameters accepts any parameter, and so does a flow that leaves parameters to SCons.
        for line in ("for key in ARGUMENTS: pass", "variables = Variables()", "print(ARGLIST)"):
            self.flows(text + line + "\n")
            self.made("ful=y")
        done = subprocess.run([os.path.join(TOP, "sconsw"), "-Q", "book", "answer=n"], cwd=TOP, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr.count("answer=n: ./sconsw does not know this parameter; is answers= meant?")), (1, 1), done.stderr)

    def test_data_that_are_written_again_within_a_second_are_others(self):
        self.flows("Flow('a', None, 'spike n1=3')\nFlow('b', 'a', 'scale dscale=2')\n")
        self.made()
        before = os.stat(self.path("b.rsf")).st_mtime_ns
        header = self.path("a.rsf")
        state = os.stat(header)
        os.utime(header, ns=(state.st_atime_ns, state.st_mtime_ns + 400_000_000))
        self.made()
        self.assertNotEqual(before, os.stat(self.path("b.rsf")).st_mtime_ns)
        # A copy of the folder is up to date, although its files are newer by more than that.
        before = os.stat(self.path("b.rsf")).st_mtime_ns
        os.utime(header, ns=(state.st_atime_ns, state.st_mtime_ns + 5_000_000_000))
        self.made()
        self.assertEqual(before, os.stat(self.path("b.rsf")).st_mtime_ns)

    def test_unknown_programs_are_named(self):
        self.flows("Flow('a', None, 'nosuchprogram n1=5')\n")
        status, text = self.scons()
        self.assertEqual(status, 2)
        self.assertIn("nosuchprogram", text)
        self.assertIn("neither a program of the suite nor on the PATH", text)
        self.assert_nothing_of("a")

    def test_the_nearest_program_is_named(self):
        for flow, near in (("spike n1=5 | smoth rect1=2", "smoth: is smooth meant?"), ("sfspik n1=5", "sfspik: is sfspike meant?")):
            self.flows(f"Flow('a', None, '{flow}')\n")
            self.assertIn(f"a command was not found ({near}); it is neither", self.scons()[1])

    def test_a_target_that_is_made_in_two_ways_is_told_with_both_lines(self):
        self.flows("Flow('a', None, 'spike n1=3')\nFlow('b', 'a', 'scale')\nFlow('a', None, 'spike n1=4')\n")
        status, text = self.scons()
        self.assertNotEqual(status, 0)
        self.assertIn("rsf.proj: a.rsf is made in two ways, in SConstruct line 2 and in SConstruct line 4: give one", text)
        self.flows("for n in (1, 2):\n    Flow('a', None, 'spike n1=3')\n")
        self.made()

    def test_a_name_without_its_ending_is_told_with_it(self):
        self.flows("Flow('a', None, 'spike n1=3')\nResult('b', 'a', 'graph')\nAlias('c', 'a.rsf')\nFlow('c', None, 'spike n1=4')\n")
        for name, near in (("a", "a.rsf"), ("b", "Fig/b.png")):
            status, text = self.scons(name)
            self.assertNotEqual(status, 0)
            self.assertIn(f"rsf.proj: {name}: no flow makes a file of this name; is {near} meant?", text)
        for name in ("a.rsf", "c", "Fig/b.png", "results"):
            self.made(name)

    def test_a_folder_that_cannot_be_written_is_refused(self):
        sys.path.insert(0, os.path.join(TOP, "book", "flows"))
        try:
            import rsf.alone
        finally:
            sys.path.pop(0)
        with unittest.mock.patch("os.makedirs", side_effect=PermissionError(13, "Permission denied")):
            text = rsf.alone.refusal(self.path(".flows"))
        self.assertIn("copy the folder to a place of your own and run the flow there", text)

    def test_one_run_at_a_time(self):
        self.flows(f"Flow('one two', None, '''{JOB}''', stdout=-1)\n")
        self.write("slow", "")
        process = self.start()
        self.wait_for(lambda: os.path.exists(self.path("reached")), process)
        for words in ((), ("-c",), ("one.rsf",)):
            status, text = self.scons(*words)
            self.assertNotEqual(status, 0, words)
            self.assertRegex(text, r"rsf\.proj: another run of this flow is in progress in this folder \(process \d+\): wait for it, or copy the folder")
        # Commands that change nothing are allowed.
        self.made("-n")
        self.assertEqual(self.scons("-q")[0], 1)
        self.assertIn("two.rsf@", self.names())
        self.interrupt(process, signal.SIGKILL)
        os.remove(self.path("slow"))
        # The lock file still exists, but does not block anything.
        self.assertTrue(os.path.exists(self.path(".flows", "lock")))
        self.assertIn("> one.rsf", self.made())
        self.assert_up_to_date()

    def interrupted(self, number):
        self.flows(f"Flow('one two', None, '''{JOB}''', stdout=-1)\nFlow('next', 'one', '/bin/cat')\n")
        self.write("slow", "")
        process = self.start()
        self.wait_for(lambda: os.path.exists(self.path("reached")), process)
        self.assertIn("two.rsf@", self.names())
        text = self.interrupt(process, number)
        self.assertNotEqual(process.returncode, 0, text)
        return text

    def test_ctrl_c(self):
        self.interrupted(signal.SIGINT)
        self.assert_nothing_of("one", "two", "next")

    def test_termination(self):
        self.interrupted(signal.SIGTERM)
        self.assert_nothing_of("one", "two", "next")

    def test_after_a_kill_the_next_run_clears_up_and_makes_it(self):
        self.flows(f"Flow('one two', None, '''{JOB}''', stdout=-1)\n")
        self.made()
        # The command and its sources are unchanged, so SCons would take the half-written target for the earlier one.
        os.remove(self.path("one.rsf"))
        self.interrupted(signal.SIGKILL)
        self.assertIn("two.rsf@", self.names(), "nobody could clear up")
        os.remove(self.path("slow"))
        text = self.made()
        self.assertIn("> one.rsf", text)
        self.assert_up_to_date()

    def test_a_killed_program_is_told(self):
        self.flows("Flow('a', None, 'sh -c \"kill -9 $$$$\"')\n")
        status, text = self.scons()
        self.assertEqual(status, 2)
        self.assertIn("SIGKILL", text)
        self.assert_nothing_of("a")

    def test_numbers_of_others_stay(self):
        self.write("precious.bin", "0000")
        self.flows("Flow('a', None, 'echo n1=1 in=precious.bin data_format=native_float && false')\n")
        self.assertEqual(self.scons()[0], 2)
        self.assertIn("precious.bin", self.names())
        self.assert_nothing_of("a")


if __name__ == "__main__":
    unittest.main()
