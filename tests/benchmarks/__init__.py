"""How fast attnviz is: commands that print a table each, beside a floor measured in the same run. They assert nothing.

    python -m tests.benchmarks.attention_trace       the whole trace against softmax(q @ k.mT * scale) @ v    goal 1.1 x
    python -m tests.benchmarks.edit_to_painted       a key in the text box to the painted board     goal 1.3 x the floor
    python -m tests.benchmarks.lab_pages             a key to the painted figures of every lab      goal 1.3 x the floor
    python -m tests.benchmarks.lab_controls          a lab's own control to its painted figures     goal 1.3 x the floor
    python -m tests.benchmarks.training              a step of training, beside two others      goal 1.2 x the slower
    python -m tests.benchmarks.training_beside       another thread's work while three jobs train
    python -m tests.benchmarks.models                loading and reading the trained models
    python -m tests.benchmarks.hover_to_outline      the pointer on a cell to its outlines          goal 16 ms
    python -m tests.benchmarks.click_to_arithmetic   a click on a weight to its arithmetic          goal 1.3 x the floor
    python -m tests.benchmarks.start                 a new process to the title and the board       goal 1.3 x the floor
    python -m tests.benchmarks.sessions              25 people at once, without a browser           goal p95 400 ms
    python -m tests.benchmarks.script_profile        where the Python part of an edit and a click goes

Each takes `-n`, the number of measurements (sessions: `--sessions`, `--seconds`), and says more with `--help`. A floor
is the least that Streamlit needs for the same picture: floors/*.py, fed with the app's own figures. Both sides take
turns, so that a noisy machine is noisy for both; read the ratios first, and the milliseconds as this machine's today.
"""
