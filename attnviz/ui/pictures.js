// A button of the page's head that offers every chart on the page as a picture. images.js stands above this. The
// charts are found when the menu is opened: whatever page it is, and however often its charts are drawn anew.
export default function ({ data, parentElement }) {
  const make = (name, words, className) => {
    const node = document.createElement(name);
    if (words !== undefined) node.textContent = words;
    if (className) node.className = className;
    return node;
  };
  const root = parentElement.querySelector(".attnviz-pictures") || parentElement.appendChild(make("div", undefined, "attnviz-pictures"));
  const button = make("button", data.words.save), menu = make("div", undefined, "attnviz-menu");
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
  const open = () => {
    const charts = [...document.querySelectorAll(".js-plotly-plot")].filter((gd) => gd._fullLayout && gd.offsetParent);
    menu.replaceChildren();
    if (!charts.length) menu.append(make("p", data.words.none));
    charts.forEach((gd, i) => {
      const said = gd.closest("[aria-label]"), words = (said && said.getAttribute("aria-label")) || "";
      const line = menu.appendChild(make("div", undefined, "attnviz-picture"));
      line.append(make("span", i + 1 + "  " + words));
      for (const format of ["png", "svg"]) {
        const save = line.appendChild(make("button", format.toUpperCase()));
        save.setAttribute("aria-label", format.toUpperCase() + " " + (i + 1));
        save.onclick = async () => {
          const about = { title: data.title, link: location.href, version: data.version };
          await saveChart(gd, data.file + "-" + (i + 1), format, about, look());
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
