// The link of a page: a button that copies it, and a page that says its language and follows a switch of theme. It
// stands on every page and never changes, so that Streamlit sends it once: linked.js and pooled.js stand above it, for
// all bridges of the page.
window.attnviz = { linkPanels };

export default function ({ data, setTriggerValue, parentElement }) {
  document.documentElement.lang = data.lang; // Streamlit says "en" of every page
  const button = parentElement.querySelector("button") || parentElement.appendChild(document.createElement("button"));
  button.className = "attnviz-copy";
  button.textContent = data.copy;
  button.onclick = async () => {
    const copied = await copyText(location.href);
    button.textContent = copied ? data.copied : location.href;
    setTimeout(() => { button.textContent = data.copy; }, 1600);
  };
  return watchScheme(data.scheme, parentElement, setTriggerValue);
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
  observer.observe(app, { attributeFilter: ["class", "style"] }); // of its state, which changes with every run, nothing is told
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
