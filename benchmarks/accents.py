"""Measure what is lost by typing words without their accents: `python -m benchmarks.accents`.

A query is two words with accents that stand in one passage only; it is asked as written, and without the accents. It
is found if the passage is the first hit. The passages are of six languages, twenty of each: in one note and vault a
language, and each in a note of its own in one vault, whose languages are told by a sentence. With `--vault`, the notes
of a folder (Markdown, any language) are asked in the same way.
"""

from __future__ import annotations

import argparse
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import excerpt
from benchmarks.measure import result, table, write_option
from benchmarks.targets import verdict
from excerpt.base.kinds import Confidence
from excerpt.text.folding import fold

TEXTS: Mapping[str, str] = {
    "pl": """
Księgowa wysłała klientów do działu reklamacji, ponieważ rozliczenie było błędne.
Wiosną bociany wróciły na łąkę za młynem i zaczęły naprawiać gniazdo.
Zamówiliśmy dębowe półki, lecz stolarz dostarczył sosnowe i przeprosił.
Pod wieczór mgła zasłoniła przełęcz, więc przewodnik zawrócił wycieczkę.
Babcia suszyła grzyby nad piecem i przechowywała je w płóciennym woreczku.
Elektryk wymienił bezpieczniki, sprawdził gniazdka i podpisał protokół.
Rybacy odpłynęli przed świtem, choć zapowiadano sztorm na całym wybrzeżu.
W bibliotece odnaleziono rękopis z czternastego wieku, oprawiony w skórę.
Dzieci ulepiły bałwana z marchewkowym nosem i węgielkami zamiast guzików.
Lekarz zalecił ćwiczenia oddechowe oraz krótkie spacery po śniadaniu.
Przed remontem trzeba zerwać stare tapety i zagruntować ściany.
Winnica leży na południowym zboczu, gdzie słońce świeci najdłużej.
Sąsiedzi założyli spółdzielnię, aby wspólnie kupować opał na zimę.
Piekarz wyrabia ciasto ręcznie i zostawia je pod lnianą ściereczką.
Komisja odrzuciła wniosek, gdyż załączniki były nieczytelne i niepełne.
Zegarmistrz oczyścił mechanizm, lecz sprężyna okazała się pęknięta.
Kajakarze nocowali na piaszczystej wyspie pośrodku rozlewiska jeziornego.
Nauczycielka geografii przyniosła globus i poprosiła uczniów o wskazanie równika.
Pszczelarz ogląda ramki, szuka królowej i notuje siłę każdej rodziny.
Tłumacz poprawił przekład wiersza, zachowując rymy i przestarzałe słownictwo.
""",
    "fr": """
Les données récoltées pendant l'étude étaient incomplètes et mal étiquetées.
Le boulanger pétrissait la pâte avant l'aube, près du four réchauffé.
Après la tempête, les pêcheurs réparèrent leurs filets sur la grève.
La bibliothécaire a numérisé les manuscrits abîmés par l'humidité.
Nous avons planté des pommiers greffés le long du fossé asséché.
Le médecin conseilla une rééducation légère et beaucoup de repos.
Une fêlure dans la cheminée laissait pénétrer la fumée au grenier.
Les élèves dessinèrent une frise représentant les marées et les étoiles.
Le maçon a mélangé du sable tamisé avec de la chaux éteinte.
Sa réclamation fut rejetée faute de pièces numérotées.
La rivière débordée emporta la passerelle et deux barques amarrées.
Elle préfère les confitures de mûres sucrées avec du miel bâtard.
Le luthier ajusta le chevalet fêlé puis accorda la contrebasse âgée.
Un hélicoptère évacua les randonneurs égarés sous la crête.
La comptable vérifia les écritures passées pendant la clôture.
Les chênes abattus servirent à étayer la galerie effondrée.
Mon grand-père élevait des chèvres et vendait des fromages affinés.
Le théâtre rénové rouvrira avec une comédie oubliée du siècle dernier.
On mesura la salinité de l'étang à marée descendante.
L'équipage échoué fut hébergé par les gardiens du phare isolé.
""",
    "cs": """
Účetní poslala zákazníkům upomínky, protože faktury nebyly zaplaceny včas.
Na jaře se čápi vrátili na louku za mlýnem a opravovali hnízdo.
Truhlář přivezl dubové police místo objednaných smrkových a omluvil se.
K večeru padla mlha na průsmyk, průvodce tedy výpravu otočil.
Babička sušila houby nad kamny a ukládala je do plátěného pytlíku.
Elektrikář vyměnil pojistky, zkontroloval zásuvky a podepsal předávací zápis.
Rybáři vypluli před úsvitem, přestože hlásili bouři na celém pobřeží.
V knihovně našli středověký rukopis svázaný v teplé kůži.
Děti postavily sněhuláka s mrkvovým nosem a uhlíky místo knoflíků.
Lékařka doporučila dechová cvičení a krátké procházky po snídani.
Před malováním je třeba oškrábat staré tapety a napustit stěny.
Vinice leží na jižním svahu, kde slunce svítí nejdéle.
Sousedé založili družstvo, aby společně nakupovali palivové dříví.
Pekař hněte těsto ručně a nechává je kynout pod utěrkou.
Komise žádost zamítla, neboť přílohy byly nečitelné a neúplné.
Hodinář vyčistil strojek, ale pružina byla prasklá u kotvičky.
Vodáci přespali na písčitém ostrůvku uprostřed široké zátoky.
Učitelka zeměpisu přinesla glóbus a ptala se žáků na rovník.
Včelař prohlíží rámky, hledá královnu a zapisuje sílu každého včelstva.
Překladatel opravil báseň, přičemž zachoval rýmy a zastaralá slůvka.
""",
    "es": """
La recolección de datos terminó después, cuando llegó el técnico suplente.
El panadero amasó la levadura según un método heredado de Málaga.
Tras el ciclón, los pescadores cosieron el copo junto al espigón.
La bibliotecaria digitalizó códices dañados por la filtración.
Plantamos almácigos de árboles frutales junto a la acequia más próxima.
El médico recomendó gimnasia respiratoria y un régimen sin azúcar.
Una grieta en el desván dejó pasar el hollín del salón.
Los niños pintaron un friso con delfines, corales y un pulpo pequeñísimo.
El albañil mezcló arena con cal y levantó un muro de mampostería.
Su reclamación quedó archivada por un trámite burocrático.
La inundación arrastró el puente colgante y dos góndolas.
Prefiere la mermelada de arándanos con miel de eucalipto y jazmín.
El lutier encoló el mástil y afinó el contrabajo polvoriento.
El helicóptero rescató a los montañeros bajo el glaciar más escarpado.
La auditoría detectó una omisión en la última liquidación.
Los vecinos apuntalaron la bóveda con vigas de cedro añejo.
Mi abuelo criaba ovejas y vendía quesos en el páramo.
El teatro reabrirá con una comedia satírica del último siglo.
Midieron la salinidad del estuario con un termómetro electrónico.
La tripulación náufraga halló cobijo en el islote volcánico.
""",
    "tr": """
Muhasebeci müşterilere gecikmiş faturaları hatırlatan mektuplar yolladı.
İlkbaharda leylekler değirmenin ardındaki çayıra döndü ve yuvalarını onardı.
Marangoz meşe raflar yerine çam getirdi, sonra özür diledi.
Akşamüstü sis geçidi kapladı, kılavuz yürüyüşçüleri geri çevirdi.
Büyükannem mantarları sobanın üstünde kurutup bez torbalarda saklardı.
Elektrikçi sigortaları değiştirdi, prizleri ölçtü ve tutanağı imzaladı.
Balıkçılar fırtına uyarısına rağmen şafaktan önce denize açıldı.
Kütüphanede deri ciltli, on dördüncü yüzyıldan bir elyazması bulundu.
Çocuklar havuç burunlu, kömür düğmeli bir kardan adam yaptı.
Hekim soluk alıştırmaları ve kahvaltıdan sonra kısa gezintiler önerdi.
Boyadan önce eski duvar kâğıtları sökülmeli, sıva astarlanmalı.
Bağ, güneşin en uzun kaldığı güney yamacındadır.
Komşular yakacağı birlikte satın almak üzere bir kooperatif kurdu.
Fırıncı hamuru elle yoğurur ve keten örtünün altında mayalar.
Kurul, ekleri okunaksız olduğu gerekçesiyle başvuruyu geri çevirdi.
Saatçi düzeneği temizledi ama zembereğin çatladığını gördü.
Kürekçiler gölün ortasındaki kumlu adacıkta geceledi.
Coğrafya öğretmeni yerküreyi getirip öğrencilere ekvatoru sordu.
Arıcı çerçeveleri gözden geçirir, kraliçeyi arar ve kovanın gücünü yazar.
Çevirmen şiiri düzeltirken uyakları ve eskimiş sözcükleri korudu.
""",
    "vi": """
Kế toán gửi thư nhắc khách hàng về hóa đơn quá hạn thanh toán.
Mùa xuân đàn cò trở lại cánh đồng sau cối xay và sửa tổ.
Thợ mộc chở đến kệ gỗ thông thay vì gỗ sồi rồi xin lỗi.
Chiều xuống sương mù che khuất đèo nên người dẫn đường quay lại.
Bà phơi nấm trên bếp lò và cất chúng trong túi vải.
Thợ điện thay cầu chì, kiểm tra ổ cắm và ký biên bản.
Ngư dân ra khơi trước bình minh dù có dự báo bão.
Trong thư viện người ta tìm thấy bản thảo bọc da thuộc.
Bọn trẻ đắp người tuyết có mũi cà rốt và khuy than.
Bác sĩ khuyên tập thở và dạo bộ ngắn sau bữa sáng.
Trước khi sơn phải bóc giấy dán tường cũ và trát vữa.
Vườn nho nằm trên sườn núi phía nam nhiều nắng nhất.
Hàng xóm lập hợp tác xã để mua củi chung cho mùa đông.
Người thợ nhào bột bằng tay rồi ủ dưới khăn lanh.
Hội đồng bác đơn vì phụ lục mờ nhạt và thiếu trang.
Thợ đồng hồ lau bộ máy nhưng lò xo đã nứt.
Đoàn chèo thuyền ngủ trên cù lao giữa hồ rộng.
Cô giáo địa lý mang quả cầu và hỏi học trò về xích đạo.
Người nuôi ong xem khung tổ, tìm ong chúa và ghi chép.
Dịch giả sửa bài thơ mà vẫn giữ vần điệu cổ xưa.
""",
}
MAX_QUERIES = 120
"""Queries of a vault, taken at even distances from all passages that have two rare words with accents."""
MAX_LOST = 2
"""Maximum number of queries of a vault that find their passage with accents, but not without."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_SHORT_WORD = re.compile(r"[^\W\d_]{2,}")
"""Words of Vietnamese are syllables."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accents", description=__doc__)
    parser.add_argument("--vault", type=Path, nargs="*", default=(), help="measure these folders of notes too")
    write_option(parser, "accents")
    args = parser.parse_args()
    with result("accents", "Words without their accents", write=args.write):
        measure(args.vault)


def measure(others: Iterable[Path] = ()) -> None:
    by_language = {language: text.strip().splitlines() for language, text in TEXTS.items()}
    measured: dict[str, Counter[str]] = {}
    for language, lines in by_language.items():
        sections = (f"## {number}\n\n{line}\n" for number, line in enumerate(lines))
        word = _SHORT_WORD if language == "vi" else _WORD
        measured[language] = _measure_notes({language: "\n".join(sections)}, word)
    measured["all six"] = sum(measured.values(), Counter())
    notes = {f"{language} {at}": line for language, lines in by_language.items() for at, line in enumerate(lines)}
    measured["120 notes in one vault"] = _measure_notes(notes, _WORD)
    for folder in others:
        measured[f"{folder.name} (folder)"] = _measure_vault(folder, _WORD)
    keys = ("queries", "found written", "found plain", "nothing written", "nothing plain")
    head = ("text", "queries", "found as written", "without accents", "nothing answers", "without accents")
    table(head, [(name, *(str(counts[key]) for key in keys)) for name, counts in measured.items()])
    print()
    for name, counts in measured.items():
        print(verdict(counts["lost"] <= MAX_LOST, f"{name}: {counts['lost']} of {counts['queries']} lost"))


def _measure_notes(notes: Mapping[str, str], word: re.Pattern[str]) -> Counter[str]:
    with TemporaryDirectory() as folder:
        for name, text in notes.items():
            Path(folder, f"{name}.md").write_text(f"{text}\n", encoding="utf-8")
        return _measure_vault(Path(folder), word)


def _measure_vault(folder: Path, word: re.Pattern[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    with excerpt.open(folder) as vault:
        passages = {fragment.id: fragment.text for note in vault.notes() for fragment in vault.fragments(note.path)}
        for passage, query in zip(passages, choose_queries([*passages.values()], word), strict=True):
            if not query:
                continue
            found = {}
            for way, typed in (("written", query), ("plain", fold(query))):
                answer = vault.search(typed, limit=1)
                found[way] = passage in {hit.fragment.id for hit in answer.hits}
                counts[f"found {way}"] += found[way]
                counts[f"nothing {way}"] += answer.confidence is Confidence.NOTHING
            counts["queries"] += 1
            counts["lost"] += found["written"] and not found["plain"]
    return counts


def choose_queries(texts: Sequence[str], word: re.Pattern[str] = _WORD) -> list[str]:
    """Return for each passage two of its accented words that no other passage has, "" if it has fewer, or is left out.

    Of all passages with such words, MAX_QUERIES are chosen at even distances.
    """
    words = [word.findall(unicodedata.normalize("NFC", text)) for text in texts]
    counts = Counter(fold(each) for found in words for each in {fold(each): each for each in found}.values())
    rare = [
        [each for each in dict.fromkeys(found) if fold(each) != each.casefold() and counts[fold(each)] == 1]
        for found in words
    ]
    possible = [at for at, found in enumerate(rare) if len(found) > 1]
    step = max(len(possible) / MAX_QUERIES, 1)
    chosen = {possible[int(number * step)] for number in range(int(len(possible) / step))}
    choose = random.Random(7)
    return [" ".join(choose.sample(found, 2)) if at in chosen else "" for at, found in enumerate(rare)]


if __name__ == "__main__":
    main()
