"""The card of a trained model: what it is, how it came to be, what it can do and what it cannot."""

from __future__ import annotations

from dataclasses import asdict

from attnviz.training.model import shapes
from attnviz.training.recipe import Recipe

TASKS = {
    "repeat": "a sequence of letters that begins to repeat itself: at each letter seen before, say the next one",
    "reverse": "ten letters: at each place, say the letter at the mirrored place",
    "sort": "ten digits: at place s, say the s-th smallest",
    "copy": "ten letters: at each place, say the letter {offset} places before",
    "text": "a text of {characters} characters: at each character, say the next one",
}
POSITIONS = {
    "none": "none",
    "learned": "a learned table, added to the inputs of queries and keys only",
    "sinusoidal": "sinusoidal, added to the inputs of queries and keys only",
    "rope_half": "rotary (RoPE), feature i turning with i + d_k/2",
    "alibi": "ALiBi, a cost of distance added to the scaled scores",
}


def card(recipe: Recipe, *, step: int, accuracy: float | None = None) -> str:
    """Write the card of a model trained for `step` steps, in Markdown, ending in a newline.

    >>> print(card(Recipe(), step=300, accuracy=0.99).splitlines()[0])
    # A small attention-only transformer for the task "repeat"
    """
    task = TASKS[recipe.task].format(offset=recipe.offset, characters=len(recipe.text))
    right = "not measured" if accuracy is None else f"{accuracy:.1%} of the answers on held-out sequences"
    lines = [
        f'# A small attention-only transformer for the task "{recipe.task}"',
        "",
        f"Task: {task}.",
        "",
        "| what | value |",
        "|---|---|",
        f"| layers, heads a layer | {recipe.layers}, {recipe.heads} |",
        f"| d_model, d_k, d_v | {recipe.width}, {recipe.d_k}, {recipe.d_k} |",
        f"| positions | {POSITIONS[recipe.positions]} |",
        f"| symbols, tokens of a sequence | {len(recipe.vocabulary)}, {recipe.seq_len} |",
        f"| parameters | {recipe.n_parameters:,}, float32 |",
        f"| trained | {step} of {recipe.steps} steps of AdamW, learning rate {recipe.learning_rate:g} |",
        f"| seed | {recipe.seed} |",
        f"| right | {right} |",
        "",
        "No biases, no norms, no feed-forward layers: embedding, attention added to the residual stream, unembedding.",
        "Trained by attnviz on sequences drawn at random, as the recipe in the file's metadata says; it knows nothing",
        "beyond its task, and sequences longer than it was trained on are refused.",
        "",
        "| tensor | shape |",
        "|---|---|",
        *(f"| {name} | {rows} x {cols} |" for name, (rows, cols) in shapes(recipe).items()),
        "",
        "To read it:",
        "",
        "    from pathlib import Path",
        "    from attnviz.training.checkpoint import from_bytes",
        "    from attnviz.training.model import forward",
        "    from attnviz.training.tasks import encode",
        "",
        '    recipe, weights, about = from_bytes(Path("model.safetensors").read_bytes())',
        f"    tokens = encode(recipe, {_example(recipe)})[None]",
        "    logits, layers = forward(recipe, weights, tokens, keep=True)",
        "    layers[0].trace.weights  # (b, h, s, u)",
        "",
        "To train it again:",
        "",
        f"    python -m attnviz.training {_options(recipe)} --out model.safetensors",
    ]
    if recipe.task == "text":
        at = next(number for number, line in enumerate(lines) if line.startswith("Trained by attnviz"))
        lines[at] = "Trained by attnviz on the text that stands in the file's metadata; it knows nothing beyond it,"
        lines[at + 1] = "and sequences longer than it was trained on are refused. The file holds the whole text."
    return "\n".join(lines) + "\n"


def _example(recipe: Recipe) -> str:
    symbols = {"sort": "3141592653", "text": recipe.text[: recipe.seq_len]}
    return f"list({symbols.get(recipe.task, 'abcdeabcde')!r})"


def _options(recipe: Recipe) -> str:
    given = asdict(recipe) | {"text": "text.txt"}
    of_one_task = {"offset": "copy", "text": "text"}
    names = [name for name in given if of_one_task.get(name, recipe.task) == recipe.task]
    return " ".join(f"--{name.replace('_', '-')} {given[name]}" for name in names)
