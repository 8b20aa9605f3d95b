"""Documents are read here in this process; `test_web_extract_workers` reads them in workers."""

from __future__ import annotations

import io
from dataclasses import dataclass

import pytest
from lxml.html import document_fromstring
from pypdf import PdfWriter

from tests.web.documents import pdf
from wildenv.errors import DataError
from wildenv.web.dates import parse_published
from wildenv.web.extract.charset import decode
from wildenv.web.extract.html import MOST_ELEMENTS, extract_html
from wildenv.web.extract.media import kind_of
from wildenv.web.extract.pdf import MOST_PAGES, extract_pdf
from wildenv.web.extract.published import published
from wildenv.web.extract.text import extract_text
from wildenv.web.extract.visible import visible_text
from wildenv.web.results import Link

URL = "https://harbour.example/news/lantern"


@dataclass(frozen=True)
class Sample:
    """A page as sites build them: menu, article, sidebar, footer.

    Attributes:
        lang: Language.
        title: Headline.
        head: What the head says besides the title.
        line: What stands under the headline.
        body: The article.
        menu: Words of the menu, the sidebar and the footer.
        published: The date that is to be found.
        charset: Encoding of the bytes.
    """

    lang: str
    title: str
    head: str
    line: str
    body: tuple[str, ...]
    menu: tuple[str, str, str]
    published: str | None
    charset: str = "utf-8"

    @property
    def html(self) -> bytes:
        paragraphs = "\n".join(f"<p>{text}</p>" for text in self.body)
        menu, side, foot = self.menu
        return f"""<!DOCTYPE html>
<html lang="{self.lang}"><head><title>{self.title}</title>{self.head}<style>p {{ color: teal }}</style></head>
<body class="single has-sidebar"><header>
<nav><ul><li><a href="/">{menu}</a></li><li><a href="/b">{menu} 2</a></li></ul></nav></header>
<main><article><h1>{self.title}</h1>{self.line}
{paragraphs}
</article></main>
<aside class="sidebar"><h3>{side}</h3><ul><li><a href="/x"><time datetime="2019-02-03">{side} 3</time></a></li></ul></aside>
<footer><p>© 2012-2026 {foot}</p></footer><script>var lastChange = "2026-07-09";</script></body></html>""".encode(
            self.charset, "xmlcharrefreplace"
        )


SAMPLES = {
    "english, JSON-LD with an organisation beside the article": Sample(
        "en",
        "A teal lantern for the harbour",
        """<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [
        {"@type": "Organization", "name": "Harbour Post", "datePublished": "2001-01-01"},
        {"@type": "WebPage", "datePublished": "2020-01-01T00:00:00Z"},
        {"@type": ["NewsArticle"], "headline": "A teal lantern", "datePublished": "2026-05-01T09:30:00+02:00",
         "dateModified": "2026-06-11", "comment": [{"@type": "Comment", "datePublished": "2026-05-04"}]}]}</script>""",
        "",
        (
            "On Friday the harbour got its new lantern. It is teal from top to bottom, except for the trim, which is orange.",
            "The glass was blown in a small workshop inland, and it took the two brothers who run it all winter.",
            "Anyone who walks by after sunset can see the star on its front, which turns once a minute and lights up the pier.",
        ),
        ("Front page", "Also read", "Harbour Post"),
        "2026-05-01T09:30:00+02:00",
    ),
    "german, meta with an older modification": Sample(
        "de",
        "Neue Laterne am Hafen enthüllt",
        '<meta property="article:modified_time" content="2026-06-02T08:00:00+02:00">'
        '<meta property="article:published_time" content="2026-05-02T07:00:00+02:00">',
        "<p>Von unserer Redaktion</p>",
        (
            "Am Freitagabend wurde am Hafen die neue Laterne enthüllt. Sie ist türkis, mit orangefarbenen Kanten.",
            "Die Gläser stammen aus einer kleinen Werkstatt im Süden, der Rahmen aus einer Werft, die längst geschlossen ist.",
            "Bis zum Ende des Sommers brennt sie jeden Abend; wer in der Stadt wohnt, darf sie auch von innen besichtigen.",
        ),
        ("Startseite", "Mehr zum Thema", "Hafenbote"),
        "2026-05-02T07:00:00+02:00",
        "iso-8859-1",
    ),
    "french, time with an update": Sample(
        "fr",
        "Une lanterne turquoise au port",
        "",
        '<p>Publié le <time datetime="2026-05-03T18:00">3 mai 2026</time>, mis à jour le '
        '<time datetime="2026-05-20T10:00">20 mai 2026</time></p>',
        (
            "La nouvelle lanterne du port a été dévoilée devant la foule. Elle est turquoise, avec un liseré orange.",
            "Deux ateliers y ont travaillé pendant un an ; le verre vient du nord et le cadre d’un ancien chantier naval.",
            "Elle brillera chaque soir jusqu’à la fin de l’été, et l’entrée sera gratuite pour tous les habitants de la ville.",
        ),
        ("Accueil", "À lire aussi", "Le Courrier du port"),
        "2026-05-03T18:00",
    ),
    "spanish, microdata": Sample(
        "es",
        "El puerto estrena farol",
        "",
        '<p><span itemprop="datePublished" content="2026-05-04">lunes</span> <span itemprop="dateModified" content="2026-05-09">'
        "sábado</span></p>",
        (
            "El nuevo farol del puerto se presentó ante cuatrocientas personas. Es de color turquesa y tiene un borde naranja.",
            "Dos talleres trabajaron en él durante un año; el vidrio llegó del norte y el marco, de un astillero ya cerrado.",
            "Se encenderá todas las noches hasta el final del verano, y la entrada será gratuita para los vecinos.",
        ),
        ("Portada", "Lo más leído", "Diario del Puerto"),
        "2026-05-04",
    ),
    "italian, a line that is named after its date": Sample(
        "it",
        "Una lanterna turchese per il porto",
        "",
        '<div class="article_date">5 maggio 2026</div>',
        (
            "La nuova lanterna del porto è stata svelata davanti a quattrocento persone. È turchese, con un bordo arancione.",
            "Due botteghe ci hanno lavorato per un anno; il vetro arriva dal nord e il telaio da un cantiere chiuso da tempo.",
            "Resterà accesa ogni sera fino alla fine dell’estate, e l’ingresso sarà libero per chi abita in città.",
        ),
        ("Prima pagina", "Leggi anche", "Il Corriere del Porto"),
        "5 maggio 2026",
    ),
    "portuguese, modified only": Sample(
        "pt",
        "Porto ganha lanterna nova",
        '<meta property="article:modified_time" content="2026-05-06"><meta property="og:updated_time" content="2026-05-06">',
        '<p class="date">Atualizado em 6 de maio de 2026</p>',
        (
            "A nova lanterna do porto foi apresentada a quatrocentas pessoas. É azul-turquesa e tem uma borda cor de laranja.",
            "Duas oficinas trabalharam nela durante um ano; o vidro veio do norte e a armação, de um estaleiro já fechado.",
            "Vai acender todas as noites até ao fim do verão, e a entrada será gratuita para quem mora na cidade.",
        ),
        ("Início", "Mais lidas", "Jornal do Porto"),
        None,
    ),
    "dutch, a blog that was never changed": Sample(
        "nl",
        "Nieuwe lantaarn voor de haven",
        "",
        '<span class="posted-on"><time class="entry-date published updated" datetime="2026-05-07T12:00:00+02:00">7 mei</time>'
        "</span>",
        (
            "De nieuwe lantaarn van de haven is voor vierhonderd mensen onthuld. Hij is turkoois en heeft een oranje rand.",
            "Twee werkplaatsen hebben er een jaar aan gewerkt; het glas komt uit het noorden, het frame van een oude werf.",
            "Tot het einde van de zomer brandt hij elke avond, en voor inwoners van de stad is de toegang gratis.",
        ),
        ("Voorpagina", "Lees ook", "Havenblad"),
        "2026-05-07T12:00:00+02:00",
    ),
    "chinese, in GBK": Sample(
        "zh",
        "港口新灯笼揭幕",
        '<meta http-equiv="Content-Type" content="text/html; charset=gb2312"><meta name="publishdate" content="2026年5月8日">',
        "",
        (
            "星期五晚上，港口的新灯笼在四百多人面前揭幕。它通体蓝绿色，边缘是橙色的，正面有一颗会转动的星星，晚上照亮整个码头。",
            "两家作坊花了一年时间才把它做好。玻璃来自北方的一个小镇，框架则出自一家早已关闭的造船厂，运到这里用了三个星期。",
            "直到夏天结束，它每天晚上都会点亮。住在城里的人可以免费进去参观，外地的游客也可以在广场上拍照留念，欣赏它的光芒。",
        ),
        ("首页", "相关新闻", "港口日报"),
        "2026年5月8日",
        "gbk",
    ),
    "japanese, in Shift_JIS": Sample(
        "ja",
        "港に新しい灯籠",
        '<meta charset="Shift_JIS">',
        '<p class="pubDate">2026年5月9日</p>',
        (
            "金曜日の夜、港の新しい灯籠が四百人を超える人々の前で公開されました。全体は青緑色で、縁は橙色、正面には回る星が付いています。",
            "二つの工房が一年をかけて作りました。ガラスは北の小さな町から、枠は昔閉鎖された造船所から、三週間かけて運ばれてきました。",
            "夏の終わりまで毎晩点灯されます。町に住む人は無料で中を見学でき、遠くから来た人も広場で写真を撮ることができます。",
        ),
        ("トップ", "関連記事", "港新聞"),
        "2026年5月9日",
        "shift_jis",
    ),
    "korean, in EUC-KR": Sample(
        "ko",
        "항구에 새 등불이 켜졌다",
        '<meta charset="euc-kr"><meta property="article:published_time" content="2026-05-10T09:00:00+09:00">',
        "",
        (
            "금요일 저녁 항구의 새 등불이 사람들 앞에서 공개되었다. 몸체는 청록색이고 테두리는 주황색이며 앞면에 별이 있다.",
            "두 공방이 일 년 동안 만들었다. 유리는 북쪽의 작은 마을에서 왔고 틀은 오래전에 문을 닫은 조선소에서 가져왔다고 한다.",
            "여름이 끝날 때까지 매일 저녁 불을 밝힌다. 시민은 무료로 들어갈 수 있고 여행객은 광장에서 사진을 찍을 수 있다.",
        ),
        ("첫 화면", "관련 기사", "항구신문"),
        "2026-05-10T09:00:00+09:00",
        "euc-kr",
    ),
    "russian, in windows-1251": Sample(
        "ru",
        "В порту открыли новый фонарь",
        '<meta charset="windows-1251">',
        '<time datetime="2026-05-11">понедельник</time>',
        (
            "Новый фонарь в порту открыли в присутствии четырёхсот человек. Он бирюзовый, с оранжевой каймой и звездой спереди.",
            "Две мастерские работали над ним целый год; стекло привезли с севера, а раму взяли на давно закрытой верфи.",
            "До конца лета он будет гореть каждый вечер, а для жителей города вход внутрь останется бесплатным.",
        ),
        ("Главная", "Читайте также", "Портовый вестник"),
        "2026-05-11",
        "windows-1251",
    ),
}


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_a_page_gives_title_main_text_and_date(sample: Sample) -> None:
    page = extract_html(sample.html, URL, None)
    assert page.title == sample.title
    assert page.published == sample.published
    paragraphs = page.text.split("\n\n")
    assert [text for text in sample.body if text not in paragraphs] == []
    assert [words for words in sample.menu if words in page.text] == []
    assert "lastChange" not in page.text
    assert "color:" not in page.text


@pytest.mark.parametrize("claim", ["iso-8859-1", "utf-8", "no-such-charset", "zlib", None])
@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_no_wrong_claim_turns_a_page_into_mojibake(sample: Sample, claim: str | None) -> None:
    assert extract_html(sample.html, URL, claim).text == extract_html(sample.html, URL, sample.charset).text


KOI8 = "Новый фонарь в порту открыли в присутствии четырёхсот человек. Он бирюзовый, с оранжевой каймой и звездой спереди."


@pytest.mark.parametrize(
    ("data", "claimed", "text"),
    [
        ("\ufeffgrün".encode("utf-16"), None, "\ufeffgrün"),
        ("\ufeffgrün".encode(), "iso-8859-1", "grün"),
        ("<p>plain words</p>".encode("utf-16-le"), None, "<p>plain words</p>"),
        ("<p>plain words</p>".encode("utf-16-be"), None, "<p>plain words</p>"),
        ("新しい灯籠".encode("iso2022_jp"), None, "新しい灯籠"),
        ("“schön” – 5 €".encode("cp1252"), "iso-8859-1", "“schön” – 5 €"),
        ("żółta łódź".encode("cp1250"), "windows-1250", "żółta łódź"),
        (KOI8.encode("koi8-r"), "windows-1251", KOI8),
        ("große Laternen für schöne Häfen".encode("cp1252"), "windows-1251", "große Laternen für schöne Häfen"),
        (("viele schöne Häfen " * 40).encode() + b"\xff", "utf-8", "viele schöne Häfen " * 40 + "\ufffd"),
        (b"", "utf-8", ""),
    ],
)
def test_bytes_are_decoded_as_what_they_are(data: bytes, claimed: str | None, text: str) -> None:
    assert decode(data, claimed) == text


@pytest.mark.parametrize("claim", [None, "utf-8", "gb2312", "euc-kr"])
def test_any_bytes_give_some_text(claim: str | None) -> None:
    everything = bytes(range(256)) * 40
    page = extract_html(b"<html><body><p>start " + everything + b"<p>end</body></html>", URL, claim)
    assert "start" in page.text
    assert "\0" not in page.text
    page.text.encode()


LD = '<script type="application/ld+json">%s</script>'


@pytest.mark.parametrize(
    ("html", "date"),
    [
        # JSON-LD
        (LD % '{"@type": "BlogPosting", "datePublished": "2026-05-01",}', "2026-05-01"),
        (LD % '{"datePublished": "2026-05-01", oops, "datePublished": "2026-05-02"}', None),
        (LD % '[{"@type": "VideoObject", "uploadDate": "2026-05-01"}]', "2026-05-01"),
        (LD % '{"@type": "WebPage", "mainEntity": {"@type": "Article", "datePublished": "2026-05-01"}}', "2026-05-01"),
        (LD % '{"@type": "Product", "review": [{"@type": "Review", "datePublished": "2026-05-01"}]}', None),
        (LD % '{"@type": "Review", "datePublished": "2026-05-01"}', None),
        (LD % '{"@type": "Article", "dateModified": "2026-05-01", "dateCreated": "2026-05-01"}', None),
        (LD % '{"@type": "Article", "datePublished": ["2026-05-01"]}', "2026-05-01"),
        (LD % '{"@type": "Article", "datePublished": {"@value": 3}}', None),
        (LD % '{"@type": "Article", "datePublished": "0001-01-01T00:00:00"}', None),
        (LD % ("[" * 100_000), None),
        # A list of articles has no date, unless one of them is this page.
        (LD % '[{"@type":"Article","datePublished":"2026-05-01"},{"@type":"Article","datePublished":"2026-05-02"}]', None),
        (
            LD % '[{"@type":"Article","datePublished":"2026-05-01","url":"https://harbour.example/other"},'
            '{"@type":"Article","datePublished":"2026-05-02","mainEntityOfPage":{"@id":"http://harbour.example/news/lantern/#a"}}]',
            "2026-05-02",
        ),
        # meta
        ('<meta name="DC.date.issued" content=" 2026-05-01 ">', "2026-05-01"),
        ('<meta itemprop="datePublished" content="2026-05-01">', "2026-05-01"),
        ('<meta name="date" content="2026-05-09"><meta property="article:published_time" content="2026-05-01">', "2026-05-01"),
        ('<meta name="date" content="soon"><meta name="pubdate" content="May 1, 2026">', "May 1, 2026"),
        ('<meta name="last-modified" content="2026-05-01"><meta http-equiv="last-modified" content="2026-05-01">', None),
        ('<meta property="og:url" content="https://harbour.example/2026/05/01/lantern">', None),
        # time
        ('<article><time datetime="2026-05-01">x</time></article><time datetime="2026-05-02">x</time>', "2026-05-01"),
        ("<article><time>1. Mai 2026</time></article>", "1. Mai 2026"),
        ('<div class="related"><article><time datetime="2026-05-01">x</time></article></div>', None),
        ('<ol class="comment-list"><li><time datetime="2026-05-01">x</time></li></ol>', None),
        ('<div class="content has-sidebar no-comments"><time datetime="2026-05-01">x</time></div>', "2026-05-01"),
        ('<article><time datetime="2026-05-01">x</time></article><article><time datetime="2026-05-02">y</time></article>', None),
        ('<p>Updated: <time datetime="2026-05-01">x</time></p>', None),
        ('<p><b>最終更新</b> <time datetime="2026-05-01">x</time></p>', None),
        ('<div class="modified"><time datetime="2026-05-01">x</time></div>', None),
        ('<p>Published <time datetime="2026-05-01">x</time> Updated <time datetime="2026-05-02">y</time></p>', "2026-05-01"),
        ('<time class="published" datetime="2026-05-01">x</time><time datetime="2026-05-02">show starts</time>', "2026-05-01"),
        # texts that are named after dates
        ('<p class="post-meta"><span class="date">1 May 2026</span></p>', "1 May 2026"),
        ('<p id="pub_date">Posted on May 1, 2026 by A. Writer</p>', "Posted on May 1, 2026 by A. Writer"),
        ('<p class="date">1 May 2026</p><p class="date">2 May 2026</p>', None),
        ('<p class="date">03/04/2026</p>', None),
        ('<p class="candidate update-box">1 May 2026</p>', None),
        ('<p class="dateline">HARBOUR, 1 May 2026 - ' + "A long sentence about the lantern. " * 5 + "</p>", None),
        # neither address, running text nor copyright
        ("<p>The lantern was unveiled on 1 May 2026.</p><footer>© 2026</footer>", None),
    ],
)
def test_only_a_stated_and_unambiguous_publication_date_counts(html: str, date: str | None) -> None:
    assert published(document_fromstring(f"<html><body>{html}</body></html>"), URL) == date
    assert date is None or parse_published(date) is not None


def test_better_sources_come_first() -> None:
    ld = LD % '{"@type": "Article", "datePublished": "2026-05-01"}'
    meta = '<meta property="article:published_time" content="2026-05-02">'
    micro = '<p itemprop="datePublished">2026-05-03</p>'
    time = '<time datetime="2026-05-04">x</time>'
    marked = '<p class="date">2026-05-05</p>'
    parts = [ld, meta, micro, time, marked]
    found = [published(document_fromstring(f"<body>{''.join(reversed(parts[i:]))}</body>"), URL) for i in range(5)]
    assert found == [f"2026-05-0{i}" for i in range(1, 6)]


def _page(body: str, head: str = "") -> bytes:
    return f"<html><head><title>Lantern</title>{head}</head><body>{body}</body></html>".encode()


FILLER = "".join(
    f"<p>The lantern has been standing at pier {i} for some years now, and nobody has asked why.</p>" for i in range(5)
)


def test_links_of_the_main_text_are_absolute_in_order_and_given_once() -> None:
    body = f"""<nav><a href="/menu">Menu</a></nav><article>{FILLER}
    <p>The <a href="../colours/teal?b=1&amp;c=2">teal of it</a> was chosen by <a href="//other.example/poll#result">a poll</a>, as
    <a href="https://harbour.example/colours/teal?b=1&c=2#again">said before</a>; see <a href="#top">above</a>,
    <a href="{URL}#part">here</a>, <a href="mailto:a@b.example">write</a>, <a href="javascript:go()">go</a>, <a href="http://[">odd</a>,
    <a href="/empty"><img src="x.png"></a> and <a href="http://third.example/ä b">the third</a>.</p></article>"""
    assert extract_html(_page(body), URL, None).links == (
        Link("teal of it", "https://harbour.example/colours/teal?b=1&c=2"),
        Link("a poll", "https://other.example/poll"),
        Link("the third", "http://third.example/ä b"),
    )


def test_links_follow_the_base_of_the_page() -> None:
    body = f'<article>{FILLER}<p>It is <a href="teal">teal</a> and it glows in the dark.</p></article>'
    assert extract_html(_page(body, '<base href="/archive/">'), URL, None).links == (
        Link("teal", "https://harbour.example/archive/teal"),
    )


def test_a_short_page_keeps_the_links_of_its_text() -> None:
    body = '<nav><ul><li><a href="/menu">Menu</a></li></ul></nav><p>The lantern is <a href="/teal">teal</a>.</p>'
    page = extract_html(_page(body), URL, None)
    assert "The lantern is teal." in page.text
    assert Link("teal", "https://harbour.example/teal") in page.links


def test_no_more_than_fifty_links_are_kept() -> None:
    body = "".join(
        f'<p>Lantern {i} is described on <a href="/{i}">its own page</a>, where its colour is named.</p>' for i in range(80)
    )
    links = extract_html(_page(f"<article>{body}</article>"), URL, None).links
    assert [link.url for link in links] == [f"https://harbour.example/{i}" for i in range(50)]


def test_items_rows_and_line_breaks_are_kept_apart() -> None:
    body = f"""<article>{FILLER}<ul><li>Height: 3 m</li><li>Weight: <b>200</b> kg</li></ul>
    <table><tr><th>Part</th><th>Colour</th></tr><tr><td>Trim</td><td>orange</td></tr></table>
    <p>First line of the inscription<br>second line of the inscription</p></article>"""
    paragraphs = extract_html(_page(body), URL, None).text.split("\n\n")
    assert paragraphs[5:] == [
        "- Height: 3 m",
        "- Weight: 200 kg",
        "Part | Colour",
        "Trim | orange",
        "First line of the inscription\nsecond line of the inscription",
    ]


def test_the_title_is_the_shared_one_then_the_window_s_then_the_headline() -> None:
    shared = '<meta property="og:title" content=" Shared\n title ">'
    assert extract_html(_page("<h1>Headline</h1>", shared), URL, None).title == "Shared title"
    assert extract_html(_page("<h1>Headline</h1>"), URL, None).title == "Lantern"
    assert extract_html(b"<html><body><h1>Head<i>line</i></h1></body></html>", URL, None).title == "Headline"
    assert extract_html(b"<html><body><p>words</body></html>", URL, None).title == ""


def test_a_page_without_main_text_gives_its_visible_text() -> None:
    body = '<select><option>no</option></select><nav><a href="/teal">Teal &amp; orange</a></nav><script>no()</script>'
    page = extract_html(_page(body), URL, None)
    assert page.text == "Teal & orange"
    assert page.links == (Link("Teal & orange", "https://harbour.example/teal"),)


@pytest.mark.parametrize(
    "data", [b"", b"   ", b"<!-- x -->", b"<html></html>", b"<html><body><script>x = 1</script></body></html>"]
)
def test_an_empty_page_has_no_text(data: bytes) -> None:
    page = extract_html(data, URL, None)
    assert (page.text, page.links, page.published) == ("", (), None)


def test_visible_text_knows_blocks_entities_and_what_is_unseen() -> None:
    markup = """<!-- no <p>no</p> --><HEAD><title>no</title></HEAD><BODY>one<br>two <b>bo</b>ld<p>three &lt;4&gt; &#x263a;</p>
    <svg><text>no</text></svg><STYLE>no</STYLE>1 < 2<div>four<!-- never closed"""
    assert visible_text(markup) == "one\ntwo bold\n\nthree <4> ☺\n\n1 < 2\n\nfour"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"<html><body>" + b"<div>" * 100_000 + b"hello world" + b"</div>" * 100_000, "hello world"),
        (b"<html><body><p>" + b"word " * 100_000, "word word"),
        (b"<html><body>" + b"<p>a" * (MOST_ELEMENTS + 1), "a\n\na"),
        (b"<html><body>" + (b"<div>a " * 200 + b"</div>" * 200) * 40, "a"),
        (b"<html><body>te\0xt\0", "text"),
        (b"<html><body><p>&#" + b"9" * 10_000 + b"; x &amp;#" + b"9" * 10_000 + b"; y</p>", "&#9999"),
        (b"<" * 100_000, "<<<"),
        (b"<html><body>text<a " + b"x" * 1_000_000, "text"),
        (b"<html><body>text" + b"<script>" * 100_000, "text"),
        (b"<html><body>text" + b"<!--" * 100_000, "text"),
        (b"<html><body>text" + b"<table><tr><td>" * 20_000, "text"),
        (b"<html><body><p " + b"a=b " * 100_000 + b">text</p>", "text"),
        (b"<?xml version='1.0' encoding='utf-16'?><html><body><p>text</p></body></html>", "text"),
        ("<html><head><meta charset='koi8-r'></head><body><p>grün</p></body></html>".encode(), "grün"),
    ],
)
def test_pathological_pages_keep_their_text(data: bytes, text: str) -> None:
    assert text in extract_html(data, URL, None).text


def test_a_page_is_the_same_whatever_was_read_before() -> None:
    first = {name: extract_html(sample.html, URL, None) for name, sample in SAMPLES.items()}
    again = {name: extract_html(SAMPLES[name].html, URL, None) for name in reversed(SAMPLES)}
    assert first == again


def test_a_text_has_paragraphs_and_the_name_of_its_file() -> None:
    page = extract_text(
        "Grün\r\nist es.\r\n \r\n\r\nUnd orange.".encode("cp1252"), "https://a.example/b/Notes%20on%20it.txt?x=1", None
    )
    assert (page.title, page.text, page.published) == ("Notes on it.txt", "Grün\nist es.\n\nUnd orange.", None)


def test_a_pdf_gives_its_pages_title_and_creation_date() -> None:
    data = pdf(["The lantern is teal.", "Its trim is orange."], title="On lanterns", created="D:20260501093000+02'00'")
    page = extract_pdf(data, URL)
    assert page.title == "On lanterns"
    assert page.text == "The lantern is teal.\n\nIts trim is orange."
    assert page.published == "2026-05-01T09:30:00+02:00"
    assert str(parse_published(page.published)) == "2026-05-01"


def test_a_pdf_that_says_nothing_of_itself_is_named_after_its_address() -> None:
    page = extract_pdf(pdf(["The lantern is teal."]), "https://a.example/lantern.pdf")
    assert (page.title, page.published) == ("lantern.pdf", None)
    assert extract_pdf(pdf(["x"], title="A title", created="yesterday"), URL).published is None


def test_a_long_pdf_says_how_much_of_it_was_read() -> None:
    text = extract_pdf(pdf([f"page number {i}" for i in range(1, MOST_PAGES + 3)]), URL).text
    assert f"page number {MOST_PAGES}\n\n(These are the first {MOST_PAGES} of {MOST_PAGES + 2} pages.)" in text


def _locked(password: str) -> bytes:
    writer = PdfWriter(clone_from=io.BytesIO(pdf(["The lantern is teal."])))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def test_a_pdf_that_anyone_may_read_is_read_and_one_with_a_password_is_not() -> None:
    assert extract_pdf(_locked(""), URL).text == "The lantern is teal."
    with pytest.raises(DataError, match="needs a password"):
        extract_pdf(_locked("secret"), URL)


def test_a_damaged_pdf_is_an_error() -> None:
    for data in (b"%PDF-1.7\n", b"%PDF-1.7\n" + bytes(range(256)) * 10, pdf(["x"])[:150]):
        with pytest.raises(DataError, match="damaged"):
            extract_pdf(data, URL)


def test_a_pdf_whose_pages_contain_themselves_ends() -> None:
    data = pdf(["The lantern is teal."]).replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]")
    with pytest.raises(DataError, match=r"damaged: .*cyclic"):
        extract_pdf(data, URL)


@pytest.mark.parametrize(
    ("data", "media_type", "kind"),
    [
        (b"<p>x", "text/html", "html"),
        (b"<p>x", "application/xhtml+xml", "html"),
        (b"%PDF-1.7", "application/pdf", "pdf"),
        (b" \n%PDF-1.7", "text/html", "pdf"),
        (b"words", "text/plain", "text"),
        (b"<!DOCTYPE html>", "", "html"),
        (b"<html>", "application/octet-stream", "html"),
        (b"words", "", None),
        (b"\x89PNG\r\n", "text/html", None),
        (b"\xff\xd8\xff\xe0", "text/plain", None),
        (b"PK\x03\x04", "application/pdf", None),
        (b"{}", "application/json", None),
        (b"<?xml version='1.0'?>", "application/xml", None),
        (b"<rss>", "application/rss+xml", None),
        (b"...", "video/mp4", None),
    ],
)
def test_the_kind_is_the_claimed_one_unless_the_bytes_prove_it_wrong(data: bytes, media_type: str, kind: str | None) -> None:
    assert kind_of(data, media_type) == kind
