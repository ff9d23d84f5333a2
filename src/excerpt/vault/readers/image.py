"""Images: what is written in them, read by OCR once that is switched on."""

from __future__ import annotations

from dataclasses import dataclass

from excerpt.model import Note
from excerpt.settings import Ocr
from excerpt.vault.readers import PagedText, ReadOptions, paged_note
from excerpt.vault.readers.image_size import pages_of, size_of
from excerpt.vault.readers.ocr import ocr_warning, recognise

HEADING = "Text in the image (OCR)"


@dataclass(frozen=True, slots=True)
class ImageReader:
    kind: str = "image"
    version: str = "1"
    extensions: tuple[str, ...] = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Read as Reader.read does. Without OCR the note is empty and counts an unread image."""
        size_of(data)
        if options.ocr is Ocr.OFF:
            return paged_note(path, (), options, unread=1)
        recognised = recognise(data, options.ocr, options.language)
        parts = (PagedText("", (HEADING,), recognised.text),) if recognised.text else ()
        warnings = ocr_warning(recognised)
        if (pages := pages_of(data)) > 1:
            warnings += (f"Only the first of its {pages:,} pages is read. Save it as a PDF to read all pages.",)
        return paged_note(path, parts, options, warnings=warnings)
