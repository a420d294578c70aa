// What stands in the head of every page: a button that copies its link and one that saves its pictures. The page says its
// language here too, and follows a switch of theme. Whatever the script needs stands above it: pictures.js, and linked.js
// and pooled.js, which come once, for all bridges of the page.
window.attnviz = { linkPanels };

export default function ({ data, setTriggerValue, parentElement }) {
  if (parentElement.attnvizStop) parentElement.attnvizStop();
  document.documentElement.lang = data.lang; // Streamlit says "en" of every page
  if (!parentElement.querySelector(".attnviz-sharing")) {
    const root = parentElement.appendChild(document.createElement("div"));
    root.className = "attnviz-sharing";
    root.appendChild(document.createElement("button")).className = "attnviz-copy";
    root.appendChild(document.createElement("div")).className = "attnviz-pictures";
  }
  offerLink(data, parentElement.querySelector(".attnviz-copy"));
  const stops = [
    offerPictures(data, parentElement.querySelector(".attnviz-pictures")),
    watchScheme(data.scheme, parentElement, setTriggerValue),
  ];
  parentElement.attnvizStop = () => stops.forEach((stop) => stop());
  return parentElement.attnvizStop;
}

function offerLink(data, button) {
  button.textContent = data.copy;
  button.onclick = async () => {
    const copied = await copyText(location.href);
    button.textContent = copied ? data.copied : location.href;
    setTimeout(() => { button.textContent = data.copy; }, 1600);
  };
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
  const observer = new MutationObserver(() => requestAnimationFrame(look));
  observer.observe(app, { attributeFilter: ["class", "style"] }); // of its state, which changes with every run, nothing is told
  look();
  return () => observer.disconnect();
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
