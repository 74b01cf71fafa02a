"""What all mixers share: a sequence goes in at once, or token by token with a state.

`Y, state = mixer.extend(X, state)` reads m more tokens, `(batch, m, d)`, and returns as many outputs. The state is all
that a mixer keeps of what it has read, `None` before the first token. `mixer(X)` reads a whole sequence.
"""

from torch import Tensor, nn

from d2lmini.checks import check_shapes

State = tuple[Tensor, ...]


class Mixer(nn.Module):
    """A layer from `(batch, n, d)` to `(batch, n, d)` that can also go on from a state.

    Chapter: What is kept.

    >>> layer = make_mixers(8)["multi-query attention"]()
    >>> Y, state = layer.extend(torch.zeros(1, 5, 8))
    >>> [tuple(part.shape) for part in state]
    [(1, 1, 5, 2), (1, 1, 5, 2)]
    """

    def __init__(self, d: int) -> None:
        super().__init__()
        self.d = d

    def extend(self, X: Tensor, state: State | None = None) -> tuple[Tensor, State | None]:
        """The outputs of more tokens, `(batch, m, d)`, and what is kept of all tokens so far.

        No token is a chunk, too: its output is `(batch, 0, d)`, and the state stays as it was.

        Raises:
            ValueError: if `X` does not have this shape.
        """
        check_shapes({"d": self.d}, X=(X, "batch m d"))
        return self.read(X, state) if X.shape[1] else (X.clone(), state)

    def read(self, X: Tensor, state: State | None) -> tuple[Tensor, State]:
        """The same for at least one token."""
        raise NotImplementedError

    def forward(self, X: Tensor) -> Tensor:
        """The outputs of a whole sequence, `(batch, n, d)`."""
        return self.extend(X)[0]
