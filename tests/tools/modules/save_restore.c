/*
 * libautosave: save sets. Of asApp/src/save_restore.c, R5-11.
 *
 *   saveSet FILE STATUS UNCONNECTED SAVED_SECONDS      makes or changes a set; SAVED_SECONDS since 1990
 *   saveFiles FILE COUNT FAILURES                      saves so often, and then fails so often
 */
#include <stdlib.h>
#include <string.h>

#include <callback.h>
#include <epicsTime.h>

#include "shape.h"

enum { FAIL = 1, OK = 4 };

struct chlist {
	MOVED struct chlist *pnext;
	void *pchan_list, *plast_chan;
	char reqFile[80];
	char *macrostring;
	char saveFile[256];
	char last_save_file[80];
	char save_file[80];
	int save_method, enabled_method;
	short save_ok;
	int save_state, period, monitor_period;
	char trigger_channel[80];
	CALLBACK periodicCb, monitorCb;
	int not_connected, backup_sequence_num;
	epicsTimeStamp backup_time, save_attempt_time, save_time;
	int statusPvIndex;
	char name_PV[80];
	void *name_chid;
	long status;
	char status_PV[80];
	void *status_chid;
	char save_state_PV[80];
	void *save_state_chid;
	char statusStr[300];
};
typedef struct chlist chlist;
STANDS_AT(chlist, save_file, 448);
STANDS_AT(chlist, not_connected, 696);
STANDS_AT(chlist, status, 824);
STANDS_AT(chlist, statusStr, 1008);

struct chlist *lptr;

int write_save_file(struct chlist *plist, const char *configName, char *retSaveFile);

KEPT int write_save_file(struct chlist *plist, const char *configName, char *retSaveFile)
{
	(void)configName, (void)retSaveFile;
	if (plist->save_ok)
		plist->save_time.nsec++;
	return plist->save_ok ? 0 : -1;
}

static int (*volatile write_it)(struct chlist *, const char *, char *) = write_save_file;

static struct chlist *set_of(const char *file)
{
	struct chlist *one;

	for (one = lptr; one; one = one->pnext)
		if (!strcmp(one->save_file, file))
			return one;
	one = calloc(1, sizeof *one);
	memset(one, 0x5a, offsetof(chlist, pnext));
	strncpy(one->reqFile, "any.req", sizeof one->reqFile - 1);
	strncpy(one->save_file, file, sizeof one->save_file - 1);
	one->status = OK;
	one->pnext = lptr;
	lptr = one;
	return one;
}

static void set(const iocshArgBuf *args)
{
	struct chlist *one = set_of(args[0].sval);

	one->status = args[1].ival;
	one->not_connected = args[2].ival;
	one->save_time.secPastEpoch = (epicsUInt32)args[3].ival;
}

static void save(const iocshArgBuf *args)
{
	struct chlist *one = set_of(args[0].sval);
	int i;

	for (i = 0; i < args[1].ival + args[2].ival; i++) {
		one->save_ok = i < args[1].ival;
		write_it(one, NULL, NULL);
	}
}

void register_module(void)
{
	add_command("saveSet", "siii", set);
	add_command("saveFiles", "sii", save);
}
