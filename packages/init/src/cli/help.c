#include "help.h"

#include <string.h>
#include <unistd.h>

#ifndef LAMEDUCK_VERSION
#define LAMEDUCK_VERSION "0.1.0"
#endif

/* The address of the pages; where a build names none, the path in the repository is left. */
#ifndef LAMEDUCK_HOMEPAGE
#define LAMEDUCK_HOMEPAGE ""
#endif

static const char help[] =
	"lameduck-init [options] -- PROGRAM [ARGUMENTS]   as PID 1: holds SIGTERM until traffic has moved away\n"
	"lameduck-init wait [options]                     as preStop hook: returns when traffic has moved away\n"
	"lameduck-init end                                ends the holds of its container now, for kubectl exec\n"
	"\n"
	"  lameduck-init --grace 30s --signal TERM=QUIT -- nginx -g \"daemon off;\"\n"
	"  lameduck-init wait --grace 30s\n"
	"\n"
	"Defaults are in brackets. D is a duration with a unit: 300ms, 5s, 2m. Each option is a variable, too: --floor is\n"
	"LAMEDUCK_FLOOR. More: " LAMEDUCK_HOMEPAGE "docs/init.md\n"
	"\n"
	"When to stop\n"
	"  --policy P         adaptive (default), quiet, fixed, until-deadline, acknowledged (needs --coordinator)\n"
	"  --grace D          terminationGracePeriodSeconds of the pod (30s; also LAMEDUCK_GRACE_PERIOD)\n"
	"  --prestop D        part of --grace that preStop hooks use before the signal (0s)\n"
	"  --reserve D        part of --grace kept for the program's own shutdown (5s, or a third if that is less)\n"
	"  --floor D          shortest hold (1s)\n"
	"  --cap D            longest hold (grace - prestop - reserve)\n"
	"  --loss-budget N    adaptive: requests that a termination may lose on average (0.001)\n"
	"  --convergence D    adaptive: mean time until a sender learns of the deletion (4s)\n"
	"  --learnt TEXT      adaptive: what earlier terminations have taught, as the injection sets it\n"
	"  --window D         quiet: stop when nothing has arrived for this time (5s)\n"
	"  --delay D          fixed: length of the hold\n"
	"  --request-quiet D  old connections must have been silent for this time (1s)\n"
	"  --streams S        connections that never fall silent: ignore (default) or wait\n"
	"  --stop-signal SIG  the signal that begins a hold (TERM; images may set another as STOPSIGNAL)\n"
	"  --then SIG         wait: send SIG to the container's PID 1 after the hold, and wait until it has ended\n"
	"  --no-hold          pass every signal on at once\n"
	"\n"
	"What counts as traffic\n"
	"  --port N           count only this port, or these: 80,443 (default: all ports on which the program listens)\n"
	"  --ignore-port N    do not count this port, such as that of metrics\n"
	"  --ignore-peer CIDR do not count this source; \"gateway\": the default gateway, from which many kubelets probe\n"
	"  --probe-period D   periodSeconds of the kubelet's httpGet or grpc probe, once for each (assumed: 10s)\n"
	"  --ignore-socket P  do not count this Unix socket, or those below this directory (/: none counts)\n"
	"  --max-senders N    senders tracked one by one (128)\n"
	"\n"
	"Acknowledgements (no connection is made before the signal)\n"
	"  --coordinator URL  ask it whether a sender still chooses the pod, such as\n"
	"                     http://lameduck-coordinator.lameduck-system.svc:8070\n"
	"  --pod-name N, --pod-namespace N, --pod-uid U   this pod, from the downward API\n"
	"  --mode M           --policy acknowledged, while the coordinator is silent or cannot release the pod:\n"
	"                     availability (default) decides as adaptive does, consistency waits for the cap\n"
	"  --settle D         after the release no connection may arrive for this time (500ms)\n"
	"\n"
	"Signals and processes\n"
	"  --signal A=B       send B when A comes: TERM=USR1 (also -r, --rewrite 15:10; 15:0 drops it)\n"
	"  -g, --group        send signals to the program's process group\n"
	"  -c, --single-child send signals to the program alone, in lameduck-init's session\n"
	"  -s, --subreaper    adopt orphans when not PID 1\n"
	"  -p, --parent-death SIG   get this signal when the parent ends\n"
	"  -e, --expect N     report exit code N as 0\n"
	"  -w, --warn-on-reap log each orphan that is reaped\n"
	"  -v, --verbose      log more; -vv logs every second of a hold\n"
	"\n"
	"Order among containers (PATH is in a directory that they share)\n"
	"  --ready-file PATH  create it when the hold has ended\n"
	"  --done-file PATH   create it when the program has ended\n"
	"  --wait-for PATH    hold until it exists\n"
	"  --wait-gone PATH   hold until it does not exist\n"
	"  --order-timeout D  longest wait for these files (default: the cap)\n"
	"\n"
	"Looking closer\n"
	"  --trace PATH       record each hold in this file or directory, for `lameduck explain`\n"
	"  --dry-run          hold nothing, and print every second what is seen and what would be decided\n"
	"  --log F            text (default) or json\n"
	"  -h, --help   -V, --version   -l, --license\n"
	"\n"
	"Exit codes: the program's own, 128 + n if signal n ended it, 127 not found, 126 not executable, 2 usage, 3 internal.\n"
	"wait: 0 hold is over, 1 --wait-for, --wait-gone or --then failed, 137 PID 1 has ended after --then, 2 usage.\n"
	"end: 0 the holds have ended, 1 nothing is held, 4 a holder could not be told or did not end within 5 s.\n"
	"Where the program is @lameduck/node's, and it would hold by itself at the signal, init and wait leave the hold to it.\n"
	"Called by the name tini or dumb-init it behaves as that program does, and holds only if an option of the hold is set.\n";

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
