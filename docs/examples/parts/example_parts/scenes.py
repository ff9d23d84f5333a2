"""A chunker of screenplays: a pack has whole scenes."""

from collections.abc import Sequence

PLACES = ("INT. ", "EXT. ")  # how the first line of a scene begins


class SceneChunker:
    def recognises(self, lines: Sequence[str]) -> bool:
        return sum(line.startswith(PLACES) for line in lines) > 1

    def unit_starts(self, lines: Sequence[str]) -> Sequence[int]:
        return [number for number, line in enumerate(lines) if line.startswith(PLACES)]
