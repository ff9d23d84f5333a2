"""Images of known text, as from a scanner or a screen, and the recall of the text read from them."""

from __future__ import annotations

import io
import re
from collections import Counter
from typing import Any

from PIL import Image, ImageDraw, ImageFont

DARWIN = """
When we look to the individuals of the same variety or sub-variety of our older cultivated plants and animals, one of
the first points which strikes us, is, that they generally differ much more from each other, than do the individuals of
any one species or variety in a state of nature. When we reflect on the vast diversity of the plants and animals which
have been cultivated, and which have varied during all ages under the most different climates and treatment, I think we
are driven to conclude that this greater variability is simply due to our domestic productions having been raised under
conditions of life not so uniform as, and somewhat different from, those to which the parent-species have been exposed
under nature.

There is, also, I think, some probability in the view propounded by Andrew Knight, that this variability may be partly
connected with excess of food. It seems pretty clear that organic beings must be exposed during several generations to
the new conditions of life to cause any appreciable amount of variation; and that when the organisation has once begun
to vary, it generally continues to vary for many generations. No case is on record of a variable being ceasing to be
variable under cultivation. Our oldest cultivated plants, such as wheat, still often yield new varieties: our oldest
domesticated animals are still capable of rapid improvement or modification.
""".strip()
"""From "On the Origin of Species", 1859."""


def text_image(
    text: str, *, letter: int = 24, width: int = 900, ink: str = "black", paper: str = "white"
) -> Image.Image:
    """Draw a text as an image: in letters of `letter` pixels, in lines of at most `width` pixels."""
    font = ImageFont.load_default(size=letter)
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        line = ""
        for word in paragraph.split():
            if line and font.getlength(f"{line} {word}") > width:
                lines.append(line)
                line = ""
            line = f"{line} {word}".strip()
        lines += [line, ""]
    image = Image.new("RGB", (width + 4 * letter, (len(lines) * 3 // 2 + 4) * letter), paper)
    pen = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        pen.text((2 * letter, (2 + 1.5 * number) * letter), line, ink, font)
    return image


def image_bytes(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    """Return an image encoded as a file."""
    data = io.BytesIO()
    image.save(data, kind, **options)
    return data.getvalue()


def recall(text: str, found: str) -> float:
    """Return the share of a text's words that were found."""
    wanted, there = (Counter(re.findall(r"\w+", each.lower())) for each in (text, found))
    return (wanted & there).total() / wanted.total()
