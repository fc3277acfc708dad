/* `lameduck-init wait`: the same hold as a preStop hook, beside a program that knows nothing of it. */
#pragma once

#include "cli/settings.h"

/* Returns the exit code: 0, or 1 where a file was waited for in vain. */
int run_wait(const struct settings *settings, const struct logger *logger);
