// What linked.js needs of the map of a long text, whose cells are blocks of tokens.
//
// panel.pooled: {first: [s, u], end: [s, u], block: [s, u] (tokens of a cell), size: [s, u] (of the whole text),
// edges (byte i is a weight from edges[i - 1] to edges[i]), tops (of each row its largest, or null), mark}

// Which tokens a cell stands for: of each letter the first one, and the end.
function pooledTokens({ first, end, block }, i, j) {
  const from = [first[0] + i * block[0], first[1] + j * block[1]];
  return { s: [from[0], Math.min(from[0] + block[0], end[0])], u: [from[1], Math.min(from[1] + block[1], end[1])] };
}

// The weight of a cell: as it is where it came along, else as much of it as its byte knows.
function pooledValue(trace, { edges, tops, mark }, i, j) {
  if (trace.customdata) {
    const value = trace.customdata[i][j];
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
    return value.toPrecision(6).replace("-", "−");
  }
  const code = trace.z[i][j], top = tops ? tops[i] : 1;
  if (code === 0) return "0";
  return code < edges.length ? roughly(edges[code - 1] * top, edges[code] * top) : mark;
}

function roughly(low, high) {
  const digits = Math.max(0, Math.min(20, Math.floor(-Math.log10(high - low))));
  const middle = ((low + high) / 2).toFixed(digits);
  if (Number(middle) > 0) return "≈ " + middle;
  const unit = Math.pow(10, Math.floor(Math.log10(high)));
  return "≤ " + (Math.ceil(high / unit) * unit).toPrecision(1);
}

// Tokens as they are named: their numbers, and as many of their words as fit.
function pooledWords([first, end], tokens) {
  const numbers = (first + 1).toLocaleString("en-US") + (end > first + 1 ? "–" + end.toLocaleString("en-US") : "");
  if (!tokens) return numbers;
  let words = "", at = first;
  while (at < end && (at === first || words.length + tokens[at].length < 40)) words += (at > first ? " " : "") + tokens[at++];
  if (words.length > 60) words = [...words].slice(0, 60).join("") + "…";
  return numbers + " “" + words + (at < end ? " …" : "") + "”";
}

function pooledFirst(pooled, i, j) {
  const { s, u } = pooledTokens(pooled, i, j);
  return { row: s[0], col: u[0] };
}

// What is said of a cell under the pointer, and which tokens its rows and columns are.
function pooledCell({ panel, i, j }, trace, spec) {
  const band = pooledTokens(panel.pooled, i, j);
  const tokens = { s: heldTokens(spec.tokens), u: heldTokens(spec.key_tokens || spec.tokens) };
  const where = ["s", "u"].map((letter) => (spec.letters[letter] || letter) + "=" + pooledWords(band[letter], tokens[letter]));
  return { band, words: panel.symbol + "   " + pooledValue(trace, panel.pooled, i, j) + "\n" + where.join("\n") };
}

// Outline the rows and columns of tokens that are hovered, and the cell that holds the chosen tokens.
function drawPooled(panel, hovered, { hues, ink, selected }, outline) {
  const { size, first, end, block } = panel.pooled;
  if (hovered && hovered.band) {
    const { s, u } = hovered.band;
    outline(s[0], 0, s[1] - 1, size[1] - 1, hues.s, 2);
    outline(0, u[0], size[0] - 1, u[1] - 1, hues.u, 2);
  }
  if (!selected || selected.name !== panel.name) return;
  const [i, j] = [selected.row, selected.col].map((token, k) => (token < end[k] ? Math.floor((token - first[k]) / block[k]) : -1));
  if (i < 0 || j < 0) return;
  const { s, u } = pooledTokens(panel.pooled, i, j);
  outline(s[0], u[0], s[1] - 1, u[1] - 1, ink, 3);
}
