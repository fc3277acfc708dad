/* The settings of the hold: coordinator, policy and times. Contradictions between them are found here. */
#pragma once

#include "settings.h"

/* False with `error` filled in. */
bool read_hold_settings(struct settings *settings, struct error *error);
