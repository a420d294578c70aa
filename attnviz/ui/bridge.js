// The bridge: attaches the linked hover to Streamlit's own Plotly charts, brings clicks and zooms to Python, keeps
// the address bar at the link that restores the view, and keeps the tokens of a long text. A component's script travels
// with everything that is told to it: the hover itself, which is long, came once, with link.js.
export default function ({ data, setTriggerValue, parentElement }) {
  if (data.query !== undefined) writeAddress(data.query);
  if (data.hold) holdTokens(data.hold, data.tokens);
  if (!data.charts) return undefined;
  // Called again, in place, whenever the data changes. Where only the chosen cell did, the ties stay.
  const ties = JSON.stringify({ ...data, selected: null, query: null });
  if (parentElement.attnvizTies === ties) {
    parentElement.attnvizChoose(data.selected);
    return parentElement.attnvizStop;
  }
  if (parentElement.attnvizStop) parentElement.attnvizStop();
  parentElement.attnvizTies = ties;
  parentElement.attnvizChoose = () => {};
  if (!data.charts.length) return undefined;

  let unlink = null, linked = [], selected = data.selected;
  const find = (chart) => document.querySelector(".st-key-" + chart.key + " .js-plotly-plot");
  const attach = () => {
    if (!window.attnviz) return; // link.js has not come yet
    const found = data.charts.map(find);
    // A chart remounts when its numbers change: attach again when any is another element, once all are drawn.
    if (!found.every((gd) => gd && gd.on && gd._fullLayout) || found.every((gd, i) => gd === linked[i])) return;
    if (unlink) unlink();
    linked = found;
    const charts = data.charts.map((chart, i) => ({ gd: found[i], ...chart }));
    let wait = null;
    const onZoom = (chart, zoom) => {
      clearTimeout(wait);
      wait = setTimeout(() => setTriggerValue("zoom", { key: chart.key, zoom, drag: chart.gd._fullLayout.dragmode }), 150); // a drag ends in several events
    };
    unlink = window.attnviz.linkPanels(charts, { ...data, selected }, (cell) => setTriggerValue("cell", cell), onZoom);
    const root = document.documentElement.dataset;
    root.attnvizLinked = Number(root.attnvizLinked || 0) + 1;
  };
  // Looked at now and then, not observed: a chart that is drawn changes thousands of nodes, and an observer of the page
  // would be told of each.
  const timer = setInterval(() => {
    if (!linked.length || !linked.every((gd) => gd.isConnected)) attach();
  }, 40);
  const stop = () => {
    clearInterval(timer);
    if (unlink) unlink();
    unlink = null;
    parentElement.attnvizTies = null;
  };
  parentElement.attnvizChoose = (cell) => {
    selected = cell;
    if (unlink) unlink.choose(cell);
  };
  parentElement.attnvizStop = stop;
  attach();
  return stop;
}

// The address waits until the picture is painted: writing it holds the browser up for some milliseconds.
function writeAddress(query) {
  const root = document.documentElement, path = location.pathname;
  // How Streamlit shows the app in a frame of another page stands there too, and stays.
  const framed = location.search.slice(1).split("&").filter((part) => /^embed(_options)?=/.test(part));
  const said = [...framed, query].filter(Boolean).join("&"), search = said ? "?" + said : "";
  clearTimeout(root.attnvizAddress);
  root.attnvizAddress = setTimeout(() => {
    root.attnvizAddress = null; // written, or of no use any more
    // Replaced, not pushed: typing makes no history, and Back leaves the page with all that was typed. Not on another page.
    if (location.pathname === path && location.search !== search) history.replaceState(history.state, "", path + search + location.hash);
  }, 60);
}

// heldTokens in linked.js finds them again by their key; those of the last few texts are kept.
function holdTokens(key, tokens) {
  const held = (window.attnvizHeld = { ...window.attnvizHeld });
  delete held[key];
  held[key] = tokens;
  const keys = Object.keys(held);
  if (keys.length > 8) delete held[keys[0]];
}
