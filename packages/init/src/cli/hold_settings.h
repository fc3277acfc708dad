/* The settings of the hold: coordinator, policy and times. Contradictions between them are found here. */
#ifndef LAMEDUCK_HOLD_SETTINGS_H
#define LAMEDUCK_HOLD_SETTINGS_H

#include "settings.h"

/* False with `error` filled in. */
bool read_hold_settings(struct settings *settings, struct error *error);

#endif
