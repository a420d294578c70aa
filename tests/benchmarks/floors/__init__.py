"""The least that Streamlit needs for what a benchmark measures: scripts for `streamlit run`, not part of the app."""
