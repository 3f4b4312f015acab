/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The shape of the histograms of put durations. */
#ifndef IOC_EXPORTER_BPF_SHARED_PUT_HISTOGRAM_SHAPE_H
#define IOC_EXPORTER_BPF_SHARED_PUT_HISTOGRAM_SHAPE_H

/*
 * Histogram of put durations: slot i holds what is longer than edge i - 1 and not longer than edge i,
 * 2^((FIRST_K + i) / 4) s; the last slot what is longer than them all.
 */
#define IOCX_PUT_HIST_FIRST_K (-80)
#define IOCX_PUT_HIST_LAST_K 40
#define IOCX_PUT_HIST_SLOTS (IOCX_PUT_HIST_LAST_K - IOCX_PUT_HIST_FIRST_K + 2)

#endif
