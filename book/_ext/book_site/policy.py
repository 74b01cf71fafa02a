"""What a page may load and run: its own files, and of the scripts written into it those that the build wrote."""

import base64
import hashlib
import re

INLINE = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)
# Styles are written into elements by formulas, tables and the panels one can touch; a style runs nothing.
RULES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "base-uri": "'self'",
    "form-action": "'self'",
}
META = '<meta http-equiv="Content-Security-Policy" content="{}">'


def write_policy(html: str) -> str:
    """The policy of a page: its scripts by their digests, and no `unsafe-inline` or `unsafe-eval` for any other."""
    digests = {
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in INLINE.findall(html)
    }
    rules = RULES | {"script-src": " ".join([RULES["script-src"], *sorted(digests)])}
    return "; ".join(f"{name} {sources}" for name, sources in rules.items())


def add_policy(html: str) -> str:
    """Write the policy of a page into its head, before anything that it speaks of."""
    if "Content-Security-Policy" in html:
        return html
    return html.replace("<head>", f"<head>\n{META.format(write_policy(html))}", 1)
