/* Whether an unknown name is a known one with a typing mistake. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether at most two letters are to be added, left out or changed. */
bool is_misspelt(const char *name, size_t length, const char *known);
