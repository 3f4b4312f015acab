/*
 * A static executable with a database in its memory, as an IOC of a static build of EPICS Base has it. The
 * wheels hold no archives to link one from: dbProcess and pdbbase are this program's own, but every struct
 * comes from Base's headers, and the fields' offsets from the code that Base generates for its calc record.
 *
 *   static_ioc RECORD...
 *
 * Prints "@running"; then each line of stdin is "RECORD TIMES": so many calls of dbProcess, and "@done".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USE_TYPED_RSET
#include <dbBase.h>
#include <dbCommon.h>
#include <dbStaticLib.h>
#include <recSup.h>
#define GEN_SIZE_OFFSET
#include <calcRecord.h>
#undef GEN_SIZE_OFFSET

#define MOST_RECORDS 16
#define MOST_FIELDS 256

struct dbBase *pdbbase;
/* As libCom's epicsReleaseVersion holds it. */
const char *const volatile epics_version = "EPICS 7.0.7";

static struct dbBase base;
static dbRecordType type;
static dbFldDes descriptions[MOST_FIELDS], *fields[MOST_FIELDS];
static char field_names[MOST_FIELDS][8];
static struct calcRecord records[MOST_RECORDS];
static dbRecordNode nodes[MOST_RECORDS];
static struct typed_rset support;

/* Called by the generated code when Base and the header differ. */
LIBCOM_API void cantProceed(const char *format, ...)
{
	fprintf(stderr, "static_ioc: %s\n", format);
	abort();
}

__attribute__((noinline)) long dbProcess(struct dbCommon *record)
{
	((struct calcRecord *)record)->val += 1;
	return 0;
}
/* Not known at compile time: each call is one, and through the symbol. */
static long (*volatile process)(struct dbCommon *) = dbProcess;

static void append(ELLLIST *list, ELLNODE *node)
{
	node->previous = list->node.previous;
	if (list->count++)
		list->node.previous->next = node;
	else
		list->node.next = node;
	list->node.previous = node;
}

static void make_type(void)
{
	static const struct {
		int index;
		const char *name;
	} known[] = {
		{calcRecordNAME, "NAME"}, {calcRecordPACT, "PACT"}, {calcRecordDISA, "DISA"}, {calcRecordDISV, "DISV"},
		{calcRecordSTAT, "STAT"}, {calcRecordSEVR, "SEVR"}, {calcRecordDISP, "DISP"}, {calcRecordPUTF, "PUTF"},
		{calcRecordRPRO, "RPRO"}, {calcRecordLCNT, "LCNT"}, {calcRecordPPN, "PPN"},   {calcRecordTIME, "TIME"},
		{calcRecordRSET, "RSET"}, {calcRecordSDIS, "SDIS"}, {calcRecordVAL, "VAL"},
	};
	size_t i;

	for (i = 0; i < MOST_FIELDS; i++) {
		snprintf(field_names[i], sizeof field_names[i], "F%zu", i);
		descriptions[i].name = field_names[i];
		fields[i] = &descriptions[i];
	}
	for (i = 0; i < sizeof known / sizeof known[0]; i++)
		descriptions[known[i].index].name = (char *)known[i].name;
	type.name = (char *)"calc";
	type.no_fields = calcRecordRPCL + 1; /* the last one */
	type.papFldDes = fields;
	type.prset = &support;
	calcRecordSizeOffset(&type);
	append(&base.recordTypeList, &type.node);
}

static void make_record(int i, const char *name)
{
	struct calcRecord *record = &records[i];

	snprintf(record->name, sizeof record->name, "%s", name);
	record->rset = &support;
	record->disv = 1;
	record->sdis.precord = (struct dbCommon *)record;
	nodes[i].precord = record;
	nodes[i].recordname = record->name;
	nodes[i].flags = DBRN_FLAGS_VISIBLE;
	append(&type.recList, &nodes[i].node);
}

int main(int argc, char **argv)
{
	char line[256], name[64];
	int i, times;

	make_type();
	for (i = 1; i < argc && i <= MOST_RECORDS; i++)
		make_record(i - 1, argv[i]);
	pdbbase = &base;
	printf("@running %s\n", epics_version);
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "%63s %d", name, &times) != 2)
			continue;
		for (i = 0; i < type.recList.count; i++)
			while (strcmp(records[i].name, name) == 0 && times-- > 0)
				process((struct dbCommon *)&records[i]);
		printf("@done\n");
		fflush(stdout);
	}
	for (;;)
		pause();
}
