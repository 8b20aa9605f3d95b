from __future__ import annotations

import random
import time

from wildenv.web.passages import PASSAGE_CHARS, best_passages, deal_passages, words_of


def _bare(text: str) -> str:
    return "".join(text.split())


def test_no_character_is_lost_or_repeated() -> None:
    chance = random.Random(1)
    paragraphs = []
    for i in range(80):
        sentences = [
            " ".join(chance.choices(["teal", "orange", "star", "x" * 700], [9, 9, 9, 1], k=chance.randint(1, 40)))
            for _ in range(5)
        ]
        paragraphs.append(f"{i} " + ". ".join(sentences) + ("。句子。" * chance.randint(0, 100)))
    parts = deal_passages("\n\n".join(paragraphs), "orange star", 1_200)
    passages = [passage for part in parts for passage in part]
    assert all(len(passage) <= PASSAGE_CHARS for passage in passages)
    assert all(sum(map(len, part)) <= 1_200 for part in parts)
    assert sorted(_bare("".join(passages))) == sorted(_bare("".join(paragraphs)))


def test_a_part_is_filled_with_what_still_fits() -> None:
    parts = deal_passages("star star star\n\nstar and some more words\n\nteal", "star", 20)
    assert parts == [["star star star", "teal"], ["star and some more words"]]


def test_the_best_are_the_first_part() -> None:
    text = "one\n\ntwo star\n\nthree"
    assert best_passages(text, "star", 8) == (["two star"], 2)
    assert best_passages(text, "star", 100) == (["one", "two star", "three"], 0)
    assert best_passages(" \n\n ", "star", 8) == ([], 0)


def test_languages_without_spaces_are_compared_by_pairs_of_characters() -> None:
    assert words_of("Teal灯籠の色 42_x") == ["teal", "灯籠", "籠の", "の色", "42_x"]
    text = "会場は寒かった。\n\n新しい灯籠の色は青緑です。\n\n多くの人が来た。"
    assert best_passages(text, "灯籠は何色", 20)[0] == ["新しい灯籠の色は青緑です。"]
    assert best_passages("首页\n\n港口的灯笼是蓝绿色的\n\n天气很好", "灯笼的颜色", 10)[0] == ["港口的灯笼是蓝绿色的"]
    assert best_passages("날씨가 추웠다\n\n등불은 청록색이다\n\n사람이 많았다", "등불의 색", 10)[0] == ["등불은 청록색이다"]


def test_long_chinese_paragraphs_are_split_after_their_sentences() -> None:
    text = "灯笼在港口。" * 200
    parts = deal_passages(text, "灯笼", 1_200)
    assert all(passage.endswith("。") for part in parts for passage in part)


def test_a_page_of_tiny_paragraphs_is_dealt_out_in_time() -> None:
    started = time.process_time()
    parts = deal_passages("a\n\n" * 100_000 + "star\n\n" + "b " * 200_000, "star", 1_200)
    assert "star" in parts[0]
    assert time.process_time() - started < 10
