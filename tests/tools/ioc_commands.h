/* Shell commands for tests that bring an IOC into trouble. */
#ifndef IOC_COMMANDS_H
#define IOC_COMMANDS_H

#ifdef __cplusplus
extern "C" {
#endif

void register_test_commands(void);
void register_leaving_support(void); /* leaving_support.cpp */
int register_device_support(void);   /* device_support.c; after those of Base. 0: it failed */
void register_inside_clients(void);  /* inside_client.c */

#ifdef __cplusplus
}
#endif

#endif
