"""Bodies are unpacked in small pieces, or refused."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator

import pytest

from tests.web.hostile_bodies import MIB, zeros_gzip
from wildenv.web.net.decoding import PIECE, BadEncoding, Unfinished, unpacked

DATA = b"".join(b"line %d of a body that packs well, but not too well\n" % number for number in range(9000))


def in_chunks(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def raw(data: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "not": ("", bytes),
    "identity": ("identity", bytes),
    "gzip": ("gzip", gzip.compress),
    "x-gzip": (" X-GZip ", gzip.compress),
    "two members": ("gzip", lambda data: gzip.compress(data[:1000]) + gzip.compress(data[1000:])),
    "junk behind": ("gzip", lambda data: gzip.compress(data) + b"junk"),
    "stored": ("gzip", lambda data: gzip.compress(data, 0)),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw),
}


@pytest.mark.parametrize("size", [1, 7, 1000, 10**6])
@pytest.mark.parametrize("packer", PACKERS)
def test_what_was_packed_comes_back_whatever_its_chunks(packer: str, size: int) -> None:
    coding, pack = PACKERS[packer]
    data = DATA if size > 1 else DATA[:3000]
    assert b"".join(unpacked(in_chunks(pack(data), size), coding)) == data


def test_an_empty_body_is_empty_however_it_is_said_to_be_packed() -> None:
    for coding in ("", "gzip", "deflate"):
        assert list(unpacked([], coding)) == []


@pytest.mark.parametrize("packer", ["gzip", "deflate", "raw deflate"])
@pytest.mark.parametrize("cut", [1, 5, 100, -1, -9])
def test_a_body_cut_short_is_not_taken_for_a_whole_one(packer: str, cut: int) -> None:
    coding, pack = PACKERS[packer]
    with pytest.raises(Unfinished):
        list(unpacked(in_chunks(pack(DATA)[:cut], 64), coding))


@pytest.mark.parametrize("coding", ["br", "zstd", "compress", "gzip, gzip", "gzip, br", "nonsense"])
def test_other_packings_are_refused(coding: str) -> None:
    with pytest.raises(BadEncoding, match="was not asked for"):
        unpacked([b"abc"], coding)


def test_damage_is_found() -> None:
    packed = bytearray(gzip.compress(DATA))
    packed[-6] ^= 1
    with pytest.raises(BadEncoding):
        list(unpacked([bytes(packed)], "gzip"))
    with pytest.raises(BadEncoding):
        list(unpacked([b"<html>no</html>"], "gzip"))


def test_a_bomb_comes_out_in_small_pieces_and_only_as_far_as_one_reads() -> None:
    bomb = zeros_gzip(64 * MIB)
    assert len(bomb) < 100_000
    largest = out = 0
    for piece in unpacked([bomb], "gzip"):
        largest = max(largest, len(piece))
        out += len(piece)
    assert out == 64 * MIB
    assert largest <= PIECE
    pieces = unpacked([bomb], "gzip")
    assert len(next(iter(pieces))) <= PIECE
