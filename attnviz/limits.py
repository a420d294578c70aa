"""Every limit of attnviz, in one place: what a number may be, and how much of anything is taken.

A control reads its range here, a constructor refuses what lies outside, and a link that asks for more gets
the default. Standard library only.
"""

from typing import NamedTuple


class Limit(NamedTuple):
    """The lowest and highest value a number may have, its default, and the step of its control."""

    low: float
    high: float
    default: float
    step: float


# How much
TEXT_CHARS = 400_000  # characters of text taken: LONG_TOKENS words of twelve letters
SEQUENCES = 8  # sequences of a batch: the first non-blank lines of the text
TOKENS = 512  # tokens of one sequence whose trace is held whole; a lab draws no more of them
TOKENS_SHOWN = 24  # tokens of an axis drawn at once; a longer axis shows a window of this many
TRACE_BYTES = 128 * 2**20  # bytes of one whole trace: all eight tensors, float32
LINK_BYTES = 8_000  # bytes of a query string: proxies stop near 8 kB, and the host and path need some
TERMS_SHOWN = 16  # terms of a cell's sum in a plain table; more of them scroll
UNDO = 50  # changes of edited numbers that can be taken back
DRAWN = 64  # tokens of a mask that is drawn by hand; later ones it leaves alone
QUESTIONS = 31  # that learners ask, numbered from 1
EXPORT_BYTES = 4 * 2**20  # of cells written out in a page that is taken home
NOTICE_CHARS = 40  # characters of a refused value that a notice repeats
NOTICE_NAMES = 4  # names that no link has, of those in a link, that a notice repeats

# Long text: above TRACE_BYTES no whole trace is made, and maps are pooled
LONG_TOKENS = 32_768  # tokens of an axis of a pooled map
LONG_BYTES = 64 * 2**20  # of X of all sequences, and the projections of one head
LIVE_TOKENS = 4_096  # tokens up to which a map is pooled anew at each change; above, with progress and stop
POOLED_CELLS = 512  # cells a side of a pooled map, at most: what a screen shows
POOLED_BYTES = 500_000  # bytes on the wire of a pooled map that is sent anew
POOLING_AT_ONCE = 2  # maps that are pooled off the threads that answer readers
POOLING_WAITING = 20  # maps that wait for a place
EDGES_SHOWN = 20  # strongest pairs of a window, or keys of a row, in a table
TERMS_MOST = 512  # terms of a cell's sum up to which all are listed; of more, TERMS_LISTED and what the rest adds
TERMS_LISTED = 8  # largest terms of a long sum, which a table has room for
FOUND_SHOWN = 100  # places of a token that a search lists
NAME_CHARS = 300  # characters of one token that are sent to a browser

# Trained models
MODEL_TOKENS = 512  # tokens of a text that a model reads: beyond, maps of all its heads take seconds
MODEL_CHARS = 100_000  # characters of a text that a model's tokenizer is given
MODEL_WRITES = 32  # tokens that an encoder-decoder writes by itself when it is given no second text
MODEL_MEMORY = 0.9  # the share of the free memory that a model may take
READINGS_BYTES = 256 * 2**20  # of what models read last, kept for all readers of the server
READINGS_WAITING = 20  # readers that wait for a model
HEADS_SILENCED = 20  # heads and edges that are knocked out at once

# Files of tensors that people bring; nothing of them is written to disk
FILE_BYTES = 200 * 2**20  # of a file as it comes
FILE_UNPACKED_BYTES = 512 * 2**20  # of all that is packed in it
FILE_TEXT_BYTES = 20 * 2**20  # of a file of text, .csv or .json: its numbers take some ten times as much while read
FILE_TENSORS = 200
FILE_DIMS = (2, 5)  # axes of a tensor that is used: (s, u) to (layer, b, h, s, u)
FILE_TOKENS = 100_000
FILES_HELD = 8  # of one reader, who may bring 3 and then 2 more
FILES_BYTES = 512 * 2**20  # of the numbers of all of them
DIAGNOSED_WEIGHTS = 2**23  # weights of one layer that are diagnosed at once, as (1, 32, 512, 512); else a part of it
DIAGNOSES_WAITING = 20  # readers that wait for a diagnosis
TILED_BYTES = 64 * 2**20  # of the small maps of all heads: of more layers than fit, the first

# How many characters a text of a lab may have, by the name of its field in Lab
TEXTS: dict[str, int] = {
    "context": 400,
    "order": 2000,  # 512 numbers
    "equation": 200,
    "sizes": 200,
    "at": 100,
    "lit": 8,
    "learn": 20_000,
    "sequence": 100,
    "model": 200,  # the name of a model, or a folder
    "pair": 4000,
    "silenced": 400,
    "labels": 4000,  # the tokens of somebody's tensors
}

# What a number may be, by the name of its field in Experiment, View and Lab
LIMITS: dict[str, Limit] = {
    "d_model": Limit(1, 64, 8, 1),
    "d_k": Limit(1, 64, 4, 1),  # of one head
    "d_v": Limit(1, 64, 4, 1),  # of one head
    "n_heads": Limit(1, 8, 1, 1),
    "n_kv_heads": Limit(1, 8, 1, 1),  # and a divisor of n_heads; not set, it is n_heads
    "max_tokens": Limit(1, LONG_TOKENS, TOKENS, 1),  # of a sequence, set by Experiment.fitting() and long.fitting()
    "seed": Limit(0, 2**31 - 1, 0, 1),
    "temperature": Limit(0.1, 10.0, 1.0, 0.1),
    "window_left": Limit(0, 64, 2, 1),
    "window_right": Limit(0, 64, 0, 1),
    "prefix_length": Limit(0, 64, 2, 1),
    "b": Limit(0, SEQUENCES - 1, 0, 1),  # the six of a View count from 0
    "h": Limit(0, 7, 0, 1),
    "s": Limit(0, LONG_TOKENS - 1, 0, 1),
    "u": Limit(0, LONG_TOKENS - 1, 0, 1),
    "feature": Limit(0, 63, 0, 1),
    "from_s": Limit(0, LONG_TOKENS - 1, 0, 1),
    "from_u": Limit(0, LONG_TOKENS - 1, 0, 1),
    "draw_d_k": Limit(1, 512, 64, 1),  # this and the next are of a Lab
    "draws": Limit(10, 2000, 200, 10),
    "dropout": Limit(0.0, 0.9, 0.2, 0.1),
    "shift": Limit(-1000, 1000, 0, 10),
    "padded": Limit(0, DRAWN, 2, 1),
    "lookup": Limit(0.01, 100.0, 1.0, 0.1),
    "length": Limit(1, 32_768, 512, 1),
    "decoded": Limit(1, TOKENS, 4, 1),
    "kv_heads": Limit(1, 8, 2, 1),
    "sharpness": Limit(0.0, 10.0, 3.0, 0.5),
    "layers": Limit(1, 4, 2, 1),  # this and the next are of a Recipe, what is trained
    "heads": Limit(1, 8, 1, 1),  # and a divisor of width
    "width": Limit(8, 64, 32, 8),
    "learning_rate": Limit(0.0001, 1000.0, 0.01, 0.001),  # so high that a loss of NaN can be tried at every size
    "steps": Limit(10, 2000, 300, 10),
    "offset": Limit(1, 5, 2, 1),  # tokens
    "draw": Limit(0, 2**31 - 1, 0, 1),  # the seed of a Recipe
    "at_step": Limit(0, 2000, 2000, 1),
    "which": Limit(0, 3, 0, 1),
    "layer": Limit(0, 99, 0, 1),  # this and the next count from 0
    "head": Limit(0, 127, 0, 1),
    "other_layer": Limit(0, 99, 0, 1),
    "other_head": Limit(0, 127, 0, 1),
    "least": Limit(0.0, 32_768.0, 0.0, 0.01),  # this and the next: of a head's statistic, a share, nats or tokens
    "most": Limit(0.0, 32_768.0, 32_768.0, 0.01),
    "map_s": Limit(0, 2**31 - 1, 0, 1),  # this and the next three are tokens, of whatever text is there
    "map_s_end": Limit(0, 2**31 - 1, 0, 1),
    "map_u": Limit(0, 2**31 - 1, 0, 1),
    "map_u_end": Limit(0, 2**31 - 1, 0, 1),
    "sample": Limit(0, 9_999, 0, 1),  # of a batch that was brought; this and the next are of tensors from a file
    "given_scale": Limit(0.0, 1000.0, 0.0, 0.01),  # 0: 1/sqrt(d_k)
    "given_softcap": Limit(0.0, 1000.0, 0.0, 1.0),  # 0: none
    "given_d_model": Limit(0, 100_000, 0, 1),  # 0: all heads side by side
    "rotary_base": Limit(1.0, 1e9, 10_000.0, 1000.0),
    "merged_heads": Limit(0, 128, 0, 1),  # that lie side by side in q, k and v; 0: as many as the weights have
}

# Training: what one run keeps, and what the whole server takes
TRAINING_TEXT = Limit(100, 20_000, 2_000, 1)  # characters of a text to learn from
TRAINING_SYMBOLS = 512  # different characters of such a text
SNAPSHOTS = 100  # of the weights in one run, the first and the last among them
SNAPSHOT_BYTES = 40 * 2**20  # of all snapshots of one run; of a large model fewer are kept
TRAINING_AT_ONCE = 3  # jobs that train
TRAINING_WAITING = 20  # jobs that wait for a place
TRAINING_RECIPES = 4  # of one job, trained side by side
TRAINING_SECONDS = 180  # of one job, from its first step
CHECKPOINT_BYTES = 2 * 2**20  # of a trained model as a file
