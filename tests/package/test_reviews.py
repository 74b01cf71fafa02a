"""The reader of reviews: what it reads, what it refuses, and that nothing half done is left behind."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import urllib.request
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

import d2lmini as d2l
from d2lmini.reviews import IMDB_SHA256, Reviews, extract_reviews

FILES = {
    f"aclImdb/{split}/{label}/{i}_7.txt": f"{label} {i}"
    for split in ("train", "test")
    for label in ("neg", "pos")
    for i in (0, 1)
}


def make_archive(file: Path, members: dict[str, str | bytes] | None = None, **changes: Any) -> str:
    """An archive, and its checksum; ``changes`` are set on each member."""
    with tarfile.open(file, "w:gz") as tar:
        for name, text in (FILES if members is None else members).items():
            data = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size = len(data)
            for attribute, value in changes.items():
                setattr(member, attribute, value)
            tar.addfile(member, io.BytesIO(data))
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_reviews_come_sorted_with_their_labels(tmp_path: Path) -> None:
    make_archive(tmp_path / "a.tar.gz")
    folder = extract_reviews(tmp_path / "a.tar.gz", tmp_path)
    assert folder == tmp_path / "aclImdb"
    expected = Reviews(["neg 0", "neg 1", "pos 0", "pos 1"], [0, 0, 1, 1], [])
    assert d2l.load_reviews(folder) == d2l.load_reviews(str(folder), "test") == expected


def test_files_that_are_no_text_are_counted_and_left_out(tmp_path: Path) -> None:
    make_archive(tmp_path / "a.tar.gz", FILES | {"aclImdb/train/pos/0_9.txt": b"caf\xe9"})
    folder = extract_reviews(tmp_path / "a.tar.gz", tmp_path)
    with pytest.warns(UserWarning, match=r"1 of 5 files are no UTF-8 text and are left out, the first is .*0_9\.txt"):
        reviews = d2l.load_reviews(folder)
    assert len(reviews.texts) == len(reviews.labels) == 4
    assert reviews.unreadable == [folder / "train" / "pos" / "0_9.txt"]


def test_folders_without_reviews_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="folder must hold train/neg with one review a file, there is no"):
        d2l.load_reviews(tmp_path)
    for label, data in (("neg", b"fine"), ("pos", b"\xff")):
        (tmp_path / "train" / label).mkdir(parents=True)
        (tmp_path / "train" / label / "0.txt").write_bytes(data)
    with pytest.raises(ValueError, match=r"no \*.txt that can be read in .*pos"):
        d2l.load_reviews(tmp_path)


def truncated(file: Path) -> None:
    make_archive(file)
    file.write_bytes(file.read_bytes()[:-60])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (truncated, "is cut off or no archive"),
        (lambda file: file.write_text("a page that says: not found"), "is cut off or no archive"),
        (lambda file: file.write_bytes(b""), "is cut off or no archive"),
        (lambda file: None, "is cut off or no archive.*No such file"),
        (lambda file: make_archive(file, {}), r"must hold aclImdb/train/pos/\*.txt, it holds no such file"),
        (lambda file: make_archive(file, {"other/train/pos/0.txt": ""}), "it holds no such file"),
        (lambda file: make_archive(file, FILES | {"../evil.txt": ""}), "must not point outside.*evil.txt"),
        (lambda file: make_archive(file, FILES | {"aclImdb/../../evil.txt": ""}), "must not point outside.*evil.txt"),
        (
            lambda file: make_archive(file, {"aclImdb/x": ""}, type=tarfile.SYMTYPE, linkname="../../evil.txt"),
            "must not point outside",
        ),
        (
            lambda file: make_archive(file, {"aclImdb/x": ""}, type=tarfile.LNKTYPE, linkname="/etc/hostname"),
            "must not point outside",
        ),
        (lambda file: make_archive(file, {"aclImdb/x": ""}, type=tarfile.FIFOTYPE), "must not point outside"),
    ],
)
def test_bad_archives_are_refused_and_leave_nothing_behind(
    make: Callable[[Path], Any], message: str, tmp_path: Path
) -> None:
    archive, folder = tmp_path / "a.tar.gz", tmp_path / "inside"
    folder.mkdir()
    make(archive)
    with pytest.raises(ValueError, match=message):
        extract_reviews(archive, folder)
    assert list(folder.iterdir()) == [] and {file.name for file in tmp_path.iterdir()} <= {"a.tar.gz", "inside"}


def test_a_folder_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    make_archive(tmp_path / "a.tar.gz")
    extract_reviews(tmp_path / "a.tar.gz", tmp_path)
    with pytest.raises(ValueError, match="must not hold aclImdb yet"):
        extract_reviews(tmp_path / "a.tar.gz", tmp_path)


def test_the_archive_is_downloaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checksum = make_archive(tmp_path / "published.tar.gz")
    address = (tmp_path / "published.tar.gz").as_uri()
    folder = d2l.fetch_imdb(tmp_path / "new" / "data", url=address, sha256=checksum)
    assert len(d2l.load_reviews(folder).texts) == 4
    monkeypatch.setattr(urllib.request, "urlopen", None)  # no transfer from here on
    assert d2l.fetch_imdb(tmp_path / "new" / "data", url=address, sha256=checksum) == folder
    (tmp_path / "by-hand").mkdir()
    (tmp_path / "published.tar.gz").rename(tmp_path / "by-hand" / "aclImdb_v1.tar.gz")
    assert d2l.fetch_imdb(tmp_path / "by-hand", url="https://not.asked", sha256=checksum).is_dir()


def test_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    found = make_archive(tmp_path / "published.tar.gz")
    data = tmp_path / "data"
    with pytest.raises(ValueError, match=f"must have the checksum {IMDB_SHA256}, got {found} from file:"):
        d2l.fetch_imdb(data, url=(tmp_path / "published.tar.gz").as_uri())
    assert list(data.iterdir()) == []


def test_after_a_broken_transfer_it_begins_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checksum = make_archive(tmp_path / "published.tar.gz")
    address, data = (tmp_path / "published.tar.gz").as_uri(), tmp_path / "data"

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 0:
                raise ConnectionResetError("the line went dead")
            return super().read(10)

        def info(self) -> Any:
            return Message()

    with monkeypatch.context() as broken:
        broken.setattr("torch.hub.urlopen", lambda *args, **kwargs: Broken(b"x" * 100))
        with pytest.raises(ConnectionResetError):
            d2l.fetch_imdb(data, url=address, sha256=checksum)
    assert list(data.iterdir()) == []
    (data / "aclImdb_v1.tar.gz").write_bytes(b"the beginning only")  # of a transfer by hand
    assert len(d2l.load_reviews(d2l.fetch_imdb(data, url=address, sha256=checksum), "test").labels) == 4


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+|[.,!?;:]", text.lower())


def pairs_of(reviews: Reviews) -> list[list[int]]:
    same: dict[tuple[str, ...], list[int]] = {}
    for i, text in enumerate(reviews.texts):
        same.setdefault(tuple(sorted(words_of(text))), []).append(i)
    return [group for group in same.values() if len(group) > 1]


@pytest.mark.parametrize(("split", "free", "pairs"), [("train", 180, 70), ("test", 60, 25)])
def test_the_small_reviews_are_what_the_docs_say(split: str, free: int, pairs: int) -> None:
    reviews = d2l.load_reviews(d2l.small_reviews(), split)
    found = pairs_of(reviews)
    assert len(found) == pairs and len(reviews.texts) == free + 2 * pairs
    assert all(sorted(reviews.labels[i] for i in pair) == [0, 1] for pair in found)
    assert 2 * sum(reviews.labels) == len(reviews.labels)
    assert not reviews.unreadable


def test_the_small_reviews_are_all_different_and_none_is_in_both_splits() -> None:
    texts = [text for split in ("train", "test") for text in d2l.load_reviews(d2l.small_reviews(), split).texts]
    assert len({" ".join(words_of(text)) for text in texts}) == len(texts) == 430


def test_the_words_of_the_test_pairs_are_known_from_training() -> None:
    train, test = (d2l.load_reviews(d2l.small_reviews(), split) for split in ("train", "test"))
    known = {word for text in train.texts for word in words_of(text)}
    assert {word for pair in pairs_of(test) for word in words_of(test.texts[pair[0]])} <= known


def test_the_small_reviews_are_named_as_the_large_ones() -> None:
    for file in d2l.small_reviews().glob("*/*/*.txt"):
        rating = re.fullmatch(r"\d+_(\d+)", file.stem)
        assert rating and (int(rating[1]) > 6) == (file.parent.name == "pos")
