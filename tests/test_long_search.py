"""A token, or several in a row, is found wherever it stands."""

from hypothesis import given
from hypothesis import strategies as st

from attnviz.long_search import around, places

WORDS = st.lists(st.sampled_from(["a", "A", "b", "ab", "ß"]), max_size=12)


@given(WORDS, st.lists(st.sampled_from(["a", "b", "SS"]), min_size=1, max_size=3))
def test_each_place_is_found_once_and_in_order(tokens: list[str], sought: list[str]) -> None:
    folded = [token.casefold() for token in tokens]
    parts = [part.casefold() for part in sought]
    right = [i for i in range(len(tokens)) if folded[i : i + len(parts)] == parts]
    if not right and len(parts) == 1:
        right = [i for i, token in enumerate(folded) if parts[0] in token]
    assert places(tokens, sought) == right


def test_nothing_is_found_of_nothing() -> None:
    assert places(["a"], []) == places([], ["a"]) == []


def test_what_stands_around_a_place_ends_with_the_text() -> None:
    assert around(["a", "b", "c"], 0) == ("", "a", "b c")
    assert around(["a", "b", "c"], 2, before=1) == ("b", "c", "")
