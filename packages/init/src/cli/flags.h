/* The table of flags: each has a long name, which is also an environment variable (--request-quiet: LAMEDUCK_REQUEST_QUIET). */
#ifndef LAMEDUCK_FLAGS_H
#define LAMEDUCK_FLAGS_H

#include "settings.h"

bool flags_from_environment(struct settings *settings, struct error *error);

/* `next` is the first argument to read, and then the first that is no flag. */
bool flags_from_arguments(struct settings *settings, int argc, char *const *argv, int *next, struct error *error);

#endif
