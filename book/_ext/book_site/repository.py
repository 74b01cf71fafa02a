"""What a reader can do with a page where the repository is named: mend its text, or say what is wrong with it."""

from typing import Any
from urllib.parse import quote

from sphinx.application import Sphinx

from .description import REPOSITORY


def offer_buttons(app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any) -> None:
    """Add one menu: the theme knows neither the text that a notebook is made from, nor an icon that the site ships."""
    options = app.config.html_theme_options
    url = options.get("repository_url", "")
    if page not in app.env.found_docs or "/OWNER/" in url:
        return
    buttons = [("Repository", "fa-code-branch", url)]
    if REPOSITORY.fullmatch(url):
        text = f"{options.get('repository_branch') or 'main'}/book/{page.rpartition('/')[2]}.md"
        title = quote(f"{app.env.titles[page].astext()}: ")
        buttons.append(("Edit this page", "fa-pencil-alt", f"{url}/edit/{text}"))
        buttons.append(("Report a problem", "fa-lightbulb", f"{url}/issues/new?title={title}"))
    links = [{"type": "link", "text": text, "icon": f"fas {icon}", "url": address} for text, icon, address in buttons]
    menu = {"type": "group", "tooltip": "Repository", "icon": "fas fa-code-branch", "label": "source-buttons"}
    context["header_buttons"].append(menu | {"buttons": links})
