/* Every way a configuration can be wrong: codes are those of packages/drain/src/errors.ts and docs/reference/init.md. */
#pragma once

enum error_code {
	ERROR_NONE,
	ERROR_BAD_DURATION,
	ERROR_BAD_NUMBER,
	ERROR_UNKNOWN_OPTION,
	ERROR_UNKNOWN_POLICY,
	ERROR_MISSING_OPTION,
	ERROR_NO_TIME_TO_HOLD,
	ERROR_FLOOR_ABOVE_CAP,
	ERROR_CAP_ABOVE_GRACE,
	ERROR_BAD_SIGNAL,
	ERROR_BAD_ADDRESS,
	ERROR_BAD_COORDINATOR,
	ERROR_BAD_CHOICE,
	ERROR_MISSING_COMMAND,
};

struct error {
	enum error_code code;
	char option[48];
	char problem[240];
};

const char *error_name(enum error_code code);
const char *error_remedy(enum error_code code);

__attribute__((format(printf, 4, 5))) void error_set(struct error *error, enum error_code code, const char *option,
						    const char *format, ...);
