/* Why a hold took as long as it did, in one phrase: the mirror of packages/drain/src/explain/timeline-text.ts. */
#pragma once

#include "../base/text.h"
#include "../coordinator/status.h"
#include "../decision/drain.h"

/* "floor 1.0, 198.18.0.14 (4.1/s before, silent 2.9 s) until 9.7", "floor 1.0, released by 5 of 5 senders at 5.1". */
void timeline_add(struct writer *text, const struct drain *drain, const struct status *status, const struct explanation *explanation,
		  double now);
