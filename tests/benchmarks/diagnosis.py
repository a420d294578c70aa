"""Whether a wrong attention is named by its cause: every hypothesis, the pairs, and attention that is right.

    python -m tests.benchmarks.diagnosis            50 cases each, and the time at (1, 12, 512, 512)

Each case is given as weights alone, as output alone and as both. An output alone cannot tell what was dropped at
random, nor a scale that is none of the known ones: "nothing" stands there, never a guess. Weights alone are right
where only the values or the output were wrong: "correct".
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import Any

import torch

from attnviz.core.diagnosis import Diagnosis, diagnose
from tests.core.diagnosis_drawn import ODD, ONE, RIGHT, SIZES, TWO, Case, Drawn, Maker, Sizes, named

WAYS = ("weights", "output", "both")


def asked(case: Case, way: str) -> Diagnosis:
    """Diagnose a case of which the weights, the output or both are shown."""
    shown: dict[str, Any] = {"weights": case.weights, "output": case.output}
    given = (shown if way == "both" else {way: shown[way]}) | case.options
    return diagnose(*case.inputs, **given)


def verdict(found: Diagnosis, codes: tuple[str, ...]) -> str:
    """named, alike (among causes that give the same numbers), right (correct), nothing, or wrong."""
    if found.correct:
        return "correct"
    if not found.findings:
        return "nothing"
    causes = [finding.cause for finding in found.findings]
    if causes == list(codes):
        return "named"
    alike = all(code in names for code, names in zip(codes, named(found.findings), strict=False))
    return "alike" if alike and len(causes) == len(codes) else f"wrong: {'+'.join(causes)}"


def row(name: str, codes: tuple[str, ...], maker: Maker, sizes: tuple[Sizes, ...], n: int) -> Counter[str]:
    """Print and count how cases of one kind are named."""
    total: Counter[str] = Counter()
    line, start = [], time.process_time()
    for way in WAYS:
        counted = Counter(verdict(asked(maker(Drawn(sizes[i % len(sizes)], i)), way), codes) for i in range(n))
        total += counted
        line.append(", ".join(f"{what} {count}" for what, count in counted.most_common()))
    spent = 1000 * (time.process_time() - start) / (n * len(WAYS))
    print(f"{name:44} {line[0]:26} {line[1]:30} {line[2]:26} {spent:6.0f} ms", flush=True)
    return total


def large() -> None:
    """Print the time of maps of 12 heads of 512 x 512: right, wrong in one way, in two, and in none that is known."""
    x = Drawn(Sizes(1, 12, 12, 512, 512, 64, 64), 0)
    noise = torch.softmax(x.draw(1, 12, 512, 512), dim=-1)
    makers = {
        "right": RIGHT["causal"], "one": ONE["mask_missing"], "two": TWO["scale_missing", "mask_missing"],
        "none": lambda x: x.case(noise, mask=x.causal),
        "none, output apart": lambda x: x.case(noise, output=x.draw(1, 12, 512, 64), mask=x.causal),
    }  # fmt: skip
    for name, maker in makers.items():
        case = maker(x)
        for way in WAYS:
            wall, processor = time.perf_counter(), time.process_time()
            found = asked(case, way)
            wall, processor = time.perf_counter() - wall, time.process_time() - processor
            causes = "+".join(finding.cause for finding in found.findings) or ("correct" if found.correct else "-")
            print(f"512 x 512, 12 heads, {name:18} {way:8} {wall:5.2f} s, processor {processor:5.2f} s  {causes}")


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description="Is a wrong attention named by its cause?")
    arguments.add_argument("-n", type=int, default=50, help="cases of each kind (default 50)")
    arguments.add_argument("--only", help="one cause, or 'large' for the times")
    given = arguments.parse_args()
    kinds: list[tuple[str, tuple[str, ...], Maker, tuple[Sizes, ...]]] = []
    kinds += [(code, (code,), maker, SIZES) for code, maker in ONE.items()]
    kinds += [(code, (code,), maker, sizes) for code, (maker, sizes) in ODD.items()]
    kinds += [("+".join(codes), codes, maker, SIZES) for codes, maker in TWO.items()]
    kinds += [(f"right: {name}", (), maker, SIZES) for name, maker in RIGHT.items()]
    if given.only != "large":
        print(f"{'':44} {'weights':26} {'output':30} {'both':26}")
        for name, codes, maker, sizes in kinds:
            if given.only in (None, name):
                row(name, codes, maker, tuple(size for size in sizes if "batch" not in name or size.b > 1), given.n)
    if given.only in (None, "large"):
        large()


if __name__ == "__main__":
    main()
