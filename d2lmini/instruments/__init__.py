"""An older name of `d2lmini.costs` and `d2lmini.mixers`, for one edition more."""

import importlib
import sys
import warnings

_MOVED = {"costs": "costs.counting", "layers": "mixers.layers", "mixers": "mixers", "recall": "mixers.recall"}
_MOVED |= {name: f"costs.{name}" for name in ("growth", "memory", "receptive_field", "traffic")}

warnings.warn("d2lmini.instruments has become d2lmini.costs and d2lmini.mixers", DeprecationWarning, stacklevel=2)
for _old, _new in _MOVED.items():
    sys.modules[f"{__name__}.{_old}"] = importlib.import_module(f"d2lmini.{_new}")
