# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which allocator for which kind of program: computed from what the files hold, with losses, and nothing else."""

import unittest

from page_reader import WithPage
from support import InFolder, has_matplotlib, rates, result, results_file
from tarn_tools.program_kinds import choices_of
from tarn_tools.result_files import read_results
from tarn_tools.runs import runs_of
from tarn_tools.verdicts import verdicts_of


def on(workloads, **ns_by_allocator):
    return [result(name.replace("_", ":"), ns, workload=workload) for workload in workloads
            for name, ns in ns_by_allocator.items()]


class Choices(InFolder):
    def choices(self, *results):
        run, = runs_of([read_results(str(self.write("c.json", results_file(*results))))])
        return {choice.kind.name: choice for choice in choices_of(verdicts_of(run))}

    def choice(self, *results, kind="meshes"):
        return self.choices(*results)[kind]

    def test_what_stands_for_a_kind(self):
        choices = self.choices(
            result("tarn", bench="sweep", workload="4K"), result("tarn", bench="sweep", workload="8K"),
            result("tarn", bench="live", workload="10 of 1 to 4K"),
            result("tarn", bench="live", workload="10 of 1 to 64K"),
            result("tarn", bench="hot", workload="1K"), result("tarn", workload="omegah-front-2d"),
            result("tarn", workload="torch_resnet"), result("tarn", workload="examinimd-lj"),
            rates("tarn", 1, 1e6), rates("tarn", 4, 1e6),
            result("tarn", bench="streams", workload="2 x 16 of 4K to 1M, handed on"),
            result("tarn", bench="streams", workload="2 x 16 of 4K to 1M, own"))
        found = {name: [key[1] for key in choice.workloads] for name, choice in choices.items()}
        self.assertEqual(found, {
            "small": ["4K", "10 of 1 to 4K", "1K"], "meshes": ["omegah-front-2d"], "networks": ["torch_resnet"],
            "others": ["examinimd-lj"], "several-threads": ["4 x 100 of 1K to 16M"],
            "handing-over": ["2 x 16 of 4K to 1M, handed on"],
            "tight-memory": ["omegah-front-2d", "torch_resnet", "examinimd-lj"]})

    def test_words(self):
        for cub, word in ((200, "wins"), (104, "level"), (96, "level"), (90, "loses")):
            self.assertEqual(self.choice(*on(["mesh"], tarn=100, cub=cub)).word, word, cub)
        self.assertEqual(self.choice(*on(["mesh"], tarn=100, raw=9)).word, "alone")
        self.assertEqual(self.choice(*on(["mesh"], tarn=100, jemalloc=9)).word, "alone") # a floor
        self.assertEqual(self.choice(*on(["mesh"], cub=100, torch=50)).word, "absent")
        self.assertEqual(self.choice(*on(["mesh"], cub=100, torch=50)).peer, "torch")

    def test_over_all_workloads(self):
        choice = self.choice(*on(["mesh a"], tarn=100, cub=400), *on(["mesh b"], tarn=100, cub=50))
        self.assertAlmostEqual(choice.times_peer, 2 ** 0.5)
        self.assertEqual(choice.lost(), [(("replay", "mesh b", 1), "cub", 2)])

    def test_a_mode_of_tarn_wins_only_where_it_is_better(self):
        self.assertEqual(self.choice(*on(["mesh"], tarn=100, tarn_contiguous=97, cub=300)).tarn, "tarn")
        self.assertEqual(self.choice(*on(["mesh"], tarn=100, tarn_contiguous=50, cub=300)).tarn, "tarn:contiguous")

    def test_who_did_not_do_all_is_no_winner(self):
        """Neither a peer nor tarn; what it did is shown by name."""
        choice = self.choice(*on(["mesh a", "mesh b"], tarn=100, cub=400), *on(["mesh a"], torch=1))
        self.assertEqual((choice.peer, choice.incomplete), ("cub", ["torch"]))
        choice = self.choice(*on(["mesh a", "mesh b"], torch=100, cub=400), *on(["mesh a"], tarn=1))
        self.assertEqual((choice.word, choice.peer, choice.incomplete), ("absent", "torch", ["tarn"]))

    def test_a_workload_without_peers_says_nothing(self):
        self.assertEqual(len(self.choice(*on(["mesh a"], tarn=100, cub=400), *on(["mesh b"], tarn=1)).workloads), 1)

    def test_memory(self):
        """Large programs weigh as much as they hold."""
        def held(workload, live, **by_allocator):
            return [result(name.replace("_", ":"), workload=workload, live=live << 20, held=most << 20)
                    for name, most in by_allocator.items()]
        choice = self.choice(*held("mesh", 10, tarn=80, vendor_pool=20, tarn_contiguous=60),
                             *held("torch", 1000, tarn=1100, vendor_pool=1400, tarn_contiguous=1000),
                             kind="tight-memory")
        self.assertEqual((choice.word, choice.tarn, choice.peer), ("wins", "tarn:contiguous", "vendor:pool"))
        self.assertAlmostEqual(choice.times_peer, 1420 / 1060)
        self.assertEqual([lost[0][1] for lost in choice.lost()], ["mesh"])


@unittest.skipUnless(has_matplotlib(), "no Python here has matplotlib: package python3-matplotlib")
class OnAPage(WithPage):
    def test_they_come_first(self):
        self.page_of(results_file(*on(["mesh a", "mesh b"], tarn=100, tarn_contiguous=50, cub=200),
                                  *on(["torch"], tarn=300, tarn_contiguous=300, cub=100)))
        self.assertLess(self.source.index('id="programs"'), self.source.index("<table"))
        self.assertIn("tarn:contiguous with TARN_CONTIGUOUS=1 4.0× as fast as cub, the next, on 2 workloads. "
                      "tarn:contiguous loses on none.", self.section("program-meshes"))
        self.assertRegex(self.section("program-networks"),
                         r"cub 3.0× as fast as tarn, on 1 workload. tarn loses on 1 of 1 , the most on torch, "
                         r"where cub is 3.0× as fast.")
        self.assertIn("say nothing about: small blocks, several threads, streams that hand over.", self.text)

    def test_other_results_give_other_answers(self):
        for tarn_ns, words in ((100, "tarn with its default options 2.0× as fast as cub"),
                               (400, "cub 2.0× as fast as")):
            self.page_of(results_file(*on(["mesh"], tarn=tarn_ns, cub=200)))
            self.assertIn(words, self.section("program-meshes"))

    def test_no_results_no_answer(self):
        self.page_of(results_file(result("tarn", bench="growth", workload="to 1G")))
        self.assertNotIn("program-meshes", self.source)
        self.assertIn("say nothing about: small blocks, meshes,", self.text)

    def test_of_several_machines_each_has_its_answer(self):
        self.page_of(results_file(*on(["mesh"], tarn=100, cub=200)),
                     results_file(*on(["mesh"], tarn=100, cub=50), machine={"device_name": "Device B"}))
        self.assertRegex(self.section("program-meshes"), "Device A tarn with its default options .* Device B cub")


if __name__ == "__main__":
    unittest.main()
