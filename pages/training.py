"""Learning: a small model is trained in front of the reader, and its heads are seen to form."""

import streamlit as st

from attnviz.experiment import to_query
from attnviz.locale import _
from attnviz.training.model import forward
from attnviz.training.trainer import Training
from attnviz.ui import board, bridge, cell, notices, process, routing, source, state
from attnviz.ui import home as take_home
from attnviz.ui.drawn import drawn
from attnviz.ui.labs import figure_tables
from attnviz.ui.training import asked, curves, heads, home, jobs, replay, settings, watch

routing.require_app()
process.settle()
home.come_back()
drawn().begin()
st.markdown(
    _(
        "A small transformer of attention alone learns a task in seconds, here on this server. Watch its heads find "
        "out where to look, step by step."
    )
)
settings.choose()
refused = st.container()
with refused:
    notices.show_link()
lab = state.view().lab
if problem := settings.problem(lab):
    st.warning(problem)
    bridge.connect([], {}, to_query(state.experiment(), state.view()))
    state.stop()
recipes = settings.recipes(lab)
job = jobs.follow(recipes)
settings.begin(recipes, job)
if job is not None and jobs.running(job):
    watch.show(job)
    asked.show(job)
    bridge.connect([], {}, to_query(state.experiment(), state.view()))
    state.stop()

watch.said(job)
which = settings.which(recipes)
if job is None:
    shown = replay.untrained(recipes[which])
    st.caption(_("Not trained yet: its numbers are random, and so are its maps."))
else:
    curves.show(job.trainings, which)
    shown = replay.choose(job.trainings[which])
heads.say(shown)
tokens = replay.type_own(shown)
run = replay.read(shown, tokens)
grid = replay.maps(shown, tokens, run)
replay.answers(shown, tokens, run)
asked.show(job)
layer, head = heads.choose(shown)
computed = replay.one_head(shown, tokens, run, layer, head)
with refused:
    notices.show_moved(which=which, layer=layer, head=head, s=computed.view.s, u=computed.view.u)
charts = board.show(computed, "scores", "output")
home.offer(shown, tokens, layer, run.layers[layer])
figure_tables.show()
steps = ("scores", "scaled", "masked", "weights", "output")
cell.show(computed, [grid, *charts], steps, replay.choose_head)
taken = heads.called(shown, layer, head)
take_home.show(computed, ("scores", "output"), steps, taken, " ".join(computed.run.tokens[0]))
source.show(forward, Training.step)
