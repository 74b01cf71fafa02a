"""Labelled reviews, in the folder layout of the published IMDB reviews: our own, and functions to read those."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import NamedTuple

from d2lmini.archive import FOLDER, download, extract_reviews, holds_reviews

__all__ = ["IMDB_SHA256", "IMDB_URL", "Reviews", "fetch_imdb", "load_reviews", "small_reviews"]

IMDB_URL = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"
IMDB_SHA256 = "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe"

_IMDB_BYTES = 84_125_825
_LABELS = ("neg", "pos")  # label 0, label 1


class Reviews(NamedTuple):
    """What `load_reviews` returns.

    Attributes:
        texts: the reviews.
        labels: for each review 1 if it is positive, 0 if it is negative.
        unreadable: files that cannot be read, or are not UTF-8 text; they are left out.
    """

    texts: list[str]
    labels: list[int]
    unreadable: list[Path]


def small_reviews() -> Path:
    """The folder of the short reviews of invented films that come with this package, for `load_reviews`.

    They were written for this book: `train` has 420 reviews and 74 order pairs, `test` has 120 and 50. An order pair is
    two reviews, one positive and one negative, made of the same words and punctuation in a different order. In half of
    the pairs of each folder the last opinion word has the sign of the verdict, in the other half the opposite sign;
    `opinion_words.txt` beside the two folders lists these words, each after its sign.

    Chapter: Reading reviews.
    """
    return Path(__file__).parent / "reviews"


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


def fetch_imdb(folder: str | Path = "data", *, url: str = IMDB_URL, sha256: str = IMDB_SHA256) -> Path:
    """The IMDB reviews of Maas et al. (2011), https://aclanthology.org/P11-1015: 84 MB, downloaded once.

    Whatever is there already is used: the folder `aclImdb`, or the archive with the right checksum. An interrupted
    transfer leaves nothing behind, and the next call starts again.

    Chapter: Reading reviews.

    Args:
        folder: where to put the archive and the folder `aclImdb`.
        url: address of the archive.
        sha256: checksum of the archive, in hexadecimal digits.

    Returns:
        The folder `aclImdb`, for `load_reviews`.

    Raises:
        ValueError: if the archive has the wrong checksum or is refused for what it holds, or there is a folder
            `aclImdb` without reviews in it.
        OSError: if the transfer fails, stalls, or is longer than the published archive; the message says what to do.
    """
    folder = Path(folder)
    if holds_reviews(folder / FOLDER):
        return folder / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / "aclImdb_v1.tar.gz"
    if not archive.is_file() or _sha256(archive) != sha256:
        download(url, archive, most=_IMDB_BYTES)
        if (found := _sha256(archive)) != sha256:
            archive.unlink()
            raise ValueError(f"the archive must have the checksum {sha256}, got {found} from {url}: try again")
    return extract_reviews(archive, folder)


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
