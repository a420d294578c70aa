// Charts as pictures: a chart of Plotly as it stands on the page, on a ground of its own, below a title and above a
// line with its link. The letters are the browser's, so that every script that it can show is right.
//
// about: {title, link, version}; look: {ground, ink}
function chartAsSvg(gd, about, look) {
  const SVG = "http://www.w3.org/2000/svg", HEAD = 30, FOOT = 24;
  const { width, height } = gd._fullLayout;
  const make = (name, values, words) => {
    const node = document.createElementNS(SVG, name);
    for (const key in values) node.setAttribute(key, values[key]);
    if (words !== undefined) node.textContent = words;
    return node;
  };
  const whole = make("svg", { xmlns: SVG, width, height: height + HEAD + FOOT, viewBox: `0 0 ${width} ${height + HEAD + FOOT}` });
  whole.append(make("title", {}, about.title), make("desc", {}, [about.link, about.version].filter(Boolean).join(" ")));
  whole.append(make("rect", { width: "100%", height: "100%", fill: look.ground }));
  const inside = make("g", { transform: `translate(0 ${HEAD})` });
  for (const layer of gd.querySelectorAll(".main-svg")) {
    const copy = layer.cloneNode(true);
    copy.setAttribute("x", 0);
    copy.setAttribute("y", 0);
    copy.removeAttribute("style"); // the ground of a layer hides those below
    inside.append(copy);
  }
  for (const unseen of inside.querySelectorAll(".draglayer, .hoverlayer, .nsewdrag")) unseen.remove();
  // Fonts are named in lists: those of the page are not in a picture, and the next that the browser has stands in.
  const font = { "font-family": gd._fullLayout.font.family, fill: look.ink };
  whole.append(inside);
  whole.append(make("text", { ...font, x: 6, y: 19, "font-size": 14, "font-weight": 600 }, about.title));
  const foot = [about.link, about.version].filter(Boolean).join("  ·  ");
  whole.append(make("text", { ...font, x: 6, y: height + HEAD + 16, "font-size": 10, opacity: 0.75 }, foot));
  fit(whole, width);
  return new XMLSerializer().serializeToString(whole);
}

// A title or link that is wider than its chart is cut: measured where it is drawn, off the page.
function fit(whole, width) {
  const holder = document.body.appendChild(document.createElement("div"));
  Object.assign(holder.style, { position: "fixed", left: "-99999px", top: 0 });
  holder.append(whole);
  for (const text of whole.querySelectorAll(":scope > text")) {
    let words = [...text.textContent];
    while (words.length > 1 && text.getComputedTextLength() > width - 12) {
      words = words.slice(0, Math.min(words.length - 1, Math.floor((words.length * (width - 12)) / text.getComputedTextLength())));
      text.textContent = words.join("") + "…";
    }
  }
  holder.remove();
}

async function svgAsPng(svg, scale) {
  const picture = new Image();
  picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = picture.width * scale;
  canvas.height = picture.height * scale;
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function saveBlob(blob, name) {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10000);
}

// Save a chart; format: "png", twice as fine as on the page, or "svg".
async function saveChart(gd, name, format, about, look) {
  const svg = chartAsSvg(gd, about, look);
  const blob = format === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await svgAsPng(svg, 2);
  saveBlob(blob, name + "." + format);
}
