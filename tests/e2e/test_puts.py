"""N puts are N: counted by the IOC's own records, and equal on /metrics, with who sent them."""
import signal

import pytest

from harness import clients, databases
from harness.scrape import PUTS

EXPORTER_OPTIONS = ["--no-collector.records"]
BOTH_PUT_SOURCES = True

TARGETS = 5
ARRAY = "W:array1"


@pytest.fixture(scope="module")
def one_ioc(shared):
    return shared.ioc("puts", databases.put_targets("W:", TARGETS))


@pytest.fixture
def ioc(one_ioc):
    """The file's IOC, and in `before` what its records have counted by now."""
    one_ioc.before = one_ioc.get_all([f"{record}:count.VAL" for kind in ("set", "text", "array") for record in names(kind)])
    return one_ioc


def puts(scrape, ioc):
    """(pv, client, user, host, op) to count, of every series of this IOC."""
    return {tuple(labels[k] for k in ("pv", "client", "user", "client_host", "op")): value
            for labels, value in scrape.series(PUTS, ioc=ioc.name)}


def by(user, op, pvs, count):
    return {(pv, clients.LOOPBACK, user, clients.HOST, op): count for pv in pvs}


def record_of(pv):
    return pv.partition(".")[0]


def check_puts(ioc, exporter, expected):
    """The scrape says `expected`, and the IOC's records counted the same."""
    scrape = exporter.scrape()
    assert puts(scrape, ioc) == expected
    per_record: dict[str, int] = {}
    for (pv, *_), count in expected.items():
        per_record[record_of(pv)] = per_record.get(record_of(pv), 0) + count
    for record, count in per_record.items():
        field = f"{record}:count.VAL"
        assert ioc.get(field) - getattr(ioc, "before", {}).get(field, 0) == count


def names(kind):
    return [f"W:{kind}{i}" for i in range(1, TARGETS + 1)]


def send_all(ioc, connect, kinds):
    """Puts to all targets by each of (client, user, op, count, options); what is expected of them."""
    senders = [(connect(client, [ioc], names("set"), count, op=op, **options), user, op, count)
               for client, user, op, count, options in kinds]
    expected = {}
    for sender, user, op, count in senders:
        assert sender.send() == count * TARGETS
        for key, more in by(user, op, names("set"), count).items():
            expected[key] = expected.get(key, 0) + more
    for sender, *_ in senders:
        sender.close()
    return expected


def test_each_client(ioc, start_exporter, connect):
    """Connecting, reading and closing are no puts, and the end of a connection neither loses nor repeats a count."""
    exporter = start_exporter(sees=[ioc])
    connect(clients.libca, [ioc], names("set"), 1).close_unsent()
    assert puts(exporter.scrape(), ioc) == {}
    kinds = [(client, user, op, count, {} if user == clients.LIBCA_USER else {"user": user})
             for client, user in ((clients.libca, clients.LIBCA_USER), (clients.pyepics, clients.LIBCA_USER),
                                  (clients.caproto, "operator"), (clients.caproto_asyncio, "physicist"))
             for op, count in (("write", 101), ("write_notify", 23))]
    check_puts(ioc, exporter, send_all(ioc, connect, kinds))


def test_libca_put_every_dbr_type(ioc, start_exporter, connect):
    exporter = start_exporter(sees=[ioc])
    kinds = ["string", "short", "float", "enum", "char", "long", "double"]
    check_puts(ioc, exporter, send_all(ioc, connect, [(clients.libca, clients.LIBCA_USER, op, count, {"kind": kind, "batch": 7})
                                                      for kind in kinds for op, count in (("write", 101), ("write_notify", 11))]))


def test_libca_put_arrays_of_1_to_100000_elements(ioc, start_exporter, connect):
    """Every DBR type that an array may have, across the sizes at which the header or the segment changes."""
    exporter = start_exporter(sees=[ioc])
    sent = 0
    for kind, lengths in {"char": [1, 2, 3, 65534, 65535, 65536, 100_000], "short": [181, 16381, 65535],
                          "long": [2048, 16381, 65536], "double": [1, 1237, 8190, 8192, 100_000]}.items():
        for length in lengths:
            connect(clients.libca, [ioc], [ARRAY], 5, kind=kind, length=length, batch=3).send()
            sent += 5
    connect(clients.libca, [ioc], names("array"), 23, length=40000).send()
    connect(clients.libca, [ioc], names("array"), 23, op="write_notify", length=20000).send()
    expected = {**by(clients.LIBCA_USER, "write", names("array"), 23), **by(clients.LIBCA_USER, "write_notify", names("array"), 23)}
    expected |= by(clients.LIBCA_USER, "write", [ARRAY], sent + 23)
    check_puts(ioc, exporter, expected)


def test_caj(ioc, start_exporter, connect):
    exporter = start_exporter(sees=[ioc])
    check_puts(ioc, exporter, send_all(ioc, connect, [(clients.caj, clients.LIBCA_USER, op, count, {})
                                                      for op, count in (("write", 101), ("write_notify", 23))]))


def test_several_clients_at_once(ioc, start_exporter, connect):
    """Users that write to the same PVs at the same time are told apart; equal ones are added up."""
    exporter = start_exporter(sees=[ioc])
    pvs = names("set")
    senders = [connect(clients.libca, [ioc], pvs, 4001, batch=100),
               connect(clients.libca, [ioc], pvs, 4001, batch=1),
               connect(clients.libca, [ioc], pvs, 307, op="write_notify"),
               connect(clients.caproto, [ioc], pvs, 101, user="operator"),
               connect(clients.caproto, [ioc], pvs, 53, user="physicist")]
    for sender in senders:
        sender.start_sending()
    for sender in senders:
        sender.wait_sent()
    check_puts(ioc, exporter, {**by(clients.LIBCA_USER, "write", pvs, 8002),
                               **by(clients.LIBCA_USER, "write_notify", pvs, 307),
                               **by("operator", "write", pvs, 101),
                               **by("physicist", "write", pvs, 53)})


@pytest.mark.every_base
def test_each_base(start_ioc, start_exporter, connect, base):
    """Every Base version's server, written to by a libca of another version."""
    ioc = start_ioc(f"puts-{base}", databases.put_targets("W:", TARGETS), base=base)
    exporter = start_exporter(sees=[ioc])
    pvs = names("set")
    connect(clients.libca, [ioc], pvs, 401, batch=50).send()
    connect(clients.libca, [ioc], pvs, 23, op="write_notify").send()
    check_puts(ioc, exporter, {**by(clients.LIBCA_USER, "write", pvs, 401),
                               **by(clients.LIBCA_USER, "write_notify", pvs, 23)})


def test_clients_that_come_before_a_restarted_ioc_is_found(start_ioc, start_exporter, connect, put_source):
    """Clients reconnect within milliseconds of an IOC's start: their channels have names all the same."""
    ioc = start_ioc("puts-restarted", databases.put_targets("W:", TARGETS))
    exporter = start_exporter(sees=[ioc])
    ioc.kill()
    exporter.wait_scrape(lambda s: s.value("epics_ioc_up", ioc=ioc.name) == 0, "the IOC is down")
    exporter.process.popen.send_signal(signal.SIGSTOP)  # it finds nothing now, its programs in the kernel go on
    again = start_ioc(ioc.name, databases.put_targets("W:", TARGETS), port=ioc.port)
    sender = connect(clients.libca, [again], names("set"), 101)
    assert sender.send() == 101 * TARGETS
    exporter.process.popen.send_signal(signal.SIGCONT)
    scrape = exporter.wait_up(again, timeout=60)
    expected = by(clients.LIBCA_USER, "write", names("set"), 101)
    if put_source == "packets":
        # Of what the records did before the IOC was found nothing is known, of the puts everything.
        assert puts(scrape, again) == expected
        return
    # Packets count no put to a server that is probed: what was there before is not counted, and told.
    assert puts(exporter.wait_put_source(again, "server"), again) == {}
    assert connect(clients.libca, [again], names("set"), 101).send() == 101 * TARGETS
    exporter.wait_scrape(lambda page: puts(page, again) == expected, "the puts after it was found")
