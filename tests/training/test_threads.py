"""Threads that train: other threads keep their number of torch threads, and the interpreter ends well."""

import os
import subprocess
import sys
import threading

import pytest
import torch

from attnviz.training.threads import NICENESS, step_back, take_one_thread


def in_a_thread(call):
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    return found[0]


def test_one_thread_takes_one_and_all_others_keep_what_they_have() -> None:
    torch.set_num_threads(2)

    def train() -> tuple[int, int]:
        take_one_thread()
        return torch.get_num_threads(), in_a_thread(torch.get_num_threads)

    assert in_a_thread(train) == (1, 2)
    assert torch.get_num_threads() == 2 and in_a_thread(torch.get_num_threads) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a priority for a thread")
def test_the_thread_that_trains_steps_back_and_no_other() -> None:
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    def lower() -> int:
        step_back()
        return priority()

    before = priority()
    assert in_a_thread(lower) == max(before, NICENESS)
    assert priority() == before


def test_an_interpreter_that_ends_in_the_middle_of_a_training_ends_well_and_never_loads_torchs_compiler() -> None:
    program = """
import sys, time
from attnviz.training.recipe import Recipe
from attnviz.training.runs import RUNS
jobs = [RUNS.submit([Recipe(steps=2000)], alive=lambda: True) for _ in range(5)]
while not all(job.trainings[0].history for job in jobs[:3]):
    time.sleep(0.01)
print("torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")
