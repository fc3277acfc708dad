/* Flags on the command line. */
#pragma once

#include "flags.h"

/* `next` is the first argument to read, and then the first that is no flag. */
bool flags_from_arguments(struct settings *settings, int argc, char *const *argv, int *next, struct error *error);
