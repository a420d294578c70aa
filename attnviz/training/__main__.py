"""Train a model and write it to a file; with no more than --out, the attnviz-tiny that ships:

    python -m attnviz.training --out attnviz-tiny.safetensors --card README.md

The same bytes come out on the same machine. Another processor may round otherwise: the induction score is then still
over 0.8. --task, --layers, --heads and so on train another model.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from pathlib import Path

from attnviz.training.checkpoint import TINY, card, to_bytes
from attnviz.training.recipe import Recipe
from attnviz.training.threads import take_one_thread
from attnviz.training.trainer import Training

SAID_EVERY = 50  # steps


def main(given: list[str] | None = None) -> int:
    """Train what the arguments say and write it; return 0, or 1 when its loss was not finite."""
    words = argparse.ArgumentParser(prog="python -m attnviz.training", description=(__doc__ or "").splitlines()[0])
    words.add_argument("--out", type=Path, required=True, help="the safetensors file to write")
    words.add_argument("--card", type=Path, help="a file for the card, in Markdown")
    for field in fields(Recipe):
        default = getattr(TINY, field.name)
        if field.name == "text":
            words.add_argument("--text", type=Path, help="a file whose text is learned, for --task text")
        else:
            words.add_argument(f"--{field.name.replace('_', '-')}", type=type(default), default=default)
    arguments = vars(words.parse_args(given))
    out, card_file, text = arguments.pop("out"), arguments.pop("card"), arguments.pop("text")
    try:
        recipe = Recipe(**arguments, text=text.read_text(encoding="utf-8") if text else "")
    except (ValueError, OSError) as error:
        words.error(str(error))

    take_one_thread()  # the bytes shall not depend on how many the machine has
    training = Training(recipe)
    for progress in training:
        if progress.step % SAID_EVERY == 0 or training.done:
            measured = "" if progress.accuracy is None else f"  accuracy {progress.accuracy:.3f}"
            sys.stdout.write(f"step {progress.step}  loss {progress.loss:.4f}{measured}  {_said(progress.scores)}\n")
    if training.failed:
        sys.stderr.write(f"step {training.failed.step}: the loss is not finite; try a smaller --learning-rate\n")
        return 1
    right = training.history[-1].accuracy
    out.write_bytes(to_bytes(recipe, training.weights, step=recipe.steps, accuracy=right))
    if card_file:
        card_file.write_text(card(recipe, step=recipe.steps, accuracy=right), encoding="utf-8")
    return 0


def _said(scores: dict[tuple[int, int], dict[str, float]]) -> str:
    """The highest of each score, and the layer and head that have it, from 0."""
    names = sorted({name for by_name in scores.values() for name in by_name})
    best = {name: max(scores, key=lambda at: scores[at].get(name, 0)) for name in names}
    return "  ".join(f"{name} {scores[at][name]:.2f} (layer {at[0]}, head {at[1]})" for name, at in best.items())


if __name__ == "__main__":
    sys.exit(main())
