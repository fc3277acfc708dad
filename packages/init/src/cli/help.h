#pragma once

#include "settings.h"

/* What --help, --version and --license print on stdout. */
void print_information(const struct settings *settings);
