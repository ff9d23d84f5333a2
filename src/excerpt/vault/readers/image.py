"""The reader of images, whose text OCR recognises if it is enabled."""

from __future__ import annotations

from msgspec import Struct

from excerpt.base.model import Note
from excerpt.base.settings import Ocr
from excerpt.vault.readers import PagedText, ReadOptions, paged_note
from excerpt.vault.readers.image_size import count_tiff_pages, image_size
from excerpt.vault.readers.ocr import ocr_warning, recognise_text

HEADING = "Text in the image (OCR)"


class ImageReader(Struct, frozen=True):
    """The reader of images."""

    kind: str = "image"
    version: str = "1"
    extensions: tuple[str, ...] = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Extract a note with the text in an image; see Reader.read. Without OCR it is empty and `unread` is 1."""
        image_size(data)
        if options.ocr is Ocr.OFF:
            return paged_note(path, (), options, unread=1)
        recognised = recognise_text(data, options.ocr, options.language)
        parts = (PagedText("", (HEADING,), recognised.text),) if recognised.text else ()
        warnings = ocr_warning(recognised)
        if (pages := count_tiff_pages(data)) > 1:
            warnings += (f"Only the first of the image's {pages:,} pages is read. Save it as a PDF to read all pages.",)
        return paged_note(path, parts, options, warnings=warnings)
