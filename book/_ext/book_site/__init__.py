"""What Jupyter Book and its theme do not do by themselves, a module for each concern; `_config.yml` loads them all."""

from importlib import import_module

from sphinx.application import Sphinx

PARTS = (
    "theme",
    "description",
    "folds",
    "predictions",
    "frameworks",
    "formulas",
    "references",
    "search",
    "cards",
    "figures",
    "fonts",
    "languages",
    "report",
    "package",
    "weight",
    "styles",
    "policy",
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Load the parts."""
    for part in PARTS:
        import_module(f"{__name__}.{part}").setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
