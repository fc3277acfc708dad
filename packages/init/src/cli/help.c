#include "help.h"

#include "flags.h"

#include <string.h>
#include <unistd.h>

#ifndef LAMEDUCK_VERSION
#define LAMEDUCK_VERSION "0.1.0"
#endif

/* The address of the pages; where a build names none, the path in the repository is left. */
#ifndef LAMEDUCK_HOMEPAGE
#define LAMEDUCK_HOMEPAGE ""
#endif

static const char usage[] =
	"lameduck-init [options] -- PROGRAM [ARGUMENTS]   as PID 1: holds SIGTERM until traffic has moved away\n"
	"lameduck-init wait [options]                     as preStop hook: returns when traffic has moved away\n"
	"lameduck-init end                                ends the holds of its container now, for kubectl exec\n"
	"\n"
	"  lameduck-init --grace 30s --signal TERM=QUIT -- nginx -g \"daemon off;\"\n"
	"  lameduck-init wait --grace 30s\n"
	"\n"
	"Defaults are in brackets. D is a duration with a unit: 300ms, 5s, 2m. Each option is a variable, too: --floor is\n"
	"LAMEDUCK_FLOOR. More: " LAMEDUCK_HOMEPAGE "docs/reference/init.md\n";

static const char endings[] =
	"\n"
	"Exit codes: the program's own, 128 + n if signal n ended it, 127 not found, 126 not executable, 2 usage, 3 internal.\n"
	"wait: 0 hold is over, 1 --wait-for, --wait-gone or --then failed, 137 PID 1 has ended after --then, 2 usage.\n"
	"end: 0 the holds have ended, 1 nothing is held, 4 a holder could not be told or did not end within 5 s.\n"
	"Where the program is @lameduck/node's, and it would hold by itself at the signal, init and wait leave the hold to it.\n"
	"Called by the name tini or dumb-init it behaves as that program does, and holds only if an option of the hold is set.\n";

static const char license[] =
	"Copyright the Lameduck authors, Apache License 2.0:\n"
	"https://www.apache.org/licenses/LICENSE-2.0\n";

static void print(const struct settings *settings, const char *text)
{
	/* As dumb-init does. */
	int where = settings->personality == PERSONALITY_DUMB_INIT ? STDERR_FILENO : STDOUT_FILENO;
	ssize_t written = write(where, text, strlen(text));
	(void)written;
}

void print_information(const struct settings *settings)
{
	if (settings->action == ACTION_HELP) {
		print(settings, usage);
		print(settings, option_help);
		print(settings, endings);
	} else {
		print(settings, settings->action == ACTION_LICENSE ? license : "lameduck-init " LAMEDUCK_VERSION "\n");
	}
}
