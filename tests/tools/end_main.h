/*
 * For tests of processes whose main thread ends while others run, as that of an IOC does without a
 * shell (epicsThreadExitMain).
 */
#ifndef IOC_EXPORTER_TESTS_END_MAIN_H
#define IOC_EXPORTER_TESTS_END_MAIN_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*rest_of_main)(void);

/* The state in /proc/PID/stat is that of the main thread. */
static int main_is_a_zombie(void) {
  char text[1024];
  const char* comm_end;
  FILE* file = fopen("/proc/self/stat", "r");
  size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;

  if (file) fclose(file);
  text[size] = '\0';
  comm_end = strrchr(text, ')');
  return comm_end && comm_end[1] == ' ' && comm_end[2] == 'Z';
}

static void* run_rest(void* unused) {
  while (!main_is_a_zombie()) usleep(1000);
  rest_of_main();
  return unused;
}

/* `rest` runs in another thread, once the main thread has ended. That is to do so now. */
static void go_on_without_main(void (*rest)(void)) {
  pthread_t thread;

  rest_of_main = rest;
  if (pthread_create(&thread, NULL, run_rest, NULL)) exit(3);
  pthread_detach(thread);
}

#endif
