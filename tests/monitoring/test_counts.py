"""Counts of an IOC that leave the page over the budget, and come back: what Prometheus makes of them."""
import random

import pytest

from project import rules_test

INTERVAL, MINUTES = 15, 60
LABELS = '{ioc="busy",record="R"}'


def story(seed: int) -> tuple[list[int], list[str]]:
    """At each scrape: how often the record has processed, and its counter; "_" is none, and "stale" ends a series.

    The rate is steady: where it changes, Prometheus' extrapolation alone may exceed the truth, of any counter.
    """
    chance = random.Random(seed)
    more = chance.choice([7_001, 9_973]) * INTERVAL
    truth, counted, watched, rest = [0], [0], True, 0
    shown = ["0"]
    for _ in range(MINUTES * 60 // INTERVAL):
        rest -= 1
        if rest <= 0:
            was, watched = watched, not watched if truth[-1] else True
            rest = chance.choice([1, 4, 13, 20])
        else:
            was = watched
        truth.append(truth[-1] + more)
        # Of the interval in which it comes back a part is counted, and so is a second now and then while it is away.
        part = 1 if was and watched else chance.random() if watched or was else chance.choice([0, 0, 1 / INTERVAL])
        counted.append(counted[-1] + int(part * more))
        shown.append(str(counted[-1]) if watched else "stale" if was else "_")
    return truth, shown


@pytest.mark.parametrize("seed", range(5))
def test_increase_is_never_more_than_the_truth_nor_negative(seed, tmp_path):
    truth, shown = story(seed)
    assert "stale" in shown
    tests = [{"expr": expression, "eval_time": f"{minute}m", "exp_samples": []}
             for minute in range(6, MINUTES)
             for expression in (f"increase(epics_record_process_total{LABELS}[5m]) > (truth{LABELS} - truth{LABELS} offset 5m) * 1.000001",
                                f"rate(epics_record_process_total{LABELS}[5m]) < 0",
                                f"(increase(epics_record_process_total{LABELS}[2m]) > 0) "
                                f"> (truth{LABELS} - truth{LABELS} offset 2m) * 1.000001")]
    # And it does say something.
    tests.append({"expr": "max_over_time(count(increase(epics_record_process_total[5m]) > 0)[50m:1m]) > bool 0",
                  "eval_time": "55m", "exp_samples": [{"labels": "{}", "value": 1}]})
    rules_test(tmp_path, {f"truth{LABELS}": " ".join(map(str, truth)), f"epics_record_process_total{LABELS}": " ".join(shown)},
               interval=f"{INTERVAL}s", promql_expr_test=tests)
