"""Write the chart libraries (Vega, Vega-Lite, vega-embed) as one JavaScript file.

    python agreement_site/server/vega_bundle.py build/static/vendor/vega-bundle.js

The wheel of vl-convert contains the libraries, so nothing is downloaded and none of their code
is in this repository. The bundle has names at top level and sets `window.vegaEmbed`,
`window.vegaLite` and `window.vega`: load it as `<script type="module">`.
"""

import gzip
import sys
from importlib import metadata
from pathlib import Path

SNIPPET = "window.vegaEmbed = vegaEmbed; window.vegaLite = vegaLite; window.vega = vega;"

NOTICE = """\
vega-bundle.js was made from the wheel vl-convert-python {version}. It holds Vega {vega},
Vega-Lite {vega_lite} and vega-embed {vega_embed} (https://vega.github.io), which are published
under the BSD 3-Clause License by the University of Washington Interactive Data Lab and
contributors.
The licence of vl-convert itself follows.

"""


def write_bundle(target: Path) -> None:
    """Write the bundle to `target`, with a compressed copy and licences beside it.

    WhiteNoise serves the compressed copy.
    """
    import vl_convert  # takes half a second, and only this function needs it

    bundle = vl_convert.javascript_bundle(SNIPPET)
    if "window.vegaEmbed" not in bundle:
        sys.exit("The bundle of vl-convert does not set window.vegaEmbed; charts would stay empty.")
    notice = NOTICE.format(
        version=metadata.version("vl-convert-python"),
        vega=vl_convert.get_vega_version(),
        vega_lite=vl_convert.get_vegalite_versions()[-1],
        vega_embed=vl_convert.get_vega_embed_version(),
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    target.with_suffix(".LICENSE.txt").write_text(notice + _read_wheel_licence(), encoding="utf-8")
    compressed = gzip.compress(bundle.encode(), compresslevel=9, mtime=0)
    target.with_name(target.name + ".gz").write_bytes(compressed)
    temporary = target.with_suffix(".part")
    temporary.write_text(bundle, encoding="utf-8")
    temporary.replace(target)


def _read_wheel_licence() -> str:
    files = metadata.files("vl-convert-python") or []
    return "\n".join(file.read_text() for file in files if file.name.startswith("LICENSE"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python agreement_site/server/vega_bundle.py TARGET.js")
    write_bundle(Path(sys.argv[1]))
