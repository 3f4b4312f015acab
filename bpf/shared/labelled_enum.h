/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * An enum each of whose values has a label on /metrics. One list makes the enum in C and in C++, and the
 * labels in C++.
 *
 *	#define IOCX_FRUIT_LIST(ROW)           \
 *		ROW(IOCX_FRUIT_APPLE, "apple") \
 *		ROW(IOCX_FRUIT_PEAR, "pear")
 *	IOCX_LABELLED_ENUM(iocx_fruit, IOCX_FRUIT_LIST, IOCX_FRUITS)
 *
 * gives enum iocx_fruit, the number of its values IOCX_FRUITS and, in C++, iocx_fruit_labels[IOCX_FRUITS].
 *
 * Of causes of drops the label is the reason on /metrics, which several causes share: what an operator does is the same.
 * "": usual, nothing is missing; it is not on /metrics.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_LABELLED_ENUM_H
#define IOC_EXPORTER_BPF_SHARED_LABELLED_ENUM_H

#define IOCX_ENUM_VALUE(value, label) value,
#define IOCX_ENUM_LABEL(value, label) label,

#ifdef __cplusplus
#define IOCX_LABELLED_ENUM(name, list, number)      \
	enum name { list(IOCX_ENUM_VALUE) number }; \
	inline constexpr const char *name##_labels[number] = {list(IOCX_ENUM_LABEL)};
#else
#define IOCX_LABELLED_ENUM(name, list, number) enum name { list(IOCX_ENUM_VALUE) number };
#endif

#endif
