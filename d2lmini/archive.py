"""The archive of the published reviews: fetched with limits, and unpacked all or nothing."""

from __future__ import annotations

import gzip
import http.client
import os
import tarfile
import tempfile
import time
import urllib.request
import zlib
from pathlib import Path
from typing import IO

from tqdm import tqdm

__all__ = ["download", "extract_reviews", "holds_reviews"]

FOLDER = "aclImdb"  # the one folder in the archive

_MIB = 2**20
_SILENCE = 30.0  # seconds without a byte, while connecting and while reading
_GRACE = 60.0  # seconds after which a transfer must be faster than this:
_SLOWEST = 4096.0  # bytes per second
_MOST_UNPACKED = 1024 * _MIB  # the reviews take about 300
_MOST_MEMBERS = 200_000  # there are about 100,000 of them


def holds_reviews(folder: Path) -> bool:
    """Whether there is at least one review to train on, of each label."""
    return all(any((folder / "train" / label).glob("*.txt")) for label in ("neg", "pos"))


def download(url: str, file: Path, most: int) -> None:
    """Fetch a file of at most so many bytes, with a progress bar; nothing is left behind if that fails.

    Raises:
        OSError: if the transfer fails, is silent for half a minute, is too slow or too long; the message says what to
            do next.
    """
    try:
        with tempfile.TemporaryDirectory(dir=file.parent) as unfinished:
            part = Path(unfinished) / file.name
            with part.open("wb") as target, urllib.request.urlopen(url, timeout=_SILENCE) as answer:  # noqa: S310
                _copy(answer, target, most)
            os.replace(part, file)
    except (OSError, ValueError, http.client.HTTPException) as error:
        advice = f"Look at the connection and call again, or put the file there yourself, as {str(file)!r}"
        told = f"{type(error).__name__}: {str(error).strip()}"
        raise OSError(f"{url} could not be fetched: {told}. {advice}") from error


def _copy(answer: http.client.HTTPResponse, target: IO[bytes], most: int) -> None:
    begin, done, length = time.monotonic(), 0, answer.headers.get("Content-Length")
    with tqdm(total=int(length) if length else None, unit="B", unit_scale=True, leave=False) as bar:
        while piece := answer.read1(_MIB) if hasattr(answer, "read1") else answer.read(_MIB):
            done += len(piece)
            if done > most:
                raise OSError(f"it is longer than {most} bytes")
            seconds = time.monotonic() - begin
            if seconds > _GRACE and done < _SLOWEST * seconds:
                raise OSError(f"{done} bytes in {seconds:.0f} seconds are too slow")
            target.write(piece)
            bar.update(len(piece))
    if length and done < int(length):
        raise OSError(f"it ended after {done} of {length} bytes")


def extract_reviews(archive: str | Path, folder: str | Path) -> Path:
    """Unpack an archive of reviews, all or nothing.

    Args:
        archive: a `.tar.gz` with `aclImdb/train/pos/*.txt` and so on. It is read to its end, checksum included.
        folder: where to put its folder `aclImdb`.

    Returns:
        The folder `aclImdb`. If another process has made it in the meantime, that one.

    Raises:
        ValueError: if the file is not a complete archive, holds no reviews, holds anything but files and folders or
            more than a gibibyte, or one of its members points outside `folder`; or if there is a folder `aclImdb`.
        OSError: if there is no such file, or the reviews cannot be written.
    """
    target = Path(folder) / FOLDER
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(f"folder must not hold {FOLDER} yet, there is {str(target)!r}: remove it, or use it")
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        _unpack(Path(archive), unfinished)
        inside = Path(unfinished) / FOLDER
        if not holds_reviews(inside):
            missing = f"{FOLDER}/train/pos/*.txt and {FOLDER}/train/neg/*.txt"
            raise ValueError(f"archive {str(archive)!r} must hold {missing}, it holds no such files")
        try:
            os.rename(inside, target)
        except OSError:
            if not holds_reviews(target):  # nobody else was quicker
                raise
    return target


def _unpack(archive: Path, folder: str) -> None:
    """Write the members of an archive into a folder, and read the archive to its last byte."""
    broken = f"archive {str(archive)!r} is cut off, damaged or no archive"
    with archive.open("rb") as opened:
        try:
            with gzip.open(opened) as stream, tarfile.open(fileobj=stream, mode="r:", errorlevel=2) as tar:
                _write_members(tar, folder)
                stream.seek(tar.offset)
                if stream.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
                    raise ValueError(f"{broken}: its end is missing")
                while stream.read(_MIB):  # the checksum is compared at the end of the stream
                    pass
        except tarfile.FilterError as error:
            raise ValueError(f"archive must not point outside of its folder: {error}") from error
        except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, OverflowError, RecursionError) as error:
            raise ValueError(f"{broken}: {str(error).partition(chr(10))[0]}") from error


def _write_members(tar: tarfile.TarFile, folder: str) -> None:
    size = 0
    for count, member in enumerate(tar, start=1):
        if not member.isfile() and not member.isdir():
            raise ValueError(f"archive must hold files and folders only, {member.name!r} is something else")
        size += member.size
        if size > _MOST_UNPACKED or count > _MOST_MEMBERS:
            raise ValueError(
                f"archive must hold at most {_MOST_UNPACKED} bytes in {_MOST_MEMBERS} files, it holds more"
            )
        tar.extract(member, folder, filter="data")
