"""A client of the demo IOC that writes now and then, under the user name in LOGNAME.

    client.py operator   a person: turns one magnet's knob after the other, with put-callback
    client.py feedback   a loop: both correctors five times a second, without
    client.py rogue      somebody else: a quadrupole now and then, and once a dipole, which is forbidden
"""
import math
import random
import sys
import time

from caproto.threading.client import Context

MAGNETS = {"SR:QF1:": 120.0, "SR:QF2:": 118.0, "SR:QD1:": 96.0, "SR:QD2:": 97.5, "SR:B1:": 512.0}


def be_operator(context: Context) -> None:
    pvs = dict(zip(MAGNETS, context.get_pvs(*[f"{m}Current-SP" for m in MAGNETS])))
    power, = context.get_pvs("SR:QD2:Power-SP")
    for pv in [*pvs.values(), power]:
        pv.wait_for_connection(timeout=30)
    for magnet, current in MAGNETS.items():
        pvs[magnet].write([current], timeout=10)
    for turn in range(1, sys.maxsize):
        time.sleep(random.uniform(2, 6))
        magnet = random.choice(list(MAGNETS))
        steps = random.randint(10, 60)
        target = MAGNETS[magnet] * random.uniform(0.97, 1.03)
        for step in range(1, steps + 1):
            pvs[magnet].write([MAGNETS[magnet] + (target - MAGNETS[magnet]) * step / steps], timeout=10)
            time.sleep(0.1)
        if turn % 5 == 0:
            power.write([0], timeout=10)
            power.write([1], timeout=10)


def be_feedback(context: Context) -> None:
    pvs = context.get_pvs("SR:CH1:Current-SP", "SR:CV1:Current-SP")
    for pv in pvs:
        pv.wait_for_connection(timeout=30)
    while True:
        for phase, pv in enumerate(pvs):
            pv.write([4 + math.sin(time.time() / 10 + phase)], wait=False, notify=False)
        time.sleep(0.2)


def be_rogue(context: Context) -> None:
    quadrupole, dipole, name = context.get_pvs("SR:QD1:Current-SP", "SR:B1:Current-SP", "SR:QF1:Current-SP.NAME")
    for pv in (quadrupole, dipole, name):
        pv.wait_for_connection(timeout=30)
    time.sleep(15)
    for turn in range(1, sys.maxsize):
        quadrupole.write([random.uniform(90, 100)], wait=False, notify=False)
        if turn == 3:
            dipole.write([random.uniform(500, 520)], timeout=10)
        name.write(["SR:Mine"], wait=False, notify=True)  # no record may be renamed: this fails
        time.sleep(random.uniform(10, 20))


if __name__ == "__main__":
    {"operator": be_operator, "feedback": be_feedback, "rogue": be_rogue}[sys.argv[1]](Context())
