"""The driver of tests/tools/driver.h in an IOC."""
import os

from . import env

DATABASE = 'record(calc,"FN:n"){field(CALC,"VAL+1")}\n'


class Driver:
    """The driver in an IOC, which does what a FIFO says."""

    def __init__(self, start_ioc, tmp_path, name, library="libtest_driver.so"):
        self.orders = tmp_path / f"{name}.orders"
        os.mkfifo(self.orders)
        self.ioc = start_ioc(name, DATABASE, prefix=["env", f"LD_PRELOAD={env.tool(library)}", f"DRIVER={self.orders}"])

    def call(self, function, count, number=0, port="-", device="-"):
        with self.orders.open("w") as orders:
            orders.write(f"{function} {count} {number} {port} {device}\n")
