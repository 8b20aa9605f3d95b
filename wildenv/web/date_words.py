"""The words that dates are written with, in the form that `plain` gives to a text.

Month names in the cases dates use and in their usual abbreviations, units of time, and words for days. Where languages disagree
about a month it is that of the larger one (``listopad`` is November, though October in Croatian); a unit that they disagree about
(``год``, an hour in Ukrainian and a year in Russian) and abbreviations that are common words elsewhere are left out. Numbers of
months are not here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_ACCENTS = (("\u0300", "\u036f"), ("\u064b", "\u0655"))
_SAME = str.maketrans({"’": "'", "ı": "i", "ł": "l", "،": ","})


def plain(text: str) -> str:
    """Lower case, compatible characters unified, accents and invisible characters removed, digits of any script as 0 to 9."""
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    kept = (char for char in decomposed if not any(first <= char <= last for first, last in _ACCENTS))
    written = (
        str(unicodedata.decimal(char)) if char.isdecimal() else char for char in kept if unicodedata.category(char) != "Cf"
    )
    return unicodedata.normalize("NFC", "".join(written)).translate(_SAME)


_MONTH_NAMES = (
    "january jan januar jänner janvier janv enero ene gennaio gen janeiro januari ianuarie ian január januára tammikuu "
    "tammikuuta stycznia styczeń sty leden ledna ocak oca января январь янв січня січень січ ιανουαρίου ιανουάριος ιαν "
    "يناير جانفي كانون_الثاني जनवरी",
    "february feb februar feber février févr fév febrero febbraio fevereiro februari februarie február febr februára helmikuu "
    "helmikuuta lutego luty lut února únor úno şubat şub февраля февраль фев февр лютого лютий лют φεβρουαρίου φεβρουάριος φεβ "
    "فبراير فيفري شباط फ़रवरी फरवरी",
    "march mar märz maerz mrz mars marzo março maart mrt martie mart március márc marca marec maaliskuu maaliskuuta marzec "
    "března březen bře marts maret марта март мар березня березень бер μαρτίου μάρτιος μαρ مارس آذار मार्च",
    "april apr avril avr abril abr aprile aprilie április ápr apríla huhtikuu huhtikuuta kwietnia kwiecień kwi dubna duben nisan "
    "nis апреля апрель апр квітня квітень квіт απριλίου απρίλιος απρ أبريل إبريل أفريل نيسان अप्रैल",
    "may mai mayo maggio mag maio mei május máj mája toukokuu toukokuuta maja maj května květen kvě mayıs мая май травня травень "
    "трав μαΐου μάιος μαϊ مايو ماي أيار मई",
    "june jun juni juin junio giugno giu junho iunie iun június júna kesäkuu kesäkuuta czerwca czerwiec cze června červen čvn "
    "haziran haz июня июнь июн червня червень черв ιουνίου ιούνιος ιουν يونيو جوان حزيران जून",
    "july jul juli juillet juil julio luglio lug julho iulie iul július júla heinäkuu heinäkuuta lipca lipiec lip července "
    "červenec čvc temmuz tem julai июля июль июл липня липень лип ιουλίου ιούλιος ιουλ يوليو جويلية تموز जुलाई",
    "august aug août agosto ago augustus augusztus augusta elokuu elokuuta sierpnia sierpień sie srpna srpen srp ağustos ağu "
    "augusti agustus agt ogos августа август авг серпня серпень серп αυγούστου αύγουστος αυγ أغسطس أوت آب अगस्त",
    "september sep sept septembre septiembre setiembre settembre sett set setembro septembrie szeptember szept septembra syyskuu "
    "syyskuuta września wrzesień wrz září zář eylül eyl сентября сентябрь сен сент вересня вересень вер σεπτεμβρίου σεπτέμβριος "
    "σεπ σεπτ سبتمبر أيلول सितंबर सितम्बर",
    "october oct oktober okt octobre octubre ottobre ott outubro out octombrie október októbra lokakuu lokakuuta października "
    "październik paź října říjen říj ekim eki октября октябрь окт жовтня жовтень жовт οκτωβρίου οκτώβριος οκτ أكتوبر "
    "تشرين_الأول अक्टूबर अक्तूबर",
    "november nov novembre noviembre novembro noiembrie novembra marraskuu marraskuuta listopada listopad listopadu lis kasım "
    "kas ноября ноябрь ноя нояб листопада листопад νοεμβρίου νοέμβριος νοε نوفمبر تشرين_الثاني नवंबर नवम्बर",
    "december dec dezember dez décembre déc diciembre dic dicembre dezembro decembrie decembra joulukuu joulukuuta grudnia "
    "grudzień gru prosince prosinec aralık ara desember des disember декабря декабрь дек грудня грудень груд δεκεμβρίου "
    "δεκέμβριος δεκ ديسمبر كانون_الأول दिसंबर दिसम्बर",
)

_THAI_NAMES = (
    "มกราคม ม.ค. กุมภาพันธ์ ก.พ. มีนาคม มี.ค. เมษายน เม.ย. พฤษภาคม พ.ค. มิถุนายน มิ.ย. กรกฎาคม ก.ค. สิงหาคม ส.ค. กันยายน ก.ย. "
    "ตุลาคม ต.ค. พฤศจิกายน พ.ย. ธันวาคม ธ.ค."
)

_UNIT_NAMES = {
    "minute": "second seconds sec secs minute minutes min mins sekunde sekunden minuten seconde secondes segundo segundos "
    "minuto minutos secondo secondi minuti секунд секунды секунду сек минут минуты минуту мин хвилин хвилини хвилину хв sekund "
    "sekundy minut minuty minutę saniye dakika dk minuter menit phút 秒 分 分钟 分鐘 초 분",
    "hour": "hour hours hr hrs h stunde stunden heure heures hora horas ora ore uur час часа часов ч годин години годину "
    "godzin godziny godzinę godz saat timmar timmen timer jam giờ 小时 小時 時間 시간",
    "day": "day days d tag tage tagen jour jours dia dias giorno giorni dag dagen день дня дней дн дні днів dzień dni gün dagar "
    "dage dager hari ngày 天 日 일",
    "week": "week weeks wk wks woche wochen semaine semaines semana semanas settimana settimane weken неделю недели недель нед "
    "тиждень тижні тижнів tydzień tygodnie tygodni hafta vecka veckor uge uger uke uker minggu tuần 周 週 週間 주",
    "month": "month months mo monat monate monaten mois mes meses mese mesi maand maanden месяц месяца месяцев мес місяць місяці "
    "місяців miesiąc miesiące miesięcy ay månad månader måned måneder bulan tháng 个月 個月 か月 ヶ月 개월",
    "year": "year years yr yrs jahr jahre jahren an ans année années ano anos año años anno anni jaar года лет рік роки років "
    "rok lata lat yıl år tahun năm 年 년",
}

_ONE_NAMES = "a an one einer einem ein un une una uno um uma een jeden bir en ett et одну один"

_DAY_NAMES = (
    "today heute aujourd'hui hoy oggi hoje vandaag сегодня сьогодні dzisiaj dziś bugün idag hôm_nay 今天 今日 오늘",
    "yesterday gestern hier ayer ieri ontem gisteren вчера вчора wczoraj dün igår kemarin hôm_qua أمس 昨天 昨日 어제",
    "vorgestern avant-hier anteayer anteontem eergisteren позавчера позавчора przedwczoraj förrgår 前天 一昨日 그저께",
)


def _words(names: str) -> list[str]:
    """Reads a list; a line stands for a space within a name."""
    return [plain(name.replace("_", " ")) for name in names.split()]


MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in _words(names)}
"""Number of each month name."""

THAI_MONTHS = {name: index // 2 + 1 for index, name in enumerate(_words(_THAI_NAMES))}
"""The same in Thai, where years are counted from 543 before ours."""

UNITS = {name: unit for unit, names in _UNIT_NAMES.items() for name in _words(names)}
ONE = set(_words(_ONE_NAMES))
DAY_WORDS = {name: days for days, names in enumerate(_DAY_NAMES) for name in _words(names)}
"""Days before today of each word."""


def alternatives(words: Iterable[str]) -> str:
    """Returns a pattern for any of the words, longer ones first."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in ordered)
