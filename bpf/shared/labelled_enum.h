/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * An enum each of whose values has a label on /metrics. One list makes the enum in C and in C++, and the
 * labels in C++: a new row is a new series.
 *
 *	#define IOCX_FRUIT_LIST(ROW)           \
 *		ROW(IOCX_FRUIT_APPLE, "apple") \
 *		ROW(IOCX_FRUIT_PEAR, "pear")
 *	IOCX_LABELLED_ENUM(iocx_fruit, IOCX_FRUIT_LIST, IOCX_FRUITS)
 *
 * gives enum iocx_fruit, the number of its values IOCX_FRUITS and, in C++, iocx_fruit_labels[IOCX_FRUITS].
 *
 * IOCX_DROP_ENUM is the same for reasons of drops, whose rows say whether a count or a name is missing afterwards
 * (LOST), or whether it is usual and all was counted (KEPT); in C++, iocx_fruit_lost[] says so too.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_LABELLED_ENUM_H
#define IOC_EXPORTER_BPF_SHARED_LABELLED_ENUM_H

#define IOCX_ENUM_VALUE(value, label) value,
#define IOCX_ENUM_LABEL(value, label) label,
#define IOCX_DROP_VALUE(value, label, fate) value,
#define IOCX_DROP_LABEL(value, label, fate) label,
#define IOCX_DROP_FATE(value, label, fate) IOCX_DROP_##fate,
#define IOCX_DROP_LOST true
#define IOCX_DROP_KEPT false

#ifdef __cplusplus
#define IOCX_LABELLED_ENUM(name, list, number)      \
	enum name { list(IOCX_ENUM_VALUE) number }; \
	inline constexpr const char *name##_labels[number] = {list(IOCX_ENUM_LABEL)};
#define IOCX_DROP_ENUM(name, list, number)                                            \
	enum name { list(IOCX_DROP_VALUE) number };                                   \
	inline constexpr const char *name##_labels[number] = {list(IOCX_DROP_LABEL)}; \
	inline constexpr bool name##_lost[number] = {list(IOCX_DROP_FATE)};
#else
#define IOCX_LABELLED_ENUM(name, list, number) enum name { list(IOCX_ENUM_VALUE) number };
#define IOCX_DROP_ENUM(name, list, number) enum name { list(IOCX_DROP_VALUE) number };
#endif

#endif
