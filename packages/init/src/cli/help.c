#include "help.h"

#include <string.h>
#include <unistd.h>

#ifndef LAMEDUCK_VERSION
#define LAMEDUCK_VERSION "0.1.0"
#endif

static const char help[] =
	"lameduck-init [options] -- PROGRAM [ARGUMENTS]   as PID 1: holds SIGTERM until traffic has moved away\n"
	"lameduck-init wait [options]   as preStop hook: returns when traffic has moved away\n"
	"\n"
	"When to stop (each also as environment variable, --floor as LAMEDUCK_FLOOR; durations have a unit: 300ms, 5s, 2m)\n"
	"  --policy P         adaptive (default), quiet, fixed, until-deadline\n"
	"  --grace D          terminationGracePeriodSeconds of the pod (30s; also LAMEDUCK_GRACE_PERIOD)\n"
	"  --prestop D        part of it that preStop hooks use up before the signal (0)\n"
	"  --reserve D        part of it kept free for the program's own shutdown (5s)\n"
	"  --floor D, --cap D shortest and longest hold (1s; grace - prestop - reserve)\n"
	"  --loss-budget N    adaptive: requests to lose on average, of those due within a convergence time (0.001)\n"
	"  --convergence D    adaptive: mean time in which senders learn of the deletion (4s)\n"
	"  --window D         quiet: how long nothing may arrive (5s)\n"
	"  --delay D          fixed: how long to hold\n"
	"  --request-quiet D  how long old connections must have been silent (1s)\n"
	"  --streams S        ignore (default) or wait: for connections that never fall silent\n"
	"  --stop-signal SIG  the signal that begins a hold (TERM; images may set another as STOPSIGNAL)\n"
	"  --then SIG         wait: send SIG to the container's PID 1 after the hold and wait until it has gone\n"
	"  --no-hold          send every signal on at once\n"
	"\n"
	"What counts as traffic\n"
	"  --port N           only connections to this port (default: all that the program listens on)\n"
	"  --ignore-port N    not this one (metrics, health)\n"
	"  --ignore-peer CIDR nor from there; \"gateway\" stands for the default gateway, where kubelets probe from\n"
	"  --ignore-socket P  nor to this Unix socket, or to those below this directory (/: to none)\n"
	"  --max-senders N    how many are told apart (128)\n"
	"\n"
	"Signals and processes\n"
	"  --signal A=B       send B when A comes: TERM=USR1 (also -r, --rewrite 15:10; 15:0 drops)\n"
	"  -g, --group        signal the program's process group\n"
	"  -c, --single-child signal the program alone, in our own session\n"
	"  -s, --subreaper    adopt orphans when not PID 1      -p, --parent-death SIG\n"
	"  -e, --expect N     exit code N counts as 0           -w, --warn-on-reap   -v, --verbose\n"
	"\n"
	"Order among containers (in a shared directory)\n"
	"  --ready-file PATH  create it when the hold has ended\n"
	"  --done-file PATH   create it when the program has ended\n"
	"  --wait-for PATH    hold until it exists\n"
	"  --wait-gone PATH   hold until it does not\n"
	"  --order-timeout D  but no longer than this (default: the cap)\n"
	"\n"
	"  --trace PATH       record each hold in this file, or directory, for `lameduck explain`\n"
	"  --dry-run          hold nothing; say every second what is seen and what would be decided\n"
	"  --log F            text (default) or json          -h, --help   -V, --version   -l, --license\n"
	"\n"
	"Exit codes: the program's own, 128 + n when signal n ended it, 127 not found, 126 not executable, 2 usage,\n"
	"3 internal. wait: 0 held, 1 --wait-for, --wait-gone or --then in vain, 137 --then ended PID 1.\n"
	"Called by the name tini or dumb-init it behaves as that program does, and holds only when asked to.\n";

static const char license[] =
	"Copyright the Lameduck authors, Apache License 2.0:\n"
	"https://www.apache.org/licenses/LICENSE-2.0\n";

void print_information(const struct settings *settings)
{
	const char *text = settings->action == ACTION_HELP    ? help :
			   settings->action == ACTION_LICENSE ? license :
								"lameduck-init " LAMEDUCK_VERSION "\n";
	/* As dumb-init does. */
	int where = settings->personality == PERSONALITY_DUMB_INIT ? STDERR_FILENO : STDOUT_FILENO;
	ssize_t written = write(where, text, strlen(text));
	(void)written;
}
