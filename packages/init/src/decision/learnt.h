/* What earlier terminations have taught, in one line of text: the mirror of packages/drain/src/belief/learnt-text.ts. */
#pragma once

#include "hypotheses.h"

#include <stdbool.h>

/* The length of a text that is read. The coordinator writes some 400 characters. */
#define LONGEST_LEARNT 1200

/* "VERSION:TERMINATIONS:w1,w2,...". False for any other text, also for a text of a release with other hypotheses. */
bool parse_learnt(const char *text, struct prior *prior);
