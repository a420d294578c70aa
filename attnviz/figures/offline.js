// The page of a board that was taken home: draws its charts, links them, and answers a click on a cell with the
// arithmetic that was computed when the page was made. Nothing is asked of any server. linked.js and images.js stand
// above this; home is what attnviz.export.html wrote.
(async () => {
  const find = (id) => document.getElementById(id);
  const make = (name, words, className) => {
    const node = document.createElement(name);
    if (words !== undefined) node.textContent = words;
    if (className) node.className = className;
    return node;
  };
  const { spec, words, about, look } = home;
  const drawTable = ({ heads, rows }) => {
    const table = make("table"), head = table.appendChild(make("tr"));
    for (const words of heads) head.append(make("th", words));
    for (const line of rows) {
      const tr = table.appendChild(make("tr"));
      line.forEach((value, n) => tr.append(make(n ? "td" : "th", value)));
    }
    return table;
  };
  const charts = [];
  for (const chart of home.charts) {
    const section = find("charts").appendChild(make("section"));
    const bar = section.appendChild(make("header"));
    bar.append(make("h2", chart.title));
    const holder = section.appendChild(make("div", undefined, "chart"));
    holder.setAttribute("role", "img");
    holder.setAttribute("aria-label", chart.alt);
    const gd = holder.appendChild(make("div"));
    await Plotly.newPlot(gd, chart.figure.data, chart.figure.layout, home.config);
    for (const format of ["png", "svg"]) {
      const button = bar.appendChild(make("button", format.toUpperCase()));
      button.onclick = () => saveChart(gd, home.file + "-" + chart.key, format, { ...about, title: about.title + "  ·  " + chart.title }, look);
    }
    for (const table of chart.tables || []) {
      const more = section.appendChild(make("details"));
      more.append(make("summary", words.table + (chart.tables.length > 1 ? " · " + table.name : "")));
      // Drawn once it is asked for: there may be many thousand numbers.
      more.addEventListener("toggle", () => more.append(drawTable(table)), { once: true });
    }
    charts.push({ gd, panels: chart.panels });
  }

  const step = find("step"), row = find("row"), col = find("col"), answer = find("answer");
  for (const name in home.steps) step.append(new Option(home.steps[name].symbol, name));
  const linked = linkPanels(charts, spec, (cell) => choose(cell), null);

  // A click names the panel that it fell on; of K transposed, and of the sums of rows, another cell is meant.
  const choose = ({ name, row: i, col: j }) => {
    const means = home.panels[name];
    if (!means) return;
    if (means.turned) show(means.step, j, i);
    else show(means.step, i, means.whole ? col.value - 1 : j);
  };

  const show = (name, i, j) => {
    const { first, shape, panel, turned } = home.steps[name];
    i = Math.min(Math.max(i, first[0]), first[0] + shape[0] - 1);
    j = Math.min(Math.max(j, first[1]), first[1] + shape[1] - 1);
    step.value = name;
    [row.value, col.value] = [i + 1, j + 1];
    [row.min, row.max, col.min, col.max] = [first[0] + 1, first[0] + shape[0], first[1] + 1, first[1] + shape[1]];
    linked.choose(turned ? { name: panel, row: j, col: i } : { name: panel, row: i, col: j });
    const cell = home.cells[name + ":" + i + ":" + j];
    answer.replaceChildren(make("p", cell ? cell.words : words.left_out));
    if (cell) answer.append(make("p", cell.equals, "equals"));
    if (cell && cell.rows.length) answer.append(drawTable(cell));
  };
  const moved = () => show(step.value, row.value - 1, col.value - 1);
  step.onchange = row.onchange = col.onchange = moved;
  step.form.onsubmit = () => false; // nothing is sent anywhere
  if (home.chosen) show(home.chosen.step, home.chosen.row, home.chosen.col);
  else find("cell").remove(); // a page without maps has no cells
})();
