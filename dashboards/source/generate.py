"""Writes the dashboards as JSON:  python dashboards/source/generate.py [DIRECTORY]     (default: dashboards/)"""
import pathlib
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder

import drivers
import exporter
import iocs
import overview
import puts
import records

BOARDS = {"overview": overview, "puts": puts, "records": records, "iocs": iocs, "drivers": drivers,
          "exporter": exporter}


def main() -> None:
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    for name, module in BOARDS.items():
        text = JSONEncoder(sort_keys=True, indent=2).encode(module.board().build())
        (directory / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
