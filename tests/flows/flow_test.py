"""Flow, Plot and Result: commands, targets, options, and what is made again and what is not."""
import os
import shutil
import unittest

from support import BIN, FLOWS, MODEL, NAMES, Scratch, floats, header


class Flows(Scratch):
    def test_several_sources_targets_pipes_and_options(self):
        self.flows(f"""
            Flow('a', None, '{MODEL}')
            Flow('b c', 'a', '/bin/cat > $TARGET && /bin/cp ${{SOURCES[0]}} ${{TARGETS[1]}}', stdout=-1)
            Flow('both.txt', ['b', 'c.rsf'], '/bin/cat $SOURCE ${{SOURCES[1]}} | grep -c "n1=31" | sed "s/2/two | 2/"', stdin=0)
            Flow('none', 'a', '/bin/cp $SOURCE $TARGET; echo n1=31', stdout=0)
            Flow('typed', 'a', 'sed -n p', rsfflow=0)
            Flow('d.txt', 'a', "in_a_variable=5 sh -c 'echo $$in_a_variable; wc -l'")
        """)
        text = self.made()
        self.assertIn(f"{NAMES}/sfstiffness vp=2.5", text)
        self.assertEqual(self.read("both.txt"), "two | 2\n")
        self.assertEqual(self.read("a.rsf"), self.read("none.rsf"))
        self.assertEqual(self.read("a.rsf"), self.read("c.rsf"))
        self.assertTrue(self.read("d.txt").startswith("5\n"))
        self.assertNotIn("n1=31\n", text, "the output of stdout=0 is thrown away")
        self.assert_up_to_date()

    def test_without_rsfflow_programs_are_found_by_their_names_in_full(self):
        self.flows(f"Flow('a', None, 'sf{MODEL}', rsfflow=0)\nFlow('b', 'a', 'echo spike | sed s/spike/stack/', stdin=0, rsfflow=0)\n")
        self.assertIn(f"{NAMES}/sfstiffness vp=2.5", self.made())
        self.assertEqual(self.read("b.rsf"), "stack\n")
        self.assert_up_to_date()

    def test_words_that_change_how_flows_run(self):
        self.flows(f"Flow('a', None, '{MODEL} epsilom=1')\n")
        status, text = self.scons("CHECKPAR=y")
        self.assertEqual(status, 2)
        self.assertRegex(text, r"epsilom.*epsilon")
        self.assertNotIn("flow: a.rsf: 0.", self.made("CHECKPAR=n"))
        self.made("-c")
        self.assertRegex(self.made("TIMER=y"), r"flow: a\.rsf: \d+\.\d+ s\n")
        self.assert_up_to_date("TIMER=n")
        self.assert_up_to_date("TIMER=y")

    def test_words_for_clusters_change_nothing(self):
        self.flows(f"""
            Flow('a', None, '{MODEL}', np=2, wall='1:00')
            Flow('b', 'a', '/bin/cat', split=[2, 41], reduce='cat axis=2', jobmult=2, local=1, noderotate=0)
        """)
        self.made("-j2")
        self.assertEqual(self.read("a.rsf"), self.read("b.rsf"))

    def test_names_of_sources_may_come_in_every_form(self):
        self.flows(f"""
            Flow('a', None, '{MODEL}')
            Flow(['b'], map(lambda name: name, ['a']), '/bin/cat')
            Flow('c', File('b.rsf'), '/bin/cat')
            Flow('d.txt', ('a', 'b', 'c'), '/bin/cat ${{SOURCES[1:3]}} | grep -c n1=31')
        """)
        self.made()
        self.assertEqual(self.read("d.txt"), "2\n")

    def test_targets_in_folders_have_their_numbers_on_the_data_path(self):
        data = self.path("data", "")
        self.flows(f"Flow('deep/er/a', None, '{MODEL}')\nFlow('deep/b', 'deep/er/a', 'grey frame=0', suffix='.png')\n")
        self.made(DATAPATH=data)
        place = os.path.join(data, *self.folder.split("/")[-3:], "")
        self.assertEqual(header(self.path("deep/er/a.rsf"))["in"], place + "deep/er/a.rsf@")
        self.assertEqual(os.path.getsize(place + "deep/er/a.rsf@"), 4 * 31 * 41 * 4)
        self.made("-c", DATAPATH=data)
        self.assertFalse(os.path.exists(place + "deep/er/a.rsf@"))
        self.assertFalse(os.path.exists(self.path("deep/er/a.rsf")))

    def test_cleaning_takes_the_numbers_of_every_header(self):
        self.flows(f"Flow('a', None, '{MODEL}')\nFlow('sub/b sub/c', 'a', '/bin/cat > $TARGET; {NAMES}/sf{MODEL} > ${{TARGETS[1]}}', stdout=-1)\n")
        self.made()
        marked = os.path.basename(header(self.path("sub/c.rsf"))["in"])
        self.assertEqual(sorted(self.names()), ["a.rsf", "a.rsf@", marked, "sub"])
        self.made("-c")
        self.assertEqual(self.names(), ["sub"])

    def test_two_jobs_at_a_time_make_the_same(self):
        text = "".join(
            f"Flow('a{i}', None, '{MODEL} o1={i}')\nFlow('b{i}', 'a{i}', '/bin/cat | /bin/cat')\nFlow('c{i}.txt', 'a{i} b{i}', 'cmp ${{SOURCES[:2]}} && echo same', stdin=0)\n"
            for i in range(6)
        )
        self.flows(text)
        self.made("-j2")
        for i in range(6):
            self.assertEqual(self.read(f"c{i}.txt"), "same\n")
            self.assertEqual(header(self.path(f"a{i}.rsf"))["o1"], str(i))
        self.assertFalse([name for name in os.listdir(self.path(".flows")) if "unfinished" in name])
        self.assert_up_to_date()

    def test_a_second_run_makes_nothing_and_a_changed_command_its_target(self):
        self.flows(f"Flow('a', None, '{MODEL}')\nFlow('b.txt', 'a', 'grep n1=')\n")
        self.made()
        before = self.read("a.rsf")
        self.assertNotIn(" > a.rsf", self.made())
        self.flows(f"Flow('a', None, '{MODEL}')\nFlow('b.txt', 'a', 'grep n2=')\n")
        text = self.made()
        self.assertNotIn(" > a.rsf", text)
        self.assertIn(" > b.txt", text)
        self.assertEqual(before, self.read("a.rsf"))

    def test_a_flow_runs_again_when_its_program_has_changed(self):
        for part in ("rsf", "start"):
            shutil.copytree(os.path.join(FLOWS, part), self.path("prefix/flows", part), ignore=shutil.ignore_patterns("__pycache__"))
        os.makedirs(self.path("prefix/bin"))
        for name in ("sfewefd2d-gpu", "sfstiffness"):
            shutil.copy(os.path.join(BIN, name), self.path("prefix/bin", name))
        site = "--site-dir=" + self.path("prefix/flows/start")
        self.flows(f"Flow('a', None, '{MODEL}')\nFlow('b.txt', None, 'echo nothing')\n")
        self.assertIn(self.path("prefix/bin/sfstiffness"), self.made(site))
        os.utime(self.path("prefix/bin/sfstiffness"))
        self.assertEqual(self.scons("-q", site)[0], 0, "the same bytes with another time are the same program")
        with open(self.path("prefix/bin/sfstiffness"), "ab") as binary:
            binary.write(b"\0")
        text = self.made(site)
        self.assertIn("> a.rsf", text)
        self.assertNotIn("> b.txt", text)

    def test_what_flows_see_of_the_environment(self):
        self.flows("""
            Flow('seen.txt', None, 'env')
            print('told', Get('CUDA_VISIBLE_DEVICES'), project['ENV'].get('SECRET'), ARGUMENTS.get('full', 'n'))
            project.PrependENVPath('PATH', '/first')
        """)
        text = self.made("full=y", CUDA_VISIBLE_DEVICES="3", SIFAKA_NVRTC="there", OMPI_X="1", SECRET="no", DATAPATH="./x")
        self.assertIn("told 3 None y", text)
        lines = self.read("seen.txt").splitlines()
        for line in ("CUDA_VISIBLE_DEVICES=3", "SIFAKA_NVRTC=there", "OMPI_X=1", "DATAPATH=./x"):
            self.assertIn(line, lines)
        self.assertTrue(any(line.startswith("PATH=/first:") for line in lines))
        self.assertFalse(any(line.startswith("SECRET") for line in lines))

    def test_faults_of_the_sconstruct_are_sentences(self):
        cases = {
            """Flow('a', None, 'echo "x')""": "a.rsf: `\"` is missing in the flow",
            "Flow('a', None, 'echo | | /bin/cat')": "a.rsf: a command is missing in the flow `echo | | /bin/cat`",
            "Flow('a', None, 'echo', stdou=0)": "unknown keyword arguments: stdou",
            "Program('one.c', 'two.c')": "Program('one.c', 'two.c') needs Madagascar and its C library",
        }
        for text, sentence in cases.items():
            self.flows(text + "\n")
            status, told = self.scons()
            self.assertNotEqual(status, 0)
            self.assertIn(sentence, told)


class Pictures(Scratch):
    def test_results_go_to_fig_with_the_right_suffix(self):
        self.flows(f"""
            Flow('a', None, '{MODEL}')
            Result('a', 'grey frame=0')
            Result('lines', 'a', 'grey frame=1 format=svg')
            Plot('here', 'a', 'grey frame=2')
        """)
        self.made()
        self.assertEqual(self.names("Fig"), ["a.png", "lines.svg"])
        self.assertIn("here.svg", self.names())
        with open(self.path("Fig/a.png"), "rb") as picture:
            self.assertEqual(picture.read(8), b"\x89PNG\r\n\x1a\n")
        self.assertIn("Fig/a.png\nFig/lines.svg\n", self.made("results"))
        self.assertIn(self.path("Fig/lines.svg"), self.made("view", DISPLAY=""))
        self.assertIn(self.path("Fig/a.png"), self.made("a.view", DISPLAY=""))


    def test_pictures_are_composed_of_their_parts(self):
        self.write("a.png", "")
        self.flows("""
            Plot('a', None, 'grey')
            Plot('b', None, 'grey format=png')
            Plot('ab', 'a b', 'Overlay')
            Result('four', 'a b ab a.png', 'TwoRows', vppen='dpi=72')
            Result('plain', None, 'grey', vppen='dpi=72')
            Result('beside', ['a', 'b'], 'SideBySideAniso')
            Result('column', 'a b', 'OverUnderIso', suffix='.svg')
            Result('frames', 'a b', 'Movie')
        """)
        text = self.made("-n")
        for line in (
            "sfgrey > a.svg",
            "sfgrey format=png > b.png",
            "pictures mode=overlay a.svg b.png > ab.svg",
            "pictures mode=side columns=2 a.svg b.png ab.svg a.png dpi=72 > Fig/four.png",
            "sfgrey > Fig/plain.png",
            "pictures mode=side columns=2 a.svg b.png > Fig/beside.png",
            "pictures mode=over a.svg b.png > Fig/column.svg",
            "pictures mode=movie a.svg b.png > Fig/frames.png",
        ):
            self.assertIn(line + "\n", text)

    def test_a_result_is_no_part_of_a_picture(self):
        both = "Result('both', 'a b', 'SideBySideAniso')\n"
        self.flows("Result('a', None, 'grey')\nPlot('b', None, 'grey')\n" + both)
        status, text = self.scons("-n")
        self.assertNotEqual(status, 0)
        self.assertIn("both is made of a, which is a Result here: the parts of a picture are made by Plot('a', ...)", text)
        # The part may be made by another flow, or exist as a file.
        self.flows("Result('a', None, 'grey')\nFlow('a.svg', None, 'grey')\nPlot('b', None, 'grey')\n" + both)
        self.assertIn("columns=2 a.svg b.svg > Fig/both.png", self.made("-n"))


class Fetching(Scratch):
    def test_copies_folders_and_sentences(self):
        self.write("copies/bp/one.bin", "first")
        self.write("store/two.bin", "second")
        self.flows(f"""
            Fetch('one.bin', 'bp')
            Fetch(['two.bin'], 'store', server='local', top='{self.folder}')
            Fetch('three.bin', 'store', server='file://{self.folder}', top='')
            Flow('all.txt', 'one.bin two.bin', '/bin/cat $SOURCES', stdin=0)
        """)
        self.made("all.txt", SIFAKA_DATA=self.path("copies"))
        self.assertEqual(self.read("all.txt"), "firstsecond")
        status, text = self.scons("three.bin")
        self.assertNotEqual(status, 0)
        self.assertIn("fetch: three.bin could not be fetched from file://", text)
        self.assertIn("SIFAKA_DATA", text)
        self.assertNotIn("three.bin", self.names())
        self.assertFalse([name for name in self.names() if name.endswith(".part")])


class Values(Scratch):
    def test_numbers_arrive(self):
        self.flows(f"Flow('a', None, '{MODEL}')\nFlow('b', 'a', '/bin/cat > c.rsf; /bin/cat c.rsf')\n")
        self.made()
        values = floats(self.path("a.rsf"))
        c33, c55 = 2.2 * 2.5**2, 2.2 * 1.5**2
        for place, value in ((0, c33 * 1.4), (31 * 41, c33), (2 * 31 * 41, c55)):
            self.assertAlmostEqual(values[place], value, delta=1e-5 * value)
        self.assertEqual(values, floats(self.path("b.rsf")))


if __name__ == "__main__":
    unittest.main()
