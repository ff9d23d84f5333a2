"""Recognition of the text in images (OCR), by the program `tesseract` or the package `rapidocr`.

Each returns lines with positions, from which paragraphs and intended line ends are detected.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.util import find_spec
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from excerpt.base.errors import OcrMissingError, ReadError
from excerpt.base.installation import extra_hint
from excerpt.base.patterns import lazy_pattern
from excerpt.base.processes import find_program
from excerpt.base.settings import Ocr
from excerpt.vault.readers.image_size import image_size

if TYPE_CHECKING:
    from rapidocr import RapidOCR

MAX_CPU_SECONDS = 20
"""Maximum CPU seconds per image."""
# The limit of elapsed time, as a multiple of MAX_CPU_SECONDS, since the machine may be busy. Equals that of a worker.
_TIMEOUT_FACTOR = 5
MIN_CONFIDENCE = 60.0
"""Confidence (0 to 100) below which a recognised text gets a warning that it may be wrong."""


class RecognisedText(Struct, frozen=True):
    """The recognised text of an image, and the mean confidence of its words (0 to 100).

    Paragraphs of the text are separated by blank lines.
    """

    text: str
    confidence: float


Engine = Callable[[bytes, str], RecognisedText]
"""A function that recognises the text of an image in a language (ISO 639-1, "" if unknown)."""


def select_engine(ocr: Ocr) -> Engine:
    """Return the OCR function for a setting. Raises OcrMissingError, which says what to install."""
    if ocr in (Ocr.AUTO, Ocr.TESSERACT) and (program := find_program("tesseract")):
        return partial(_recognise_by_tesseract, program)
    if ocr in (Ocr.AUTO, Ocr.RAPIDOCR) and find_spec("rapidocr") and find_spec("onnxruntime"):
        return _recognise_by_rapidocr
    raise OcrMissingError(_MISSING[ocr], _install_hint(ocr))


def is_ocr_installed(ocr: Ocr) -> bool:
    """Return whether the OCR program for a setting is installed; not cached, so new installations are noticed."""
    try:
        select_engine(ocr)
    except OcrMissingError:
        return False
    return True


_TESSERACT = "install tesseract (apt install tesseract-ocr, brew install tesseract)"
_MISSING = {
    Ocr.OFF: "OCR is off.",
    Ocr.AUTO: "There is no OCR program: neither tesseract nor rapidocr is installed.",
    Ocr.TESSERACT: "There is no OCR program: tesseract is not on the PATH.",
    Ocr.RAPIDOCR: "There is no OCR program: rapidocr is not installed.",
}


def _install_hint(ocr: Ocr) -> str:
    match ocr:
        case Ocr.OFF:
            return 'Set vault.attachments.ocr = "auto".'
        case Ocr.AUTO:
            return f"{_TESSERACT.capitalize()}. Or: {extra_hint('ocr')}"
        case Ocr.TESSERACT:
            return f"{_TESSERACT.capitalize()}."
        case Ocr.RAPIDOCR:
            return extra_hint("ocr")


def recognise_text(image: bytes, ocr: Ocr, language: str) -> RecognisedText:
    """Recognise the text of an image: PNG, JPEG, GIF, BMP, TIFF, WebP, binary PGM or PPM. Raises ReadError.

    `language` is an ISO 639-1 code, or "" if unknown.
    """
    read = select_engine(ocr)
    # Checked before tesseract gets the file: it reads a file that is no image as a list of files and URLs.
    image_size(image)
    return read(image, language)


def ocr_warning(recognised: RecognisedText) -> tuple[str, ...]:
    """Return a warning for the note, as a tuple, if the confidence in the recognised text is low; else ()."""
    if not recognised.text or recognised.confidence >= MIN_CONFIDENCE:
        return ()
    return (f"The text recognised by OCR may be wrong: the confidence is {recognised.confidence:.0f} %.",)


# --- lines and paragraphs ---------------------------------------------------------------------------------------------


class ImageLine(Struct, frozen=True):
    """A line of text in an image: its words, and its position in pixels from the upper left."""

    words: tuple[str, ...]
    left: float
    right: float
    top: float
    bottom: float

    @property
    def text(self) -> str:
        return _join_words(self.words)


_LIST_MARK = lazy_pattern(r"[•·*+–—-]|\d{1,3}[.)]")
_HYPHENS = ("-", "\u2010", "\u00ad")


def join_blocks(blocks: Iterable[Sequence[ImageLine]]) -> str:
    """Join the lines of `blocks` to paragraphs of text.

    A line is joined with the next line unless the line end was intended: the next line begins with a list mark, or its
    first word would have fitted into the line. Divided words are joined.
    """
    return "\n\n".join(_join_paragraph(lines) for block in blocks for lines in _split_paragraphs(block))


def _split_paragraphs(block: Sequence[ImageLine]) -> Iterator[Sequence[ImageLine]]:
    """Yield the lines of each paragraph of a block. One begins after a larger gap, or with an indent."""
    steps = sorted(below.top - above.top for above, below in pairwise(block))
    usual = steps[len(steps) // 2] if steps else 0.0
    begin = 0
    for at, (above, line) in enumerate(pairwise(block), 1):
        after = block[at + 1] if at + 1 < len(block) else line
        height = line.bottom - line.top
        indented = min(line.left - above.left, line.left - after.left) > height / 2
        if line.top - above.top > 1.3 * usual or indented:
            yield block[begin:at]
            begin = at
    if block:
        yield block[begin:]


def _join_paragraph(lines: Sequence[ImageLine]) -> str:
    edge = max(line.right for line in lines)
    text = lines[0].text
    for line, following in pairwise(lines):
        word = following.words[0]
        if text.endswith(_HYPHENS) and text[-2:-1].isalpha() and word[:1].islower():
            # "state-of-the-" continues with "art": its other hyphens show that this one belongs to the word.
            divided = line.words[-1]
            text = text if any(hyphen in divided[:-1] for hyphen in _HYPHENS) else text[:-1]
            text += following.text
        elif _LIST_MARK.fullmatch(word) or line.right + _first_word_width(following) <= edge:
            text += f"\n{following.text}"
        else:
            text = _join_words((text, following.text))
    return text


def _first_word_width(line: ImageLine) -> float:
    """Return the width in pixels of a space and the line's first word, estimated by the mean letter width."""
    letters = len(line.text) or 1
    return (line.right - line.left) * (len(line.words[0]) + 1) / letters


def _join_words(words: Sequence[str]) -> str:
    """Return the words joined by spaces, but Chinese and Japanese words without spaces."""
    text = words[0]
    for word in words[1:]:
        text += word if _is_cjk(text[-1:]) and _is_cjk(word[:1]) else f" {word}"
    return text


def _is_cjk(letter: str) -> bool:
    return "\u3000" <= letter <= "\u30ff" or "\u3400" <= letter <= "\u9fff" or "\uff00" <= letter <= "\uffef"


# --- tesseract --------------------------------------------------------------------------------------------------------

# Tesseract's names of the languages that excerpt supports, by ISO 639-1 code; its data files have these names.
_TESSERACT_LANGUAGE_CODES: Mapping[str, tuple[str, ...]] = {
    "ar": ("ara",), "bg": ("bul",), "ca": ("cat",), "cs": ("ces",), "da": ("dan",), "de": ("deu",), "el": ("ell",),
    "en": ("eng",), "es": ("spa",), "et": ("est",), "eu": ("eus",), "fa": ("fas",), "fi": ("fin",), "fr": ("fra",),
    "ga": ("gle",), "he": ("heb",), "hi": ("hin",), "hu": ("hun",), "hy": ("hye",), "id": ("ind",), "it": ("ita",),
    "ja": ("jpn",), "km": ("khm",), "ko": ("kor",), "lo": ("lao",), "lt": ("lit",), "my": ("mya",), "ne": ("nep",),
    "nl": ("nld",), "no": ("nor",), "pl": ("pol",), "pt": ("por",), "ro": ("ron",), "ru": ("rus",), "sr": ("srp",),
    "sv": ("swe",), "ta": ("tam",), "th": ("tha",), "tr": ("tur",), "uk": ("ukr",), "vi": ("vie",),
    "zh": ("chi_sim", "chi_tra"),
}  # fmt: skip
_OTHER_DATA_FILES = ("osd", "equ", "snum")
# Each language makes an image take longer; a user with more than these has installed them all.
_MAX_LANGUAGES = 4


def languages_for(language: str, installed: Sequence[str]) -> tuple[str, ...]:
    """Return the tesseract languages to use, out of the `installed` ones: the vault's `language` and English.

    If `language` is "" and few languages are installed, return all of them.
    """
    supported = [name for name in installed if name not in _OTHER_DATA_FILES]
    if language or len(supported) > _MAX_LANGUAGES:
        names = (*_TESSERACT_LANGUAGE_CODES.get(language, ()), "eng")
        return tuple(name for name in dict.fromkeys(names) if name in supported)
    return tuple(sorted(supported, key=lambda name: name != "eng"))


def _recognise_by_tesseract(program: str, image: bytes, language: str) -> RecognisedText:
    languages = languages_for(language, _installed_languages(program))
    if not languages:
        raise ReadError(
            "tesseract has no data for the language of this vault, nor for English.",
            "Install tesseract's data for the language.",
        )
    argv = [program, "-", "-", "-l", "+".join(languages), "--psm", "3", "-c", "tessedit_page_number=0", "tsv"]
    return parse_tsv(_run_program(argv, image).decode("utf-8", "replace"))


@cache
def _installed_languages(program: str) -> tuple[str, ...]:
    """Return the languages for which tesseract has data. Raises ReadError."""
    # The first line names the folder; older versions write to stderr.
    listed = _run_program([program, "--list-langs"], b"", stderr=subprocess.STDOUT).decode("utf-8", "replace")
    return tuple(line for line in listed.splitlines()[1:] if line and " " not in line)


def _run_program(argv: Sequence[str], data: bytes, stderr: int = subprocess.PIPE) -> bytes:
    """Run a program with `data` on stdin and return its output. Raises ReadError if it fails or takes too long."""
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}  # its threads slow down each other
    try:
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=environment)
    except OSError as error:
        raise ReadError(f"The OCR program {argv[0]} cannot be started: {error.strerror or error}.") from error
    with process:
        try:
            _limit_cpu_time(process.pid)
            output, complaint = process.communicate(data, timeout=MAX_CPU_SECONDS * _TIMEOUT_FACTOR)
        except subprocess.TimeoutExpired:
            raise _timeout_error() from None
        finally:
            process.kill()
    if process.returncode == _CPU_LIMIT_EXIT_CODE:
        raise _timeout_error()
    if process.returncode:
        errors = (complaint or b"").decode("utf-8", "replace").strip().splitlines()
        reason = f": {errors[-1]}" if errors else ""
        raise ReadError(f"OCR cannot read the image (tesseract failed with exit code {process.returncode}{reason}).")
    return output


def _timeout_error() -> ReadError:
    return ReadError(f"OCR took longer than {MAX_CPU_SECONDS} s to read the image.")


# If the reading process is killed, nothing ends the program: the kernel limits its time where the limit can be set from
# outside. Elsewhere it ends after the current image.
if sys.platform == "linux":
    import resource
    import signal

    _CPU_LIMIT_EXIT_CODE = -signal.SIGXCPU

    def _limit_cpu_time(process: int) -> None:
        try:
            resource.prlimit(process, resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS + 1))
        except (OSError, ValueError):  # it has ended already, or its limit is lower
            return

else:
    _CPU_LIMIT_EXIT_CODE = None

    def _limit_cpu_time(_process: int) -> None:
        return


def parse_tsv(table: str) -> RecognisedText:
    """Return the text in tesseract's TSV output, which has a row for each word."""
    words = [row for line in table.splitlines()[1:] if (row := line.split("\t", 11))[0] == "5" and row[11:]]
    words = [row for row in words if row[11].strip()]
    # Tesseract's blocks are those of the page; its paragraphs often begin in the middle of a sentence.
    blocks = (
        [_line_of_words(list(line)) for _, line in groupby(rows, key=lambda row: row[3:5])]
        for _, rows in groupby(words, key=lambda row: row[1:3])
    )
    sure = [float(row[10]) for row in words]
    return RecognisedText(join_blocks(blocks), sum(sure) / len(sure) if sure else 0.0)


def _line_of_words(rows: Sequence[Sequence[str]]) -> ImageLine:
    boxes = [tuple(int(number) for number in row[6:10]) for row in rows]
    return ImageLine(
        words=tuple(row[11].strip() for row in rows),
        left=min(left for left, _, _, _ in boxes),
        right=max(left + width for left, _, width, _ in boxes),
        top=min(top for _, top, _, _ in boxes),
        bottom=max(top + height for _, top, _, height in boxes),
    )


# --- rapidocr ---------------------------------------------------------------------------------------------------------


def _recognise_by_rapidocr(image: bytes, _language: str) -> RecognisedText:
    """Return the text that rapidocr recognises in an image; its models read Chinese and Latin script."""
    try:
        result = _load_rapidocr()(image)
    except Exception as error:  # exceptions of OpenCV and onnxruntime have no common base
        raise ReadError(f"OCR cannot read the image ({type(error).__name__}: {error}).") from error
    if result.boxes is None or not result.txts:
        return RecognisedText("", 0.0)
    lines = [
        ImageLine(tuple(text.split()), *_bounding_box(box))
        for box, text in zip(result.boxes.tolist(), result.txts, strict=True)
        if text.strip()
    ]
    sure = [100 * float(score) for score in result.scores]
    return RecognisedText(join_blocks(group_lines(lines)), sum(sure) / len(sure))


def _bounding_box(corners: Sequence[Sequence[float]]) -> tuple[float, float, float, float]:
    across, down = [x for x, _ in corners], [y for _, y in corners]
    return min(across), max(across), min(down), max(down)


def group_lines(lines: Iterable[ImageLine]) -> list[list[ImageLine]]:
    """Return lines in reading order, grouped into blocks.

    The lines of a block are below each other, close together, of about the same height and left edge.
    """
    blocks: list[list[ImageLine]] = []
    for line in sorted(lines, key=lambda line: (line.top, line.left)):
        own = next((block for block in reversed(blocks) if _continues_block(block[-1], line)), None)
        if own is None:
            blocks.append([line])
        else:
            own.append(line)
    return blocks


def _continues_block(above: ImageLine, line: ImageLine) -> bool:
    low, high = sorted((above.bottom - above.top, line.bottom - line.top))
    close = -low / 2 < line.top - above.bottom < 1.5 * low
    return close and abs(line.left - above.left) < 3 * low and high < 1.5 * low


@cache
def _load_rapidocr() -> RapidOCR:
    """Return rapidocr's recogniser, loaded at the first call, which takes a second.

    Its model that turns upside-down lines is off: on a plain page it wrongly turns one line in four.
    """
    from rapidocr import RapidOCR

    # Files are read in parallel anyway: more threads use more CPU time and finish only a little sooner.
    single_thread = {
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    }
    return RapidOCR(params={"Global.log_level": "critical", "Global.use_cls": False, **single_thread})
