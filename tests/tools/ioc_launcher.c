/*
 * A soft IOC in one page: loads base.dbd and the given databases, runs iocInit, then obeys its
 * stdin.
 *
 *   ioc_launcher DBD_DIR [MACROS DB]...
 *
 * Each line of stdin goes to the IOC shell; "@done" on a line of its own follows what the command
 * printed. "@exitMain" ends the main thread, as an IOC without a shell does; another one obeys from
 * then on. "@running" is printed once after iocInit. At the end of stdin the IOC goes on until a
 * signal ends it. The function `put_inside` for a sub record writes the value of its field A with
 * dbPutField to the field that its DESC names, as device support does. Built once for each Base version that the tests
 * know, against that version's own headers.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <dbAccess.h>
#include <dbStaticLib.h>
#include <iocInit.h>
#include <iocsh.h>
#include <iocshRegisterCommon.h>
#include <registryFunction.h>
#include <subRecord.h>

#include "end_main.h"
#include "ioc_commands.h"

static int fail(const char *action, const char *object)
{
	fprintf(stderr, "ioc_launcher: %s %s failed\n", action, object);
	return 1;
}

static long put_inside(subRecord *record)
{
	DBADDR address;
	long status = dbNameToAddr(record->desc, &address);

	return status ? status : dbPutField(&address, DBR_DOUBLE, &record->a, 1);
}

static void say_done(void)
{
	printf("\n@done\n");
	fflush(stdout);
}

static void obey_stdin(void);

static void obey_on(void)
{
	say_done();
	obey_stdin();
}

static void obey_stdin(void)
{
	char line[1024];

	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "@exitMain")) {
			go_on_without_main(obey_on);
			pthread_exit(NULL); /* as epicsThreadExitMain() */
		}
		if (iocshCmd(line))
			fail("command", line);
		say_done();
	}
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 2 || argc % 2 != 0) {
		fprintf(stderr, "usage: ioc_launcher DBD_DIR [MACROS DB]...\n");
		return 2;
	}
	iocshRegisterCommon();
	register_test_commands();
	register_leaving_support();
	if (dbLoadDatabase("base.dbd", argv[1], NULL))
		return fail("load base.dbd from", argv[1]);
	if (registerAllRecordDeviceDrivers(pdbbase))
		return fail("register", "record, device and driver support");
	if (!register_device_support())
		return fail("register", "device support of the tests");
	if (!registryFunctionAdd("put_inside", (REGISTRYFUNCTION)put_inside))
		return fail("register", "put_inside");
	for (i = 2; i < argc; i += 2) {
		if (dbLoadRecords(argv[i + 1], argv[i]))
			return fail("load", argv[i + 1]);
	}
	if (iocInit())
		return fail("iocInit", "");
	printf("@running\n");
	fflush(stdout);
	obey_stdin();
	return 1; /* never */
}
