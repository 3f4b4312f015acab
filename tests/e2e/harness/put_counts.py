"""Puts as the IOC's own records count them, and as the exporter does."""
from .scrape import PUTS


class Counts:
    """Counts of the IOC's records and of the exporter since this was made."""

    def __init__(self, ioc, exporter, pvs: list[str]):
        self._ioc, self._exporter, self._pvs = ioc, exporter, pvs
        self._before, self._all_before = self._of_ioc(), exporter.scrape().total(PUTS, ioc=ioc.name)

    def check(self, expected: dict[tuple[str, str], int]) -> None:
        """(pv, user) -> puts: so many the IOC did, and so many count, no others."""
        now = self._of_ioc()
        done = {pv: now[pv] - self._before[pv] for pv in self._pvs if now[pv] != self._before[pv]}
        by_pv: dict[str, int] = {}
        for (pv, _), count in expected.items():
            by_pv[pv] = by_pv.get(pv, 0) + count
        assert done == by_pv
        scrape = self._exporter.wait_scrape(
            lambda s: s.total(PUTS, ioc=self._ioc.name) >= self._all_before + sum(expected.values()), "all puts")
        users = {user for _, user in expected}
        counted: dict[tuple[str, str], int] = {}
        for labels, value in scrape.series(PUTS, ioc=self._ioc.name):
            if labels["user"] in users:
                key = (labels["pv"], labels["user"])
                counted[key] = counted.get(key, 0) + int(value)
        assert counted == expected, f"{counted} instead of {expected}"
        assert scrape.total(PUTS, ioc=self._ioc.name) == self._all_before + sum(expected.values())

    def _of_ioc(self) -> dict[str, int]:
        return {pv: self._ioc.get(f"{pv.partition('.')[0]}:count.VAL") for pv in self._pvs}
