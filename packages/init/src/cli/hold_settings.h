/* The settings of the hold: coordinator, policy, times, and what contradicts them. */
#ifndef LAMEDUCK_HOLD_SETTINGS_H
#define LAMEDUCK_HOLD_SETTINGS_H

#include "settings.h"

/* False with `error` filled in. */
bool read_hold_settings(struct settings *settings, struct error *error);

#endif
