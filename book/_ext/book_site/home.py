"""The title page is index.html, wherever its text lies: a bare address has a title, a preview and the game."""

from pathlib import Path

from sphinx.builders.html import StandaloneHTMLBuilder

HOME = "index.html"


class Site(StandaloneHTMLBuilder):
    """Sphinx's pages, of which the first lies at the root."""

    def get_target_uri(self, docname: str, typ: str | None = None) -> str:
        """Where a page is, from the root."""
        return HOME if docname == self.config.root_doc else super().get_target_uri(docname, typ)

    def get_outfilename(self, pagename: str) -> str:
        """The file of a page."""
        return str(Path(self.outdir) / HOME) if pagename == self.config.root_doc else super().get_outfilename(pagename)
