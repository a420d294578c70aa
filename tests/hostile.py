"""Strings that somebody might type, or put into a link or a file, to have a page run, load or break something.

Each payload sets window.__pwned where it is run, and names evil.example where it is loaded. None holds a space, so
that each is one token of the tokenizer "spaces".
"""

RUN = "window.__pwned=1"
SCRIPTS = (
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"<img/src='x'/onerror={RUN}>",
    f"<svg/onload={RUN}>",
    f"<svg><animate/attributeName='x'/onbegin={RUN}>",
    f"<a/href=javascript:{RUN}>x</a>",
    f"<iframe/srcdoc='<script>parent.{RUN}</script>'>",
    f"<details/open/ontoggle={RUN}>",
    f'"onmouseover="{RUN}',
    f"'-({RUN})-'",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"&#x3c;script>{RUN}</script>",
    f"${{{RUN}}}",
    f"{{{{{RUN}}}}}",
)
LINKS = (
    f"javascript:{RUN}",
    f"[x](javascript:{RUN})",
    f"$\\href{{javascript:{RUN}}}{{x}}$",
    "![x](https://evil.example/x.png)",
    "<https://evil.example/>",
    "https://evil.example/x",
    "<link/rel=stylesheet/href=//evil.example/x.css>",
    "<style>@import'//evil.example/x.css';</style>",
    "../../../../etc/passwd",
)
MARKUP = (
    "$x$",
    "$$\\frac12$$",
    "\\(x\\)",
    "**a**",
    "`b`",
    "~~c~~",
    ":red[d]",
    ":material/home:",
    ":smile:",
    "#e",
    "|f|g|",
    "->",
    "<!--",
    "]]>",
    "</s>",
    "<b>",
    "&amp;",
    "%{z}",
    "#000001",
    "%s%n",
    "{0.__class__}",
    "{n}",
    "\\",
    "\\N{BULLET}",
    '"""',
    "'''",
    "=cmd|'/c'!A1",
)
LETTERS = (
    "\u202egnp.exe",  # a direction override
    "\u2066x\u2069",
    "\ufeff",
    "\u200b",
    "a" + "\u0301" * 40,  # a pile of accents
    "\U000e0041",  # a tag character
    "\ufdd0",  # no character at all
    "مرحبا",
    "👩‍👩‍👧‍👦",
    "a\x00b",  # no link carries NUL: it becomes U+FFFD, and the page says so
    "a\x1bb",
    "W" * 500,
)
HOSTILE = SCRIPTS + LINKS + MARKUP + LETTERS
