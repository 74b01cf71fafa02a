"""What Jupyter Book and its theme do not do by themselves, a module for each concern; `hooks` says when."""
