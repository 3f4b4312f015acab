/* Registers the record type and device support of bench/motors.c; after base.dbd, before the
 * database. 0: done. */
#ifndef IOC_EXPORTER_BENCH_MOTORS_H
#define IOC_EXPORTER_BENCH_MOTORS_H

int register_motors(const char* dbd_directory);
/* After iocInit. */
void start_motors(void);

#endif
