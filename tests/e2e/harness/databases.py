"""The databases of the test IOCs. A record that counts is a calc with VAL+1: VAL is the truth."""
from . import env


def counting() -> str:
    """Scan chain, asynchronous, disabled and gated records; see db/counting.db. Macro P."""
    return (env.E2E_DIR / "db" / "counting.db").read_text()


def deep_chain(prefix: str, depth: int) -> str:
    """`depth` counting records, each forward-linked to the next: one dbProcess nests `depth` deep."""
    links = [f'field(FLNK,"{prefix}{i + 1}")' for i in range(1, depth)] + [""]
    return "".join(f'record(calc,"{prefix}{i}"){{field(CALC,"VAL+1") {link}}}\n'
                   for i, link in enumerate(links, start=1))


def put_targets(prefix: str, targets: int) -> str:
    """Passive records for puts; each forward-links to NAME:count, which so counts the puts."""
    kinds = [("set", "ao", ""), ("text", "stringout", ""),
             ("array", "waveform", 'field(FTVL,"DOUBLE") field(NELM,"100000")')]
    return "".join(
        f'record({kind},"{prefix}{name}{i}"){{{extra} field(FLNK,"{prefix}{name}{i}:count")}}\n'
        f'record(calc,"{prefix}{name}{i}:count"){{field(CALC,"VAL+1")}}\n'
        for name, kind, extra in kinds for i in range(1, targets + 1))
