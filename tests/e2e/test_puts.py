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


def send_and_check(ioc, start_exporter, connect, client, pvs, count, expected_user, op="write",
                   **options):
    exporter = start_exporter(sees=[ioc])
    sender = connect(client, [ioc], pvs, count, op=op, **options)
    assert puts(exporter.scrape(), ioc) == {}
    assert sender.send() == count * len(pvs)
    check_puts(ioc, exporter, by(expected_user, op, pvs, count))
    sender.close()
    # The end of the connection neither loses nor repeats a count.
    check_puts(ioc, exporter, by(expected_user, op, pvs, count))


def names(kind):
    return [f"W:{kind}{i}" for i in range(1, TARGETS + 1)]


def test_libca_put(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.libca, names("set"), 211,
                   clients.LIBCA_USER)


def test_libca_put_many_in_a_segment(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.libca, names("set"), 20011,
                   clients.LIBCA_USER, batch=1000)


def test_libca_put_callback(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.libca, names("set"), 211,
                   clients.LIBCA_USER, op="write_notify")


def test_libca_put_string(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.libca, names("text"), 1009,
                   clients.LIBCA_USER, kind="string", batch=7)


def test_libca_put_every_dbr_type(ioc, start_exporter, connect):
    exporter = start_exporter(sees=[ioc])
    kinds = ["string", "short", "float", "enum", "char", "long", "double"]
    for kind in kinds:
        connect(clients.libca, [ioc], names("set"), 101, kind=kind, batch=10).send()
        connect(clients.libca, [ioc], names("set"), 11, kind=kind, op="write_notify").send()
    check_puts(ioc, exporter, {**by(clients.LIBCA_USER, "write", names("set"), 101 * len(kinds)),
                               **by(clients.LIBCA_USER, "write_notify", names("set"), 11 * len(kinds))})


def test_libca_put_arrays_of_1_to_100000_elements(ioc, start_exporter, connect):
    """Every DBR type that an array may have, across the sizes at which the header or the segment changes."""
    exporter = start_exporter(sees=[ioc])
    sent = 0
    for kind in ["char", "short", "long", "double"]:
        for length in [1, 2, 3, 181, 2048, 8190, 16381, 65534, 65535, 65536, 100_000]:
            connect(clients.libca, [ioc], [ARRAY], 5, kind=kind, length=length, batch=3).send()
            sent += 5
    check_puts(ioc, exporter, by(clients.LIBCA_USER, "write", [ARRAY], sent))


def test_libca_put_array_of_many_segments(ioc, start_exporter, connect):
    """40,000 doubles: the extended header, and messages that span segments."""
    send_and_check(ioc, start_exporter, connect, clients.libca, names("array"), 23,
                   clients.LIBCA_USER, length=40000)


def test_libca_put_arrays_of_odd_sizes(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.libca, names("array"), 211,
                   clients.LIBCA_USER, length=1237, batch=5)


def test_libca_put_callback_array(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.libca, names("array"), 23,
                   clients.LIBCA_USER, op="write_notify", length=20000)


def test_pyepics_put(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.pyepics, names("set"), 101,
                   clients.LIBCA_USER)


def test_pyepics_put_callback(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.pyepics, names("set"), 23,
                   clients.LIBCA_USER, op="write_notify")


def test_caproto_put(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.caproto, names("set"), 101, "operator",
                   user="operator")


def test_caproto_put_callback(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.caproto, names("set"), 23, "operator",
                   op="write_notify", user="operator")


def test_caproto_asyncio_put(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.caproto_asyncio, names("set"), 101,
                   "physicist", user="physicist")


def test_caproto_asyncio_put_callback(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.caproto_asyncio, names("set"), 23,
                   "physicist", op="write_notify", user="physicist")


def test_caj_put(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.caj, names("set"), 101, clients.LIBCA_USER)


def test_caj_put_callback(ioc, start_exporter, connect):
    send_and_check(ioc, start_exporter, connect, clients.caj, names("set"), 23, clients.LIBCA_USER,
                   op="write_notify")


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


def test_pv_is_the_name_that_the_client_asked_for(ioc, start_exporter, connect):
    exporter = start_exporter(sees=[ioc])
    asked = ["W:set1", "W:set1.VAL", "W:set2.VAL"]
    connect(clients.libca, [ioc], asked, 23).send()
    check_puts(ioc, exporter, by(clients.LIBCA_USER, "write", asked, 23))


def test_only_puts_are_counted(ioc, start_exporter, connect):
    """Connecting, reading and closing are no puts."""
    exporter = start_exporter(sees=[ioc])
    reader = connect(clients.libca, [ioc], names("set"), 1)
    reader.close_unsent()
    assert puts(exporter.scrape(), ioc) == {}


def test_one_client_of_two_iocs(start_ioc, start_exporter, connect):
    iocs = [start_ioc(f"puts-{p}", databases.put_targets(f"{p}:", 1)) for p in ("A", "B")]
    exporter = start_exporter(sees=iocs)
    connect(clients.libca, iocs, ["A:set1", "B:set1"], 211, batch=10).send()
    for ioc, pv in zip(iocs, ["A:set1", "B:set1"]):
        check_puts(ioc, exporter, by(clients.LIBCA_USER, "write", [pv], 211))


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
