"""Write the typeface of the pages, Inter, as one small variable font.

    python agreement_site/server/typeface.py build/static/vendor/inter.woff2

The wheel of fontpkg-inter contains the font (876 kB), so nothing of it is in this repository. The
pages need Latin letters, digits and a few signs in the weights 400 to 600 (46 kB); Chinese uses
the fonts of the system. Without the file, pages use local fonts (static/css/typeface.css).
"""

import shutil
import sys
from pathlib import Path
from typing import Any

PUNCTUATION = "‐‑‒–—‘’“”„†•…‰′″‹›€←↑→↓−×≈≠≤≥✓"
CHARACTERS = [*range(0x20, 0x7F), *range(0xA0, 0x180), *map(ord, PUNCTUATION)]
# Kerning and marks, digits of one width, a single-storey "a", round quotes and commas.
FEATURES = ["kern", "calt", "ccmp", "locl", "mark", "mkmk", "tnum", "cv11", "ss03"]
WEIGHTS = (400, 600)


def write_font(target: Path) -> None:
    """Write the font to ``target``, with its licence beside it."""
    # They are installed for the setup alone.
    import fontpkg_inter
    from fontTools import subset
    from fontTools.ttLib import TTFont
    from fontTools.varLib import instancer

    folder = Path(fontpkg_inter.__path__[0])
    font = TTFont(folder / "files" / "Inter[opsz,wght].ttf", recalcTimestamp=False)
    # A character that no font has is drawn as the box of the first font: it must not be empty.
    options = subset.Options(layout_features=FEATURES, hinting=False, notdef_outline=True)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=CHARACTERS)
    subsetter.subset(font)
    _restrict_tabular_widths(font)
    font = instancer.instantiateVariableFont(font, {"wght": WEIGHTS})
    font.flavor = "woff2"
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / "LICENSE", target.with_suffix(".LICENSE.txt"))
    temporary = target.with_suffix(".part")
    font.save(temporary)
    temporary.replace(target)


def _restrict_tabular_widths(font: Any) -> None:
    """Apply tabular widths to digits only: wide hyphens and spaces would leave gaps in dates."""
    names = font.getBestCmap()
    digits = {names[ord(digit)] for digit in "0123456789"}
    substitutions = font["GSUB"].table
    for record in substitutions.FeatureList.FeatureRecord:
        if record.FeatureTag != "tnum":
            continue
        for index in record.Feature.LookupListIndex:
            for table in substitutions.LookupList.Lookup[index].SubTable:
                mapping = getattr(table, "ExtSubTable", table).mapping
                for name in mapping.keys() - digits:
                    del mapping[name]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python agreement_site/server/typeface.py TARGET.woff2")
    write_font(Path(sys.argv[1]))
