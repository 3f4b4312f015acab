/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Which attachments count what an IOC does (src/probes). While one kind replaces the other both are on, and two programs
 * see each hit: that one counts it whose kind is the IOC's.
 */
#ifndef IOC_EXPORTER_SHARED_ATTACH_H
#define IOC_EXPORTER_SHARED_ATTACH_H

#define IOCX_ATTACH_PROCESS 1 /* those for this process */
#define IOCX_ATTACH_ALL 2     /* those for every process that maps the file */
/*
 * A mark that this attachment's program has left a hit to the other one's, in a switch: the numbers of switches that are
 * over tell it from those of other ones.
 */
#define IOCX_LEFT_BY(attach, switches) ((__u8)((attach) | (switches) << 2))
#define IOCX_OTHER_KIND(attach) (IOCX_ATTACH_PROCESS + IOCX_ATTACH_ALL - (attach))

#endif
