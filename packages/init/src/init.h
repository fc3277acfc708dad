/* PID 1: runs the program, passes signals on, reaps, and holds the stop signal while traffic still comes. */
#ifndef LAMEDUCK_INIT_H
#define LAMEDUCK_INIT_H

#include "cli/settings.h"

/* Returns the exit code. */
int run_init(const struct settings *settings, const struct logger *logger);

#endif
