/* The table of flags, and their part of the help.
 * Written by `node packages/options/generate/main.ts` from packages/options/src/table.ts. */
#include "flags.h"

enum { TINI = 1 << PERSONALITY_TINI, DUMB_INIT = 1 << PERSONALITY_DUMB_INIT, OWN = 1 << PERSONALITY_OWN };

#define AT(field) offsetof(struct settings, field)

const struct flag flags[] = {
	{ .name = "policy", .variable = "LAMEDUCK_POLICY", .kind = TEXT, .of_hold = true, .told = true, .offset = AT(decision.policy) },
	{ .name = "grace", .variable = "LAMEDUCK_GRACE", .kind = TEXT, .of_hold = true, .offset = AT(decision.grace) },
	{ .name = "grace-period", .variable = "LAMEDUCK_GRACE_PERIOD", .kind = TEXT, .of_hold = true, .told = true, .offset = AT(decision.grace) },
	{ .name = "prestop", .variable = "LAMEDUCK_PRESTOP", .kind = TEXT, .of_hold = true, .told = true, .offset = AT(decision.prestop) },
	{ .name = "reserve", .variable = "LAMEDUCK_RESERVE", .kind = TEXT, .of_hold = true, .told = true, .offset = AT(decision.reserve) },
	{ .name = "floor", .variable = "LAMEDUCK_FLOOR", .kind = TEXT, .of_hold = true, .told = true, .offset = AT(decision.floor) },
	{ .name = "cap", .variable = "LAMEDUCK_CAP", .kind = TEXT, .of_hold = true, .told = true, .offset = AT(decision.cap) },
	{ .name = "loss-budget", .variable = "LAMEDUCK_LOSS_BUDGET", .kind = TEXT, .of_hold = true, .told = true, .offset = AT(decision.loss_budget) },
	{ .name = "convergence", .variable = "LAMEDUCK_CONVERGENCE", .kind = TEXT, .of_hold = true, .told = true, .offset = AT(decision.convergence) },
	{ .name = "window", .variable = "LAMEDUCK_WINDOW", .kind = TEXT, .of_hold = true, .told = true, .offset = AT(decision.window) },
	{ .name = "delay", .variable = "LAMEDUCK_DELAY", .kind = TEXT, .of_hold = true, .told = true, .offset = AT(decision.delay) },
	{ .name = "request-quiet", .variable = "LAMEDUCK_REQUEST_QUIET", .kind = TEXT, .of_hold = true, .told = true, .offset = AT(decision.request_quiet) },
	{ .name = "streams", .variable = "LAMEDUCK_STREAMS", .kind = TEXT, .of_hold = true, .choices = { "ignore", "wait" }, .offset = AT(streams) },
	{ .name = "stop-signal", .variable = "LAMEDUCK_STOP_SIGNAL", .kind = LIST, .of_hold = true, .read = read_stop_signal },
	{ .name = "then", .variable = "LAMEDUCK_THEN", .kind = LIST, .read = read_then },
	{ .name = "no-hold", .variable = "LAMEDUCK_NO_HOLD", .kind = SWITCH, .offset = AT(no_hold) },
	{ .name = "port", .variable = "LAMEDUCK_PORT", .kind = LIST, .of_hold = true, .read = read_port },
	{ .name = "ignore-port", .variable = "LAMEDUCK_IGNORE_PORT", .kind = LIST, .of_hold = true, .read = read_ignored_port },
	{ .name = "ignore-peer", .variable = "LAMEDUCK_IGNORE_PEER", .kind = LIST, .of_hold = true, .read = read_ignored_peer },
	{ .name = "probe-period", .variable = "LAMEDUCK_PROBE_PERIOD", .kind = LIST, .of_hold = true, .read = read_probe_period },
	{ .name = "ignore-socket", .variable = "LAMEDUCK_IGNORE_SOCKET", .kind = LIST, .of_hold = true, .read = read_ignored_socket },
	{ .name = "max-senders", .variable = "LAMEDUCK_MAX_SENDERS", .kind = TEXT, .of_hold = true, .told = true, .offset = AT(decision.max_senders) },
	{ .name = "coordinator", .variable = "LAMEDUCK_COORDINATOR", .kind = TEXT, .of_hold = true, .offset = AT(hold.place.url) },
	{ .name = "pod-name", .variable = "LAMEDUCK_POD_NAME", .kind = TEXT, .offset = AT(hold.place.pod) },
	{ .name = "pod-namespace", .variable = "LAMEDUCK_POD_NAMESPACE", .kind = TEXT, .offset = AT(hold.place.pod_namespace) },
	{ .name = "pod-uid", .variable = "LAMEDUCK_POD_UID", .kind = TEXT, .offset = AT(hold.place.pod_uid) },
	{ .name = "mode", .variable = "LAMEDUCK_MODE", .kind = TEXT, .of_hold = true, .choices = { "availability", "consistency" }, .offset = AT(mode) },
	{ .name = "settle", .variable = "LAMEDUCK_SETTLE", .kind = TEXT, .of_hold = true, .told = true, .offset = AT(decision.settle) },
	{ .name = "signal", .variable = "LAMEDUCK_SIGNAL", .kind = LIST, .read = read_translation },
	{ .name = "rewrite", .variable = "LAMEDUCK_REWRITE", .letter = 'r', .knows_letter = OWN | DUMB_INIT, .kind = LIST, .read = read_rewrite },
	{ .name = "group", .variable = "LAMEDUCK_GROUP", .letter = 'g', .knows_letter = OWN | TINI, .kind = SWITCH, .offset = AT(group) },
	{ .name = "single-child", .variable = "LAMEDUCK_SINGLE_CHILD", .letter = 'c', .knows_letter = OWN | DUMB_INIT, .kind = SWITCH, .offset = AT(single_child) },
	{ .name = "subreaper", .variable = "LAMEDUCK_SUBREAPER", .letter = 's', .knows_letter = OWN | TINI, .kind = SWITCH, .offset = AT(subreaper) },
	{ .name = "parent-death", .variable = "LAMEDUCK_PARENT_DEATH", .letter = 'p', .knows_letter = OWN | TINI, .kind = TEXT, .offset = AT(parent_death) },
	{ .name = "expect", .variable = "LAMEDUCK_EXPECT", .letter = 'e', .knows_letter = OWN | TINI, .kind = LIST, .read = read_expected_code },
	{ .name = "warn-on-reap", .variable = "LAMEDUCK_WARN_ON_REAP", .letter = 'w', .knows_letter = OWN | TINI, .kind = SWITCH, .offset = AT(warn_on_reap) },
	{ .name = "verbose", .variable = "LAMEDUCK_VERBOSE", .letter = 'v', .knows_letter = OWN | TINI | DUMB_INIT, .kind = ACT, .read = read_verbose },
	{ .name = "ready-file", .variable = "LAMEDUCK_READY_FILE", .kind = TEXT, .offset = AT(hold.order.ready_file) },
	{ .name = "done-file", .variable = "LAMEDUCK_DONE_FILE", .kind = TEXT, .offset = AT(hold.order.done_file) },
	{ .name = "wait-for", .variable = "LAMEDUCK_WAIT_FOR", .kind = LIST, .of_hold = true, .read = read_wait_for },
	{ .name = "wait-gone", .variable = "LAMEDUCK_WAIT_GONE", .kind = LIST, .of_hold = true, .read = read_wait_gone },
	{ .name = "order-timeout", .variable = "LAMEDUCK_ORDER_TIMEOUT", .kind = TEXT, .offset = AT(order_timeout) },
	{ .name = "trace", .variable = "LAMEDUCK_TRACE", .kind = TEXT, .offset = AT(hold.recording) },
	{ .name = "dry-run", .variable = "LAMEDUCK_DRY_RUN", .kind = SWITCH, .of_hold = true, .offset = AT(dry_run) },
	{ .name = "log", .variable = "LAMEDUCK_LOG", .kind = TEXT, .choices = { "text", "json" }, .offset = AT(log) },
	{ .name = "help", .letter = 'h', .knows_letter = OWN | TINI | DUMB_INIT, .kind = ACT, .read = read_help },
	{ .name = "version", .letter = 'V', .knows_letter = OWN | DUMB_INIT, .kind = ACT, .read = read_version },
	{ .name = "license", .letter = 'l', .knows_letter = OWN | TINI, .kind = ACT, .read = read_license },
};

const size_t flag_count = sizeof flags / sizeof *flags;

const char *const library_variables[] = {
	"LAMEDUCK_SIGNALS",
	"LAMEDUCK_CRASHES",
	"LAMEDUCK_PROBES",
	"LAMEDUCK_STREAM_PATHS",
	"LAMEDUCK_SPREAD",
	"LAMEDUCK_COORDINATOR_TOKEN_FILE",
	NULL,
};

const char option_help[] =
	"\n"
	"When to stop\n"
	"  --policy P         adaptive (default), quiet, fixed, until-deadline, acknowledged (needs --coordinator)\n"
	"  --grace D          terminationGracePeriodSeconds of the pod (30s; also LAMEDUCK_GRACE_PERIOD)\n"
	"  --prestop D        part of --grace that preStop hooks use before the signal (0s)\n"
	"  --reserve D        part of --grace kept for the program's own shutdown (5s, or a third if that is less)\n"
	"  --floor D          shortest hold (1s)\n"
	"  --cap D            longest hold (grace - prestop - reserve)\n"
	"  --loss-budget N    adaptive: requests that a termination may lose on average (0.001)\n"
	"  --convergence D    adaptive: mean time until a sender stops sending (4s)\n"
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
	"  --coordinator URL  ask it whether a sender still sends to the pod, such as\n"
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
	"  -h, --help   -V, --version   -l, --license\n";
