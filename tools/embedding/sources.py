"""The training sources: Debian packages of the release named below, each with its field, licence and share.

All are from Debian's main section, so free by its guidelines; the licence is the one that the package's copyright file
gives for its texts. Shares keep one field or style from dominating: a dictionary has a line for everything, reference
manuals repeat themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

RELEASE = "Debian 12 (bookworm)"
DOC_HTML = ("usr/share/doc/**/*.html",)


@dataclass(frozen=True)
class Source:
    """A package: its subject, its licence, the reader of its files, and the most passages taken from it."""

    package: str
    field: str
    licence: str
    reader: str
    share: int
    patterns: tuple[str, ...] = DOC_HTML


SOURCES = (
    Source("wordnet-base", "language", "WordNet", "wordnet", 120_000, ("usr/share/wordnet/data.*",)),
    Source("dict-gcide", "language", "GPL-2+", "dictd", 10_000, ("usr/share/dictd/*.dict.dz",)),
    Source(
        "dict-foldoc", "computing", "GFDL-1.2+, no invariant sections", "dictd", 12_000, ("usr/share/dictd/*.dict.dz",)
    ),
    Source("dict-jargon", "computing", "public domain", "dictd", 2_000, ("usr/share/dictd/*.dict.dz",)),
    Source(
        "r-bioc-go.db",
        "life",
        "Artistic-2.0",
        "gene_ontology",
        10_000,
        ("usr/lib/R/site-library/GO.db/extdata/GO.sqlite",),
    ),
    Source("python-biopython-doc", "life", "Biopython (BSD-like)", "markup", 600),
    Source("libsbml5-doc", "life", "LGPL-2.1", "markup", 600),
    Source("python-dipy-doc", "life", "BSD-3-Clause", "markup", 600),
    Source("rdkit-doc", "life", "BSD-3-Clause", "markup", 600),
    Source("massxpert-doc", "life", "GPL-3+", "markup", 600),
    Source(
        "stellarium-data",
        "physics",
        "GPL-2+",
        "markup",
        600,
        ("usr/share/stellarium/skycultures/*/description.en.utf8",),
    ),
    Source(
        "kstars-data",
        "physics",
        "GPL-2+, GFDL-1.2+",
        "markup",
        600,
        ("usr/share/doc/HTML/en/**/*.docbook",),
    ),
    Source("gnuradio-doc", "physics", "GPL-3+", "markup", 600),
    Source("libitpp-doc", "physics", "GPL-3+", "markup", 600),
    Source("kicad-doc-en", "physics", "GPL-2+ or CC-BY-SA-3.0", "markup", 600),
    Source("libdeal.ii-doc", "physics", "LGPL-2.1+", "markup", 1_500, ("usr/share/doc/**/step_*.html",)),
    Source("calculix-ccx-doc", "physics", "GPL-2", "markup", 600),
    Source("gmsh-doc", "physics", "GPL-2+", "markup", 600),
    Source("yade-doc", "physics", "GPL-2", "markup", 600),
    Source("python-astropy-doc", "physics", "BSD-3-Clause", "markup", 600),
    Source("grass-doc", "physics", "GPL-2+", "markup", 600),
    Source("sagemath-doc", "mathematics", "GPL-2+, CC-BY-SA-3.0", "markup", 600, ("usr/share/doc/**/en/**/*.html",)),
    Source("python-sympy-doc", "mathematics", "BSD-3-Clause", "markup", 600),
    Source("python-scipy-doc", "mathematics", "BSD-3-Clause", "markup", 600),
    Source("python-statsmodels-doc", "mathematics", "BSD-3-Clause", "markup", 600),
    Source("python-sklearn-doc", "mathematics", "BSD-3-Clause", "markup", 600),
    Source("opencv-doc", "mathematics", "Apache-2.0 and BSD-3-Clause", "markup", 600),
    Source("octave-doc", "mathematics", "GPL-3+", "markup", 600),
    Source("maxima-doc", "mathematics", "GPL-2+", "markup", 600, ("usr/share/**/*.html",)),
    Source("gap-doc", "mathematics", "GPL-2+", "markup", 600, ("usr/share/**/*.html",)),
    Source("r-doc-html", "mathematics", "GPL-2", "markup", 600, ("usr/share/**/*.html",)),
    Source("manpages", "computing", "GPL-2+, man-pages copyleft, BSD", "roff", 400, ("usr/share/man/man*/*.gz",)),
    Source("linux-doc-6.1", "computing", "GPL-2", "markup", 1_500, ("usr/share/doc/**/html/**/*.html",)),
    Source("python3.11-doc", "computing", "PSF-2", "markup", 400, ("usr/share/doc/**/*.html",)),
    Source("postgresql-doc-15", "computing", "PostgreSQL", "markup", 400),
    Source("git-doc", "computing", "GPL-2", "markup", 400),
    Source("sqlite3-doc", "computing", "public domain", "markup", 400),
    Source("rust-doc", "computing", "MIT or Apache-2.0", "markup", 400, ("usr/share/doc/**/book/*.html",)),
    Source("libboost1.81-doc", "computing", "BSL-1.0", "markup", 400),
    Source("perl-doc", "computing", "GPL-1+ or Artistic", "plain", 400, ("usr/share/perl/*/pod/*.pod",)),
    Source("erlang-doc", "computing", "Apache-2.0", "markup", 400),
    Source("racket-doc", "computing", "LGPL-2.1+, MIT", "markup", 400, ("usr/share/**/*.html",)),
    Source("c++-annotations-html", "computing", "GPL-2+", "markup", 400),
    Source("python-django-doc", "computing", "BSD-3-Clause", "markup", 400),
    Source("llvm-14-doc", "computing", "Apache-2.0 with LLVM exceptions", "markup", 400),
    Source("ns3-doc", "computing", "GPL-2", "markup", 400),
    Source("debian-reference-en", "computing", "GPL-2+", "markup", 400, ("usr/share/**/*.html",)),
    Source(
        "debian-handbook",
        "computing",
        "GPL-2+ or CC-BY-SA-3.0",
        "markup",
        400,
        ("usr/share/doc/debian-handbook/html/en-US/*.html",),
    ),
    Source(
        "gimp-help-en", "office", "GFDL-1.2+, no invariant sections", "markup", 600, ("usr/share/gimp/**/en/**/*.html",)
    ),
    Source(
        "libreoffice-help-en-us",
        "office",
        "MPL-2.0",
        "markup",
        600,
        ("usr/share/libreoffice/help/en-US/text/**/*.html",),
    ),
    Source(
        "gnucash-docs",
        "office",
        "GFDL-1.1+, no invariant sections",
        "markup",
        600,
        ("usr/share/doc/gnucash-docs/gnucash-*-en/*.html",),
    ),
    Source("gnome-user-docs", "office", "CC-BY-SA-3.0", "markup", 600, ("usr/share/help/C/**/*.page",)),
    Source(
        "lilypond-doc-html",
        "arts",
        "GFDL-1.3+, no invariant sections",
        "markup",
        600,
        ("usr/share/doc/**/Documentation/**/*.html",),
    ),
    Source("anarchism", "society", "GPL-2", "markup", 2_000, ("usr/share/doc/anarchism/html/*.html",)),
)
