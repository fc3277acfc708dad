#ifndef LAMEDUCK_HELP_H
#define LAMEDUCK_HELP_H

#include "settings.h"

/* What --help, --version and --license print on stdout. */
void print_information(const struct settings *settings);

#endif
