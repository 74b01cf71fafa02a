"""What several heads, each a fixed mixture, leave of what is asked."""

from typing import Any

import torch
from torch import Tensor

from d2lmini_exercises.engine import Case, Number, WrongAnswer, exercise, prediction, read_number

_EQUAL = "here one mixture follows from the others, or a word never varies: a pseudo-inverse bears that. Does your way?"
_SMALL = "what is too small to count in your code? No mixture follows from the others here: a limit has to be relative"
_NEARLY = "nearly: were numbers drawn, or was something added before a matrix was inverted? C itself needs neither"
_ONE, _TWO = [[0.5, 0.3, 0.2]], [[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]
_PLAIN = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
_UNEVEN = [[1.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 9.0]]
_RELATED = [[2.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 1.5]]
_FOUR = [[2.0, 0.5, 0.0, 1.0], [0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, -1.0], [1.0, 0.0, -1.0, 4.0]]


def explain(A: Tensor, C: Tensor) -> Tensor:
    """The covariance of the best read-outs."""
    return C @ A.T @ torch.linalg.pinv(A @ C @ A.T) @ A @ C


def project(A: Tensor) -> Tensor:
    return A.T @ torch.linalg.pinv(A @ A.T) @ A


def measure(
    weights: Tensor,
    covariance: Tensor,
    *,
    explain: Any = explain,
    relate: Any = lambda left, C: left.trace() / C.trace(),
) -> Tensor:
    """The relative error of the best linear read-out of all words from all heads, right unless told otherwise."""
    A, C = weights.double(), covariance.double()
    return relate(C - explain(A, C), C)


def use_measure(answer: Any, weights: Tensor, covariance: Tensor) -> Any:
    """The error, unless a matrix has no inverse, or something is left in it that C does not have."""
    claim = "it is the relative squared error of the best linear read-out"
    try:
        found = read_number(answer(weights, covariance))
    except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
        raise WrongAnswer(claim, _EQUAL, got="a singular matrix") from error
    if 1.5e-3 < abs(found - float(measure(weights, covariance))) < 0.01:
        raise WrongAnswer(claim, _NEARLY, got=found)
    return found


def written(weights: Any, covariance: Any, hint: str = "") -> Case:
    return Case(f"weights = torch.tensor({weights}); covariance = torch.tensor({covariance})", hint, tolerance=1e-3)


exercise(
    "measure-heads",
    measure,
    (
        written(_TWO, _RELATED),
        written(_ONE, _PLAIN),
        written(_TWO, _UNEVEN),
        written([[0.1, 0.2, 0.3, 0.4], [0.4, 0.4, 0.1, 0.1], [0.7, 0.1, 0.1, 0.1]], _FOUR),
        written(_PLAIN, _RELATED),
        written([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.5, 0.25]], _RELATED, _EQUAL),
        written(_ONE * 2, _UNEVEN, _EQUAL),
        written([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]], _EQUAL),
        # heads that are nearly the same, and words that hardly vary
        written([[0.5, 0.5], [0.52, 0.48]], [[1.0, 0.0], [0.0, 1.0]], _SMALL),
        written([[0.5, 0.5], [0.2, 0.8]], [[1e-9, 0.0], [0.0, 2e-9]], _SMALL),
    ),
    {
        "relative to what? Divide by the sum of all variances": {"relate": lambda left, C: left.trace()},
        "relative to what? You return the mean squared error of a word": {
            "relate": lambda left, C: left.trace() / len(C)
        },
        "squared error is asked for: you took a root": {
            "relate": lambda left, C: (left.trace() / C.trace()).clamp(min=0).sqrt()
        },
        "that is the part that is explained: what is left?": {"relate": lambda left, C: 1 - left.trace() / C.trace()},
        "one mixture per head: do not average the heads first": lambda A, C: measure(A.mean(0, keepdim=True), C),
        "the trace is asked for: errors of different words do not cancel": {
            "relate": lambda left, C: left.sum() / C.sum()
        },
        "related words tell something about each other: where is the rest of the covariance?": lambda A, C: measure(
            A, C.diagonal().diag()
        ),
        "that is right for unrelated words of equal variance: where is the covariance?": lambda A, C: (
            1 - project(A).trace() / len(C)
        ),
        "that needs the covariance on both sides: the best factors depend on it": {
            "explain": lambda A, C: project(A) @ C
        },
        "add up the errors of all words, and then divide: no mean of ratios": {
            "relate": lambda left, C: (left.diagonal() / C.diagonal()).mean()
        },
        "that is the first word alone: all of them are asked for": {"relate": lambda left, C: left[0, 0] / C[0, 0]},
        "E[u u] is a matrix: the mixtures of two heads are related, too": {
            "explain": lambda A, C: C @ A.T / (A @ C @ A.T).diagonal() @ A @ C
        },
        "divide by the number of heads? The best read-out uses them together": lambda A, C: measure(A, C) / len(A),
    },
    claim="it is the relative squared error of the best linear read-out",
    verified="right for one to three heads, of related, uneven and silent words, and for two heads that are the same",
    hint="write the error of one word as in (3.4): what are E[v u] and E[u u] now?",
    use=use_measure,
)


prediction(
    "use-heads",
    {
        Number(
            "the error of one head",
            2 / 3,
            "choose any weights for one head, and the identity as the covariance",
            tolerance=0.005,
        ): {
            "with two words it is one half. Here there are three": 0.5,
            "that is what is explained: what is left?": 1 / 3,
            "one head returns one number: can three be read from it?": 0.0,
        },
        Number(
            "the error of two heads",
            1 / 3,
            "two heads that are no multiples of each other, and the identity as the covariance",
            tolerance=0.005,
        ): {
            "that is what is explained: what is left? Or are the two heads the same?": 2 / 3,
            "two heads return two numbers: can three be read from them?": 0.0,
            "the second head answers a whole word more, not half of what is left": 0.5,
        },
        Number(
            "the error of three heads",
            0.0,
            "three heads, none of which is a mixture of the others: the mixtures can be solved for the words",
            tolerance=0.005,
        ): {
            "that is what is explained: what is left?": 1.0,
            "is one of your three heads a mixture of the others?": 1 / 3,
            "are your three heads the same?": 2 / 3,
        },
        Number(
            "the least error of one head for related words",
            1 / 3,
            "all three words have something in common: with which weights does one head read that?",
            tolerance=0.005,
        ): {
            "that is a head that looks at a single word: what do the others add?": 0.5,
            "that is a head on two of the words: what does the third one add?": 7 / 18,
            "that is without the correlation": 2 / 3,
            "one head cannot tell everything: try equal weights": 0.0,
            "those weights have the wrong signs: the words rise and fall together": 5 / 6,
        },
    },
    right="each new head answers one word of three, and one head is enough for what all words have in common",
)
