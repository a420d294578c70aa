"""The router: page config, language, title, the shared controls, and one line for each page; and how it is served."""

import streamlit as st

from attnviz.locale import _
from attnviz.ui import following, header, routing, serving, state, turns, widgets


@turns.in_turn
def route() -> None:
    """Run a session: draw what every page has, then the page that is asked for."""
    state.begin()
    following.begin()
    page = st.navigation(
        {
            "": [
                st.Page("pages/explore.py", title=_("Explore"), default=True),
                st.Page("pages/projections.py", title=_("Projections"), url_path="projections"),
                st.Page("pages/scores.py", title=_("Scores to weights"), url_path="scores"),
                st.Page("pages/output.py", title=_("Weights to output"), url_path="output"),
            ],
            _("Labs"): [
                st.Page("pages/roles.py", title=_("Query, key, value"), url_path="roles"),
                st.Page("pages/heads.py", title=_("Multi-head"), url_path="heads"),
                st.Page("pages/positions.py", title=_("Positions"), url_path="positions"),
                st.Page("pages/decoding.py", title=_("Decoding"), url_path="decoding"),
                st.Page("pages/einsum.py", title=_("Einsum"), url_path="einsum"),
                st.Page("pages/proof.py", title=_("What a weight proves"), url_path="proof"),
            ],
            _("Models"): [
                st.Page("pages/training.py", title=_("Learning"), url_path="training"),
                st.Page("pages/trained.py", title=_("Trained models"), url_path="trained"),
                st.Page("pages/tensors.py", title=_("Your tensors"), url_path="tensors"),
            ],
        },
        position="top",
    )
    st.set_page_config(page_title=f"{page.title} · attnviz", page_icon=header.ICON, layout="wide")
    routing.once()
    state.arrive(page.url_path)
    header.show(page.title)  # stands before torch is loaded
    page.run()
    following.end()
    widgets.told()


if __name__ == "__main__":
    route()
else:  # imported by `streamlit run app.py`, which serves this same file, with the headers of attnviz/ui/serving.py
    app = st.App(__file__, middleware=serving.MIDDLEWARE, lifespan=serving.lifespan)
