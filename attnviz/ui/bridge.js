// The bridge: attaches the linked hover to Streamlit's own Plotly charts, brings clicks and zooms to Python, keeps
// the address bar at the link that restores the view, offers that link to copy, and has the page follow a switch of
// theme. linked.js stands above this.
export default function ({ data, setTriggerValue, parentElement }) {
  if (data.query !== undefined) {
    const search = data.query ? "?" + data.query : "";
    // Replaced, not pushed: typing makes no history, and Back leaves the page with all that was typed.
    if (location.search !== search) history.replaceState(history.state, "", location.pathname + search + location.hash);
  }
  if (data.copy) {
    const button = parentElement.querySelector("button") || parentElement.appendChild(document.createElement("button"));
    button.className = "attnviz-copy";
    button.textContent = data.copy;
    button.onclick = async () => {
      const copied = await copyText(location.href);
      button.textContent = copied ? data.copied : location.href;
      setTimeout(() => { button.textContent = data.copy; }, 1600);
    };
  }
  if (data.scheme) return watchScheme(data.scheme, parentElement, setTriggerValue);
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
    const found = data.charts.map(find);
    // A chart remounts when its numbers change: attach again when any is another element, once all are drawn.
    if (!found.every((gd) => gd && gd.on && gd._fullLayout) || found.every((gd, i) => gd === linked[i])) return;
    if (unlink) unlink();
    linked = found;
    const charts = data.charts.map((chart, i) => ({ gd: found[i], ...chart }));
    let wait = null;
    const onZoom = (chart, zoom) => {
      clearTimeout(wait);
      wait = setTimeout(() => setTriggerValue("zoom", { key: chart.key, zoom }), 150); // a drag ends in several events
    };
    unlink = linkPanels(charts, { ...data, selected }, (cell) => setTriggerValue("cell", cell), onZoom);
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

// Streamlit does not run the page again when its theme is switched, and the charts have colours of their own.
function watchScheme(drawn, parentElement, setTriggerValue) {
  const app = document.querySelector(".stApp");
  const look = () => {
    const scheme = getComputedStyle(app).colorScheme;
    // Asked once for each scheme, so that a disagreement cannot run the page for ever.
    if (scheme === drawn) parentElement.attnvizAsked = drawn;
    else if (["light", "dark"].includes(scheme) && parentElement.attnvizAsked !== scheme) {
      parentElement.attnvizAsked = scheme;
      setTriggerValue("scheme", scheme);
    }
  };
  if (parentElement.attnvizStop) parentElement.attnvizStop();
  const observer = new MutationObserver(() => requestAnimationFrame(look));
  observer.observe(app, { attributes: true });
  const stop = () => observer.disconnect();
  parentElement.attnvizStop = stop;
  look();
  return stop;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without https the clipboard is closed; a selected text box still copies.
    const box = document.body.appendChild(document.createElement("textarea"));
    box.value = text;
    box.select();
    const copied = document.execCommand("copy");
    box.remove();
    return copied;
  }
}
