#include "errors.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
	const char *name;
	const char *remedy;
} errors[] = {
	[ERROR_BAD_DURATION] = { "LAMEDUCK_BAD_DURATION",
				 "write a duration with its unit, such as \"300ms\", \"5s\", \"2m\" or \"1h\"" },
	[ERROR_BAD_NUMBER] = { "LAMEDUCK_BAD_NUMBER", "give a finite number in the range that is named" },
	[ERROR_UNKNOWN_OPTION] = { "LAMEDUCK_UNKNOWN_OPTION", "remove it, or correct its spelling" },
	[ERROR_UNKNOWN_POLICY] = { "LAMEDUCK_UNKNOWN_POLICY",
				   "choose fixed, until-deadline, quiet, adaptive or acknowledged" },
	[ERROR_MISSING_OPTION] = { "LAMEDUCK_MISSING_OPTION", "add the option or the value that is named" },
	[ERROR_NO_TIME_TO_HOLD] = { "LAMEDUCK_NO_TIME_TO_HOLD",
				    "raise the grace period (terminationGracePeriodSeconds), or lower the reserve or "
				    "the preStop hook's time" },
	[ERROR_FLOOR_ABOVE_CAP] = { "LAMEDUCK_FLOOR_ABOVE_CAP",
				    "lower the floor, or raise the cap or the grace period" },
	[ERROR_CAP_ABOVE_GRACE] = { "LAMEDUCK_CAP_ABOVE_GRACE",
				    "lower the cap, or raise the grace period (terminationGracePeriodSeconds)" },
	[ERROR_BAD_SIGNAL] = { "LAMEDUCK_BAD_SIGNAL",
			       "name a signal as TERM, SIGTERM or 15, and a translation as TERM=USR1 or 15:10" },
	[ERROR_BAD_ADDRESS] = { "LAMEDUCK_BAD_ADDRESS",
				"write an address or range as 10.1.2.3, 10.1.0.0/16, fd00::/8, or gateway; a port as "
				"1 to 65535" },
	[ERROR_BAD_COORDINATOR] = { "LAMEDUCK_BAD_COORDINATOR",
			    "write the coordinator as http://HOST:PORT, and give --pod-name, --pod-namespace and --pod-uid" },
	[ERROR_BAD_CHOICE] = { "LAMEDUCK_BAD_CHOICE", "choose one of the values that are named" },
	[ERROR_MISSING_COMMAND] = { "LAMEDUCK_MISSING_COMMAND",
				    "name the program to run: lameduck-init [options] -- PROGRAM [ARGUMENTS]" },
};

const char *error_name(enum error_code code)
{
	return errors[code].name;
}

const char *error_remedy(enum error_code code)
{
	return errors[code].remedy;
}

void error_set(struct error *error, enum error_code code, const char *option, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	error->code = code;
	snprintf(error->option, sizeof error->option, "%s", option);
	vsnprintf(error->problem, sizeof error->problem, format, arguments);
	va_end(arguments);
}
