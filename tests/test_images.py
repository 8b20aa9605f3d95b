from __future__ import annotations

import io
import random
import struct
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.fakes import draw
from wildenv.errors import ConfigError, DataError, ToolError
from wildenv.images import MAX_SOURCE_PIXELS, Gallery, ImageRecord, ImageStore, PixelPolicy, decode, digest_of, encode

POLICY = PixelPolicy()


def _bytes(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format=form, **options)
    return buffer.getvalue()


def _png_header(width: int, height: int) -> bytes:
    """Returns a PNG that announces a size and holds almost nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")


def test_a_picture_of_224_pixels_is_shown_in_112() -> None:
    assert POLICY.size(224, 224) == (112, 112)
    assert POLICY.fit(Image.new("RGB", (224, 224))).size == (112, 112)


@pytest.mark.parametrize("policy", [POLICY, PixelPolicy(784, 28), PixelPolicy(1_000_000, 32), PixelPolicy(100, 1)])
def test_the_pixel_policy_is_idempotent_and_keeps_its_bounds(policy: PixelPolicy) -> None:
    draw_side = random.Random(0)
    sides = [(1, 1), (1, 50_000), (50_000, 1), (8000, 8000), (27, 29), (112, 112)]
    sides += [(draw_side.randint(1, 3000), draw_side.randint(1, 3000)) for _ in range(500)]
    for width, height in sides:
        fitted = policy.size(width, height)
        assert policy.size(*fitted) == fitted
        assert fitted[0] % policy.multiple == 0 == fitted[1] % policy.multiple
        assert 0 < fitted[0] * fitted[1] <= policy.max_pixels


def test_fitting_a_picture_that_fits_returns_it() -> None:
    image = Image.new("RGB", (112, 112))
    assert POLICY.fit(image) is image


@pytest.mark.parametrize(("pixels", "multiple"), [(783, 28), (10, 0), (0, 1)])
def test_a_pixel_policy_without_room_is_refused(pixels: int, multiple: int) -> None:
    with pytest.raises(ConfigError, match="max_pixels"):
        PixelPolicy(pixels, multiple)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
def test_common_formats_are_decoded_to_rgb(form: str) -> None:
    image = decode(_bytes(Image.new("RGB", (20, 10), (200, 30, 30)), form))
    assert (image.mode, image.size) == ("RGB", (20, 10))
    assert np.abs(np.asarray(image, int) - (200, 30, 30)).max() < 12


def test_colour_models_and_depths_end_up_as_they_look() -> None:
    red = (254, 0, 0)
    assert np.abs(np.asarray(decode(_bytes(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG")), int) - red).max() < 12
    palette = Image.new("P", (8, 8), 1)
    palette.putpalette([0, 0, 0, *red])
    assert decode(_bytes(palette)).getpixel((0, 0)) == red
    assert decode(_bytes(palette, transparency=1)).getpixel((0, 0)) == (255, 255, 255)
    assert decode(_bytes(Image.new("RGBA", (8, 8), (0, 0, 0, 0)))).getpixel((0, 0)) == (255, 255, 255)
    assert decode(_bytes(Image.new("RGBA", (8, 8), (0, 0, 0, 51)))).getpixel((0, 0)) == (204, 204, 204)
    assert decode(_bytes(Image.new("LA", (8, 8), (7, 255)))).getpixel((0, 0)) == (7, 7, 7)
    assert decode(_bytes(Image.new("1", (8, 8), 1))).getpixel((0, 0)) == (255, 255, 255)
    deep = Image.fromarray(np.full((8, 8), 32_896, np.uint16))
    assert decode(_bytes(deep)).getpixel((0, 0)) == (128, 128, 128)
    assert decode(_bytes(Image.new("F", (8, 8), 64.0), "TIFF")).getpixel((0, 0)) == (64, 64, 64)


def test_a_turned_photograph_is_put_upright() -> None:
    image = Image.new("RGB", (40, 20), "white")
    image.paste("red", (0, 0, 20, 20))
    exif = Image.Exif()
    exif[0x0112] = 6
    upright = decode(_bytes(image, exif=exif))
    assert upright.size == (20, 40)
    assert upright.getpixel((10, 5)) == (255, 0, 0)
    assert upright.getpixel((10, 35)) == (255, 255, 255)


def test_an_animation_gives_its_first_frame() -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    assert decode(_bytes(frames[0], "GIF", save_all=True, append_images=frames[1:])).getpixel((0, 0)) == (255, 0, 0)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<!doctype html><title>404</title>",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n",
        draw("teal")[:200],
        draw("teal", form="JPEG")[:400],
        _png_header(100, 100),
        _png_header(8_001, 8_000),
        _png_header(60_000, 60_000),
    ],
)
def test_what_is_no_whole_picture_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match="picture"):
        decode(data)


def test_the_refusal_is_the_same_every_time() -> None:
    def refusal() -> str:
        with pytest.raises(DataError) as error:
            decode(b"<html>")
        return str(error.value)

    assert refusal() == refusal()
    assert "0x" not in refusal()


def test_a_bomb_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(DataError, match=f"larger than {MAX_SOURCE_PIXELS}"):
        decode(_png_header(8_100, 8_000))


def test_hostile_bytes_raise_nothing_but_data_error() -> None:
    chance = random.Random(1)
    whole = [draw("teal", (32, 32)), draw("red", (32, 32), "JPEG"), draw("red", (32, 32), "GIF"), draw("red", (32, 32), "WEBP")]
    whole.append(draw("red", (32, 32), "TIFF"))
    refused = 0
    for number in range(400):
        data = bytearray(whole[number % len(whole)])
        for _ in range(chance.randint(1, 12)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            decode(bytes(data))
        except DataError:
            refused += 1
    assert refused > 50


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ImageStore:
    return ImageStore() if request.param == "memory" else ImageStore(tmp_path)


def test_a_store_returns_what_was_put_into_it(store: ImageStore) -> None:
    image = decode(draw("teal"))
    digest = store.put(image)
    assert digest == digest_of(encode(image)) == store.put(image)
    assert digest in store
    assert np.array_equal(np.asarray(store.get(digest)), np.asarray(image))
    assert "0" * 64 not in store
    with pytest.raises(DataError, match="000000000000"):
        store.png("0" * 64)


def test_paths_come_from_digests_only(tmp_path: Path) -> None:
    store = ImageStore(tmp_path)
    digest = store.put(decode(draw("teal")))
    assert store.path(digest) == tmp_path / digest[:2] / f"{digest}.png"
    for wrong in ("../../secret", digest[:63], digest.upper(), f"{digest}/x"):
        with pytest.raises(DataError, match="not a picture digest"):
            store.path(wrong)
    with pytest.raises(ConfigError, match="temporary"):
        ImageStore().path(digest)


def test_a_damaged_file_is_noticed(tmp_path: Path) -> None:
    store = ImageStore(tmp_path)
    digest = store.put(decode(draw("teal")))
    store.path(digest).write_bytes(store.png(digest)[:100])
    with pytest.raises(DataError):
        store.get(digest)


def test_many_threads_write_the_same_pictures_into_one_folder(tmp_path: Path) -> None:
    images = [Image.new("RGB", (30, 30), (i * 20, 0, 0)) for i in range(6)]
    stores = [ImageStore(tmp_path) for _ in range(8)]
    digests: list[list[str]] = [[] for _ in stores]
    start = threading.Barrier(len(stores))

    def write(number: int) -> None:
        start.wait()
        digests[number] = [stores[number].put(image) for image in images]

    threads = [threading.Thread(target=write, args=(number,)) for number in range(len(stores))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(row == digests[0] for row in digests)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(path.stem for path in files) == sorted(digests[0])
    assert all(digest_of(path.read_bytes()) == path.stem for path in files)


def _gallery(width: int = 400, height: int = 200) -> Gallery:
    gallery = Gallery(ImageStore(), POLICY)
    gallery.add(decode(draw("teal", (width, height))), url="u1", page="p1", title="t1")
    return gallery


def test_ids_count_on_and_known_pixels_keep_their_id() -> None:
    gallery = _gallery()
    second = gallery.add(decode(draw("red")), url="u2", page="p2", title="t2")
    again = gallery.add(decode(draw("teal", (400, 200))), url="u3", page="p3", title="t3")
    assert [record.id for record in gallery] == ["IMG_001", "IMG_002"]
    assert second.id == "IMG_002"
    assert again == gallery.record("IMG_001") == gallery.at("u1") == gallery.at("u3")
    assert gallery.at("u4") is None
    assert [record.id for record in gallery.since(1)] == ["IMG_002"]
    with pytest.raises(ToolError, match="no image 'IMG_009'; images so far: IMG_001 to IMG_002"):
        gallery.record("IMG_009")


def test_what_is_shown_is_a_copy_of_the_fitted_picture() -> None:
    gallery = _gallery()
    shown = gallery.shown("IMG_001")
    assert shown.dtype == np.uint8
    assert shown.shape == (*reversed(gallery.shown_size("IMG_001")), 3)
    assert gallery.shown_size("IMG_001") == POLICY.size(400, 200)
    shown[:] = 0
    assert gallery.shown("IMG_001").any()
    record = gallery.record("IMG_001")
    assert record.digest != record.source
    assert record.size == (400, 200) == gallery.store.get(record.source).size


def test_a_crop_is_cut_from_the_pixels_that_were_downloaded() -> None:
    gallery = _gallery()
    crop = gallery.crop("IMG_001", (250, 0, 750, 500))
    assert (crop.id, crop.parent, crop.box, crop.size) == ("IMG_002", "IMG_001", (250, 0, 750, 500), (200, 100))
    assert (crop.url, crop.page, crop.title) == ("u1", "p1", "t1")
    whole = np.asarray(gallery.store.get(gallery.record("IMG_001").source))
    assert np.array_equal(np.asarray(gallery.store.get(crop.source)), whole[:100, 100:300])


def test_a_crop_of_a_picture_does_not_stand_for_a_download() -> None:
    gallery = _gallery()
    crop = gallery.crop("IMG_001", (0, 0, 500, 1000))
    added = gallery.add(gallery.store.get(crop.source), url="u2", page="p2", title="t2")
    assert (added.id, added.parent) == ("IMG_003", None)


def test_the_lineage_of_nested_crops_leads_to_the_download() -> None:
    gallery = _gallery(1000, 1000)
    gallery.crop("IMG_001", (100, 200, 500, 600))
    gallery.crop("IMG_002", (250, 500, 750, 1000))
    gallery.crop("IMG_003", (0, 0, 333, 333))
    assert gallery.lineage("IMG_001") == (gallery.record("IMG_001"), (0, 0, 1000, 1000))
    assert gallery.lineage("IMG_002")[1] == (100, 200, 500, 600)
    assert gallery.lineage("IMG_003")[1] == (200, 400, 400, 600)
    assert gallery.lineage("IMG_004") == (gallery.record("IMG_001"), (200, 400, 267, 467))


def test_the_lineage_of_a_tiny_crop_is_not_empty() -> None:
    gallery = _gallery(20_000, 20)
    image_id = "IMG_001"
    for _ in range(3):
        image_id = gallery.crop(image_id, (0, 0, 100, 1000)).id
    assert gallery.lineage(gallery.crop(image_id, (0, 0, 400, 1000)).id)[1] == (0, 0, 1, 1000)


@pytest.mark.parametrize(
    ("box", "says"),
    [
        ((-1, 0, 500, 500), "within 0 to 1000"),
        ((0, 0, 1001, 500), "within 0 to 1000"),
        ((500, 0, 500, 500), "within 0 to 1000"),
        ((0, 600, 500, 500), "within 0 to 1000"),
        ((0, 0, 17, 1000), "less than 8 pixels"),
        ((0, 0, 1000, 30), "less than 8 pixels"),
    ],
)
def test_a_box_that_makes_no_sense_is_refused(box: tuple[int, int, int, int], says: str) -> None:
    gallery = _gallery()
    with pytest.raises(ToolError, match=says):
        gallery.crop("IMG_001", box)
    assert len(gallery) == 1


def test_a_record_is_read_back_as_it_was() -> None:
    gallery = _gallery()
    gallery.crop("IMG_001", (0, 0, 500, 500))
    for record in gallery:
        assert ImageRecord.from_dict(record.to_dict()) == record
