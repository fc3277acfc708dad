/* PID 1: runs the program, passes signals on, reaps, and holds the stop signal while traffic still comes. */
#pragma once

#include "cli/settings.h"

/* Returns the exit code. */
int run_init(const struct settings *settings, const struct logger *logger);
