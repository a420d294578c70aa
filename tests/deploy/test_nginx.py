"""nginx before three replicas: readers stay with one of them, any of them answers any link, and one may be killed."""

import asyncio
import json
import random
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from attnviz.experiment import Experiment, View, from_query, to_query
from tests.benchmarks.protocol import Session, open_session
from tests.deploy.replicas import Site, find_nginx, running_site

pytestmark = pytest.mark.skipif(find_nginx() is None, reason="no nginx; tests/run.sh installs one, for root with apt")
READERS, SECONDS = 12, 2.0
MASKS = ("none", "causal", "window")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running_site(tmp_path_factory.mktemp("site")) as running:
        yield running


def get(url: str, cookie: str = "", host: str = "") -> tuple[int, dict[str, str]]:
    headers = ({"Cookie": cookie} if cookie else {}) | ({"Host": host} if host else {})
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}
    except urllib.error.HTTPError as error:
        return error.code, {name.lower(): value for name, value in error.headers.items()}


def test_headers_cookie_and_what_is_shut(site: Site) -> None:
    status, sent = get(site.front.url)
    assert status == 200 and "default-src 'none'" in sent["content-security-policy"]
    assert (sent["x-content-type-options"], sent["x-frame-options"]) == ("nosniff", "SAMEORIGIN")
    assert sent["server"] == "nginx" and sent["set-cookie"].startswith("attnviz=")
    assert "HttpOnly; SameSite=Lax" in sent["set-cookie"]
    assert "attnviz=" not in get(site.front.url, "attnviz=mine")[1].get("set-cookie", "")
    for shut in ("/_stcore/metrics", "/_stcore/agent/openapi.json"):
        status, sent = get(site.front.url + shut)
        assert status == 404 and sent["x-content-type-options"] == "nosniff"
    assert get(f"{site.front.url}/?text={'a' * 8000}")[0] == 200


def test_a_reader_stays_with_one_replica_and_readers_are_spread(site: Site) -> None:
    for i in range(24):
        for _ in range(2):
            get(f"{site.front.url}/place-{i}?text=secret", f"attnviz=reader-{i}")
    places: dict[str, list[str]] = {}
    for line in site.access():
        if "/place-" in line:
            places.setdefault(line.split()[5], []).append(line.split()[3])
    assert len(places) == 24 and all(len(set(place)) == 1 for place in places.values()), places
    assert len({place[0] for place in places.values()}) == 3
    assert "secret" not in "".join(site.access())  # what a link holds is not logged


def figure(session: Session) -> str:
    """The board's weights, as they are painted."""
    return session.elements["chart-scores"].plotly_chart.spec


def query_of(session: Session) -> str:
    """The link that the page has in the address bar now."""
    query: str = json.loads(session.elements["bridge"].bidi_component.json)["query"]
    return query


async def enter(site: Site, i: int) -> Session:
    """Open a view of one's own."""
    start = to_query(Experiment(f"reader number {i}", n_heads=1 + i % 3, mask=MASKS[i % 3]), View())
    return await open_session(site.front.url, start, cookie=f"attnviz=reader-{i}")


async def use(site: Site, i: int, session: Session, killed: asyncio.Event) -> bool:
    """Type until a replica was killed; come back by the link, and go on. Return whether the connection was cut."""
    draw, before, link, cut = random.Random(i), figure(session), session.query, False
    while not killed.is_set() and not cut:
        text = f"reader {i} typed {draw.choice(('this', 'that', 'the other'))} {draw.randrange(99)}"
        try:
            await session.run("text_line", text)
        except ConnectionClosed:
            cut = True
            break
        before, link = figure(session), query_of(session)
        assert from_query(link)[0].text == text
        await asyncio.sleep(draw.uniform(0, 0.3))
    await session.socket.close()
    again = await open_session(site.front.url, link, cookie=f"attnviz=reader-{i}")
    assert figure(again) == before and again.n_exceptions == 0
    await again.run("text_line", text := f"reader {i} goes on")
    assert from_query(query_of(again))[0].text == text
    await again.socket.close()
    return cut


async def all_readers(site: Site) -> int:
    """Let all readers in, kill a replica under them, and return how many were cut off."""
    await asyncio.gather(*(open_and_close(replica.url) for replica in site.replicas))  # all have imported everything
    sessions = await asyncio.gather(*(enter(site, i) for i in range(READERS)))
    killed = asyncio.Event()

    async def kill() -> None:
        await asyncio.sleep(SECONDS)
        site.replicas[1].process.kill()
        await asyncio.sleep(0.5)
        killed.set()

    *cut, _none = await asyncio.gather(*(use(site, i, each, killed) for i, each in enumerate(sessions)), kill())
    return sum(map(bool, cut))


async def open_and_close(url: str) -> None:
    session = await open_session(url)
    await session.socket.close()


def test_views_come_back_from_their_links_when_a_replica_is_killed(site: Site) -> None:
    lost = site.replicas[1].url.removeprefix("http://")
    n_cut = asyncio.run(all_readers(site))
    assert 0 < n_cut < READERS
    streams = [line.split() for line in site.access() if line.endswith("/_stcore/stream")]
    assert any(line[3] == lost for line in streams)
    for i in range(9):  # and whoever comes finds one that answers
        assert get(f"{site.front.url}/_stcore/health", f"attnviz=later-{i}")[0] == 200
    assert not any("Traceback" in replica.log() for replica in site.replicas)


def test_the_configuration_has_what_the_tests_put_in_place(tmp_path: Path) -> None:
    from tests.deploy.replicas import rendered

    with pytest.raises(ValueError, match="listen"):
        rendered("server attnviz:8501;", 1, [2], tmp_path)
