/* Looks like libdbCore to the finder: dbProcess, pdbbase, a version, and nothing else. */
void *pdbbase;
unsigned short ca_server_port;
const char *epics_version = "EPICS 7.0.8.1";

long dbProcess(void *record);
long dbProcess(void *record)
{
	return record != 0;
}
