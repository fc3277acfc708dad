/* `lameduck-init end`: ends the holds of this container now, from `kubectl exec`. */
#pragma once

#include "base/log.h"

/* Returns the exit code: 0 ended, 1 no hold was going on, 4 a holder could not be told or did not react. */
int run_end(const struct logger *logger);
