"""The databases of the test IOCs. A record that counts is a calc with VAL+1: VAL is the truth."""
from . import env


def counting() -> str:
    """Scan chain, asynchronous, disabled and gated records; see db/counting.db. Macro P."""
    return (env.E2E_DIR / "db" / "counting.db").read_text()


def counter(prefix: str) -> str:
    return f'record(calc,"{prefix}:n"){{field(CALC,"VAL+1")}}\n'


def put_targets(prefix: str, targets: int) -> str:
    """Passive records for puts; each forward-links to NAME:count, which so counts the puts."""
    kinds = [("set", "ao", ""), ("text", "stringout", ""),
             ("array", "waveform", 'field(FTVL,"DOUBLE") field(NELM,"100000")')]
    return "".join(
        f'record({kind},"{prefix}{name}{i}"){{{extra} field(FLNK,"{prefix}{name}{i}:count")}}\n'
        f'record(calc,"{prefix}{name}{i}:count"){{field(CALC,"VAL+1")}}\n'
        for name, kind, extra in kinds for i in range(1, targets + 1))


def put_sources(prefix: str) -> str:
    """Records that are written to in every way; those with a NAME:count count their processings there."""
    return f"""
        record(ao,"{prefix}set"){{field(FLNK,"{prefix}set:count")}}
        record(calc,"{prefix}set:count"){{field(CALC,"VAL+1")}}
        record(ao,"{prefix}head"){{field(OUT,"{prefix}middle PP")}}
        record(ao,"{prefix}middle"){{field(OUT,"{prefix}end.A PP")}}
        record(calc,"{prefix}end"){{field(CALC,"VAL+1")}}
        record(ao,"{prefix}protected"){{field(DISP,"1")}}
        record(calc,"{prefix}links"){{field(CALC,"VAL+1")}}
        record(calcout,"{prefix}busy"){{field(CALC,"VAL+1") field(ODLY,"0.5")}}
        record(sub,"{prefix}inside"){{field(SNAM,"put_inside") field(DESC,"{prefix}written")}}
        record(ao,"{prefix}written"){{field(OUT,"{prefix}end.B")}}
    """


def scans_and_asynchronous(prefix: str) -> str:
    """One record that is scanned; two asynchronous ones, and one that is not."""
    return f"""
        record(calc,"{prefix}scan"){{field(SCAN,".1 second") field(CALC,"VAL+1")}}
        record(calcout,"{prefix}slow"){{field(CALC,"VAL+1") field(ODLY,"0.3")}}
        record(calcout,"{prefix}quick"){{field(CALC,"VAL+1") field(ODLY,"0.01")}}
        record(calcout,"{prefix}sync"){{field(CALC,"VAL+1")}}
    """
