// Linked hover over Plotly heatmaps: a token under the pointer outlines its row and column in every panel of every
// chart, in the browser alone, and one tooltip names the cell. Reused by pages and by files that work offline.
//
// charts: [{gd, panels: [{name, axis, row, col, start: [row, column], symbol}]}]
// spec:   {tokens, key_tokens (those of u, where they are others; or the key of those that holdTokens keeps), letters: {s: "s", ...}, hues: {s: "#...", ...}, ground, ink, selected: {name, row, col} | null}
// A panel of tiles has tile: {step: [rows, columns] from one to the next, gap (above each), each (cells a side of a block),
// block (tokens a side), across, called: [...], top, chosen}: each is a head's map in bytes, the square root of a weight times top.
// A panel of a long text has pooled: see pooled.js. Its axes count tokens, and a click on it names a cell's first tokens.
// It reads _fullLayout[axis]._offset, ._length and .d2p of Plotly 7.1, which are not documented: a test pins them.
function linkPanels(charts, spec, onCell, onZoom) {
  const SVG = "http://www.w3.org/2000/svg";
  const undo = [];
  let hovered = null;

  const tip = document.createElement("div");
  tip.className = "attnviz-tip";
  Object.assign(tip.style, {
    position: "fixed", zIndex: 1000, pointerEvents: "none", display: "none", whiteSpace: "pre", padding: "6px 9px",
    borderRadius: "6px", font: "13px/1.45 system-ui, sans-serif", boxShadow: "0 2px 10px rgba(0,0,0,.3)",
    maxWidth: "92vw", overflow: "hidden", background: spec.ground, color: spec.ink,
  });
  document.body.appendChild(tip);
  undo.push(() => tip.remove());

  const layerOf = (chart) => {
    if (!chart.layer || !chart.layer.isConnected) {
      chart.layer = document.createElementNS(SVG, "g");
      chart.layer.setAttribute("class", "attnviz-linked");
      chart.layer.style.pointerEvents = "none";
      chart.gd.querySelector(".main-svg").appendChild(chart.layer);
    }
    return chart.layer;
  };

  // Outline cells from (r0, c0) to (r1, c1) of a panel, both included, cut to what the zoom shows.
  const outline = (chart, panel, r0, c0, r1, c1, hue, width) => {
    const X = chart.gd._fullLayout["xaxis" + panel.axis], Y = chart.gd._fullLayout["yaxis" + panel.axis];
    if (!X || !Y) return;
    const cutTo = (axis, a, b) => {
      const ends = [axis._offset + axis.d2p(a - 0.5), axis._offset + axis.d2p(b + 0.5)].sort((p, q) => p - q);
      return [Math.max(axis._offset, ends[0]), Math.min(axis._offset + axis._length, ends[1])];
    };
    const [x0, x1] = cutTo(X, c0, c1), [y0, y1] = cutTo(Y, r0, r1);
    if (x1 <= x0 || y1 <= y0) return;
    const rect = document.createElementNS(SVG, "rect");
    const values = { x: x0, y: y0, width: x1 - x0, height: y1 - y0, fill: "none", stroke: hue, "stroke-width": width, rx: 2 };
    for (const name in values) rect.setAttribute(name, values[name]);
    layerOf(chart).appendChild(rect);
  };

  const size = (chart, panel) => {
    const trace = chart.gd._fullData.find((t) => t.type === "heatmap" && t.xaxis === "x" + panel.axis);
    return trace ? [trace.z.length, trace.z[0].length] : [0, 0];
  };

  // X is read by queries and keys alike: its rows answer to both token letters.
  const rowLetters = (panel) => (panel.name === "x" ? ["s", "u"] : [panel.row]);

  const outlineTile = (chart, panel, k, width) => {
    const { step: [down, right], gap, across } = panel.tile, top = Math.floor(k / across) * down, left = (k % across) * right;
    outline(chart, panel, top + gap, left + 1, top + down - 1, left + right - 1, spec.ink, width);
  };

  // Which tile a cell lies in and where, in blocks of tokens; null in a gap.
  const tileOf = (cell) => {
    const { step: [down, right], gap, each, across, called } = cell.panel.tile;
    const k = Math.floor(cell.i / down) * across + Math.floor(cell.j / right);
    const s = (cell.i % down) - gap, u = (cell.j % right) - 1;
    return s < 0 || u < 0 || !called[k] ? null : { k, s: Math.floor(s / each), u: Math.floor(u / each) };
  };

  const draw = () => {
    for (const chart of charts) {
      if (!chart.gd.isConnected || !chart.gd._fullLayout) continue;
      layerOf(chart).replaceChildren();
      for (const panel of chart.panels) {
        const [rows, columns] = size(chart, panel);
        if (!rows) continue;
        if (panel.pooled) {
          drawPooled(panel, hovered, spec, (...cells) => outline(chart, panel, ...cells));
          continue;
        }
        if (panel.tile) {
          if (panel.tile.chosen >= 0) outlineTile(chart, panel, panel.tile.chosen, 3);
          if (hovered && hovered.tile !== undefined) outlineTile(chart, panel, hovered.tile, 2);
          continue;
        }
        if (hovered) {
          for (const letter of rowLetters(panel)) {
            const i = hovered[letter] - panel.start[0];
            if (i >= 0 && i < rows) outline(chart, panel, i, 0, i, columns - 1, spec.hues[letter], 2);
          }
          const j = hovered[panel.col] - panel.start[1];
          if (j >= 0 && j < columns) outline(chart, panel, 0, j, rows - 1, j, spec.hues[panel.col], 2);
        }
        const chosen = spec.selected;
        if (chosen && chosen.name === panel.name) {
          const i = chosen.row - panel.start[0], j = chosen.col - panel.start[1];
          if (i >= 0 && i < rows && j >= 0 && j < columns) outline(chart, panel, i, j, i, j, spec.ink, 3);
        }
      }
    }
  };

  // What is shown of each panel that is not shown whole: x from and to, y from and to.
  const zoomOf = (chart) => {
    const zoom = {};
    for (const panel of chart.panels) {
      const L = chart.gd._fullLayout, [rows, columns] = size(chart, panel);
      const range = [...L["xaxis" + panel.axis].range, ...L["yaxis" + panel.axis].range].map(Number);
      const whole = [-0.5, columns - 0.5, rows - 0.5, -0.5];
      if (panel.pooled || range.some((value, i) => Math.abs(value - whole[i]) > 0.01)) zoom[panel.axis] = range;
    }
    return zoom;
  };

  const cellOf = (chart, event) => {
    const point = event.points && event.points[0];
    if (!point || !Array.isArray(point.pointIndex || point.pointNumber)) return null;
    const panel = chart.panels.find((p) => "x" + p.axis === point.fullData.xaxis);
    if (!panel) return null;
    const [i, j] = point.pointIndex || point.pointNumber;
    if (panel.pooled) return { panel, i, j, ...pooledFirst(panel.pooled, i, j) };
    return { panel, i, j, row: i + panel.start[0], col: j + panel.start[1] };
  };

  const tokensOf = (letter) => heldTokens((letter === "u" && spec.key_tokens) || spec.tokens);

  const named = (letter, i) => {
    if (!letter) return "";
    const tokens = letter === "u" || letter === "s" ? tokensOf(letter) : null;
    const token = tokens ? " “" + tokens[i] + "”" : "";
    return (spec.letters[letter] || letter) + "=" + (i + 1) + token;
  };

  const cellValue = (chart, cell) => chart.gd._fullData.find((t) => t.type === "heatmap" && t.xaxis === "x" + cell.panel.axis).z[cell.i][cell.j];

  // The value of the panel's own heatmap, exactly as it came; the marks of -inf and NaN are heatmaps of their own.
  const valueOf = (chart, cell) => {
    const traces = chart.gd._fullData.filter((t) => t.type === "heatmap" && t.xaxis === "x" + cell.panel.axis);
    const value = traces[0].z[cell.i][cell.j];
    if (Number.isFinite(value)) return value.toPrecision(6).replace("-", "−");
    const mark = traces.slice(1).find((t) => Number.isFinite(t.z[cell.i][cell.j]));
    return mark ? mark.name : "";
  };

  const ofTokens = (letter, first, block) => {
    const tokens = tokensOf(letter), last = Math.min(first + block, tokens.length);
    const more = block > 1 && last > first + 1 ? "–" + last : "";
    return (spec.letters[letter] || letter) + "=" + (first + 1) + more + (more ? "" : " “" + tokens[first] + "”");
  };

  const onTile = (chart, cell, event) => {
    const found = tileOf(cell), { called, block, top } = cell.panel.tile;
    if (!found) return onLeave();
    hovered = { tile: found.k };
    draw();
    // A byte tells a weight of 0.004 to two digits, one below 0.002 to one.
    const byte = cellValue(chart, cell), value = byte ? Math.pow(byte / top, 2).toPrecision(byte < 10 ? 1 : 2) : "0";
    const where = ofTokens("s", found.s * block, block) + "   " + ofTokens("u", found.u * block, block);
    showTip(called[found.k] + "   ≈ " + value + "\n" + where, event);
  };

  const onPooled = (cell, event) => {
    const { band, words } = pooledCell(cell, event.points[0].fullData, spec);
    hovered = { band };
    draw();
    showTip(words, event);
  };

  const onHover = (chart) => (event) => {
    const cell = cellOf(chart, event);
    if (!cell) return;
    if (cell.panel.pooled) return onPooled(cell, event);
    if (cell.panel.tile) return onTile(chart, cell, event);
    hovered = {};
    if (cell.panel.row) hovered[cell.panel.row] = cell.row;
    if (cell.panel.col) hovered[cell.panel.col] = cell.col;
    draw();
    const where = [named(cell.panel.row, cell.row), named(cell.panel.col, cell.col)].filter(Boolean).join("   ");
    showTip((cell.panel.symbol || cell.panel.name) + "  " + valueOf(chart, cell) + "\n" + where, event);
  };
  const showTip = (words, event) => {
    tip.textContent = words;
    const pointer = event.event || {};
    tip.style.display = "block";
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(pointer.clientX + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(pointer.clientY + 16, innerHeight - box.height - 8)) + "px";
  };
  const onLeave = () => {
    hovered = null;
    tip.style.display = "none";
    draw();
  };

  for (const chart of charts) {
    const on = (name, f) => {
      chart.gd.on(name, f);
      undo.push(() => chart.gd.removeListener && chart.gd.removeListener(name, f));
    };
    on("plotly_hover", onHover(chart));
    on("plotly_unhover", onLeave);
    on("plotly_relayout", (change) => {
      draw();
      if (onZoom && Object.keys(change).some((key) => /^[xy]axis\d*\.(range|autorange)/.test(key))) onZoom(chart, zoomOf(chart));
    });
    on("plotly_click", (event) => {
      const cell = cellOf(chart, event);
      if (cell && onCell) onCell({ name: cell.panel.name, row: cell.row, col: cell.col });
    });
    undo.push(() => chart.layer && chart.layer.remove());
  }
  draw();
  const unlink = () => undo.forEach((f) => f());
  unlink.choose = (cell) => {
    spec.selected = cell;
    draw();
  };
  return unlink;
}

// The tokens of a long text are sent once and named by a key afterwards; null where they have not come yet.
function heldTokens(tokens) {
  return typeof tokens === "string" ? (window.attnvizHeld || {})[tokens] || null : tokens;
}
