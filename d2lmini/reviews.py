"""Labelled reviews, in the folder layout of the published IMDB reviews: our own, and functions to read those."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import tempfile
import warnings
import zlib
from pathlib import Path
from typing import NamedTuple

import torch

__all__ = ["IMDB_SHA256", "IMDB_URL", "Reviews", "extract_reviews", "fetch_imdb", "load_reviews", "small_reviews"]

IMDB_URL = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"
IMDB_SHA256 = "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe"

_FOLDER = "aclImdb"  # the one folder in the archive
_LABELS = ("neg", "pos")  # label 0, label 1


class Reviews(NamedTuple):
    """What `load_reviews` returns.

    Attributes:
        texts: the reviews.
        labels: for each review 1 if it is positive, 0 if it is negative.
        unreadable: files that are not UTF-8 text; they are left out.
    """

    texts: list[str]
    labels: list[int]
    unreadable: list[Path]


def small_reviews() -> Path:
    """The folder of the short reviews of invented films that come with this package, for `load_reviews`.

    They were written for this book: `train` has 180 reviews and 70 order pairs, `test` has 60 and 25. An order pair is
    two reviews, one positive and one negative, made of the same words and punctuation in a different order.

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
            except UnicodeDecodeError:
                unreadable.append(file)
        if len(texts) == before:
            raise ValueError(f"folder must hold reviews, there is no *.txt that can be read in {str(inside)!r}")
    if unreadable:
        of = len(texts) + len(unreadable)
        message = f"{len(unreadable)} of {of} files are no UTF-8 text and are left out, the first is {unreadable[0]}"
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
        ValueError: if the downloaded archive has the wrong checksum, or `extract_reviews` refuses it.
        OSError: if the transfer fails.
    """
    folder = Path(folder)
    if (folder / _FOLDER).is_dir():
        return folder / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / "aclImdb_v1.tar.gz"
    if not archive.is_file() or _sha256(archive) != sha256:
        torch.hub.download_url_to_file(url, str(archive))
        if (found := _sha256(archive)) != sha256:
            archive.unlink()
            raise ValueError(f"the archive must have the checksum {sha256}, got {found} from {url}: try again")
    return extract_reviews(archive, folder)


def extract_reviews(archive: str | Path, folder: str | Path) -> Path:
    """Unpack an archive of reviews, all or nothing.

    Args:
        archive: a `.tar.gz` with `aclImdb/train/pos/*.txt` and so on.
        folder: where to put its folder `aclImdb`.

    Returns:
        The folder `aclImdb`.

    Raises:
        ValueError: if the file is not an archive, is cut off or holds no such folder, or one of its members points
            outside `folder`; or if there is already a folder `aclImdb`.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    target = Path(folder) / _FOLDER
    if target.exists():
        raise ValueError(f"folder must not hold {_FOLDER} yet, there is {str(target)!r}")
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        try:
            with tarfile.open(archive) as tar:
                tar.extractall(unfinished, filter="data")
        except tarfile.FilterError as error:
            raise ValueError(f"archive must not point outside of its folder: {error}") from error
        except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
            raise ValueError(f"archive {str(archive)!r} is cut off or no archive: {error}") from error
        inside = Path(unfinished) / _FOLDER
        if not any(inside.glob("*/*/*.txt")):
            raise ValueError(f"archive {str(archive)!r} must hold {_FOLDER}/train/pos/*.txt, it holds no such file")
        shutil.move(inside, target)
    return target


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
