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
	"  --policy P         adaptive (default), quiet, fixed, until-deadline, acknowledged (needs --coordinator)\n"
	"  --grace D          terminationGracePeriodSeconds of the pod (30s; also LAMEDUCK_GRACE_PERIOD)\n"
	"  --prestop D        part of --grace that preStop hooks use before the signal (0)\n"
	"  --reserve D        part of --grace kept for the program's own shutdown (5s, or less)\n"
	"  --floor D, --cap D shortest and longest hold (1s; grace - prestop - reserve)\n"
	"  --loss-budget N    adaptive: requests that a termination may lose on average (0.001)\n"
	"  --convergence D    adaptive: mean time until a sender learns of the deletion (4s)\n"
	"  --window D         quiet: how long nothing may arrive (5s)\n"
	"  --delay D          fixed: how long to hold\n"
	"  --request-quiet D  how long old connections must have been silent (1s)\n"
	"  --streams S        connections that never fall silent: ignore (default) or wait\n"
	"  --stop-signal SIG  the signal that begins a hold (TERM; images may set another as STOPSIGNAL)\n"
	"  --then SIG         wait: send SIG to the container's PID 1 after the hold and wait until it has gone\n"
	"  --no-hold          pass every signal on at once\n"
	"\n"
	"What counts as traffic\n"
	"  --port N           count only this port (default: all that the program listens on)\n"
	"  --ignore-port N    do not count this port (metrics, health)\n"
	"  --ignore-peer CIDR nor this source; \"gateway\": the default gateway, from which kubelets probe\n"
	"  --ignore-socket P  nor this Unix socket, or those below this directory (/: all)\n"
	"  --max-senders N    senders tracked one by one (128)\n"
	"\n"
	"What the cluster knows (docs/init.md; nothing is opened before the signal)\n"
	"  --coordinator URL  ask it whether all senders have let go: http://lameduck-coordinator.lameduck-system.svc:8070\n"
	"  --pod-name N, --pod-namespace N, --pod-uid U   who asks (by the downward API)\n"
	"  --settle D         how long nothing new may arrive after they have (500ms)\n"
	"\n"
	"Signals and processes\n"
	"  --signal A=B       send B when A comes: TERM=USR1 (also -r, --rewrite 15:10; 15:0 drops)\n"
	"  -g, --group        signal the program's process group\n"
	"  -c, --single-child signal the program alone, in lameduck-init's session\n"
	"  -s, --subreaper    adopt orphans when not PID 1      -p, --parent-death SIG\n"
	"  -e, --expect N     exit code N counts as 0           -w, --warn-on-reap   -v, --verbose\n"
	"\n"
	"Order among containers (in a shared directory)\n"
	"  --ready-file PATH  create it when the hold has ended\n"
	"  --done-file PATH   create it when the program has ended\n"
	"  --wait-for PATH    hold until it exists\n"
	"  --wait-gone PATH   hold until it does not\n"
	"  --order-timeout D  longest wait for these files (default: the cap)\n"
	"\n"
	"  --trace PATH       record each hold in this file or directory, for `lameduck explain`\n"
	"  --dry-run          hold nothing; print every second what is seen and what would be decided\n"
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
