// A button that offers every chart on the page as a picture, drawn into root by link.js. images.js stands above this.
// The charts are found when the menu is opened: whatever page it is, and however often its charts are drawn anew. A file
// is named by the page and by the chart's key, which no language and nothing that was typed changes. What it returns
// stops it.
function offerPictures(data, root) {
  const make = (name, words, className) => {
    const node = document.createElement(name);
    if (words !== undefined) node.textContent = words;
    if (className) node.className = className;
    return node;
  };
  const button = make("button", data.save), menu = make("div", undefined, "attnviz-menu");
  root.replaceChildren(button, menu);
  menu.hidden = true;
  button.setAttribute("aria-expanded", "false");
  button.setAttribute("aria-haspopup", "true");

  const close = () => {
    menu.hidden = true;
    button.setAttribute("aria-expanded", "false");
  };
  const look = () => {
    const app = getComputedStyle(document.querySelector(".stApp"));
    return { ground: app.backgroundColor, ink: app.color };
  };
  const page = () => root.closest('[class*="st-key-page_"]').className.match(/st-key-page_(\w+)/)[1]; // its head is named by it
  const namesOf = (charts) => {
    const taken = new Set();
    return charts.map((gd, i) => {
      const holder = gd.closest('[class*="st-key-chart-"]');
      const key = holder ? holder.className.match(/st-key-chart-(?:maps-|block-)?([\w-]*)/)[1] : "";
      const words = [...new Set(["attnviz", page(), key || "chart"])].join("-").toLowerCase();
      const name = words.replace(/[^a-z0-9]+/g, "-").replace(/(-chart)?-*$/, "");
      const unique = taken.has(name) ? name + "-" + (i + 1) : name;
      taken.add(unique);
      return unique;
    });
  };
  const open = () => {
    const charts = [...document.querySelectorAll(".js-plotly-plot")].filter((gd) => gd._fullLayout && gd.offsetParent);
    const names = namesOf(charts);
    menu.replaceChildren();
    if (!charts.length) menu.append(make("p", data.none));
    charts.forEach((gd, i) => {
      const said = gd.closest("[aria-label]"), words = (said && said.getAttribute("aria-label")) || "";
      const line = menu.appendChild(make("div", undefined, "attnviz-picture"));
      const named = line.appendChild(make("div"));
      named.append(make("b", i + 1 + "  " + names[i]), make("span", words));
      named.title = words;
      for (const format of ["png", "svg"]) {
        const save = line.appendChild(make("button", format.toUpperCase()));
        save.setAttribute("aria-label", format.toUpperCase() + " " + (i + 1));
        save.onclick = async () => {
          const about = { title: "attnviz · " + document.querySelector("h1").textContent, link: location.href, version: data.version };
          await saveChart(gd, names[i], format, about, look());
        };
      }
    });
    menu.hidden = false;
    button.setAttribute("aria-expanded", "true");
  };
  button.onclick = () => (menu.hidden ? open() : close());
  root.onkeydown = (event) => {
    if (event.key === "Escape") {
      close();
      button.focus();
    }
  };
  const outside = (event) => {
    if (!root.contains(event.target)) close();
  };
  document.addEventListener("pointerdown", outside);
  return () => document.removeEventListener("pointerdown", outside);
}
