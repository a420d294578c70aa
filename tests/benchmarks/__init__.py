"""How fast attnviz is: commands that print a table each, beside a floor measured in the same run. They assert nothing.

    python -m tests.benchmarks.attention_trace       the whole trace against softmax(q @ k.mT * scale) @ v    goal 1.1 x
    python -m tests.benchmarks.edit_to_painted       a key in the text box to the painted board     goal 1.3 x the floor
    python -m tests.benchmarks.lab_pages             a key to the painted figures of every lab      goal 1.3 x the floor
    python -m tests.benchmarks.lab_controls          a lab's own control to its painted figures     goal 1.3 x the floor
    python -m tests.benchmarks.training              a step of training, beside two others      goal 1.2 x the slower
    python -m tests.benchmarks.training_beside       another thread's work while three jobs train
    python -m tests.benchmarks.models                loading and reading the trained models
    python -m tests.benchmarks.models_painted        choosing one, and typing a text, to all its heads painted
    python -m tests.benchmarks.overview              12 x 12 heads beside other tools    goal 0.7 s at 64 tokens
    python -m tests.benchmarks.hover_to_outline      the pointer on a cell to its outlines          goal 16 ms
    python -m tests.benchmarks.click_to_arithmetic   a click on a weight to its arithmetic          goal 1.3 x the floor
    python -m tests.benchmarks.long_text             a long text pasted, zoomed, hovered         goal 1 s, 0.2 s, 16 ms
    python -m tests.benchmarks.start                 a new process to the title and the board       goal 1.3 x the floor
    python -m tests.benchmarks.sessions              10, 50 and 200 people at once      goal p95 600 ms of 50, no error
    python -m tests.benchmarks.script_profile        where the Python part of an edit and a click goes

Each takes `-n`, the number of measurements (sessions: `--sessions`, `--seconds`), and says more with `--help`. A floor
is the least that Streamlit needs for the same picture: floors/*.py, fed with the app's own figures. Both sides take
turns, so that a noisy machine is noisy for both; read the ratios first, and the milliseconds as this machine's today.
"""
