/* The differences between the names by which the program is called: tini, dumb-init or its own. */
#pragma once

#include "cli/settings.h"
#include "process/child.h"

signal_mask blocked_by(enum personality personality);
enum child_group child_group_of(const struct settings *settings);

/* Signals by which a terminal stops a job. */
bool stops_terminal(int signal);

/* Becomes child subreaper where the personality does so, or warns that orphans are not reaped. */
void adopt_orphans(const struct settings *settings, const struct logger *logger);

/* Changes to "/". Returns a descriptor of the directory left, in which the program starts. */
int leave_directory(const struct logger *logger);
