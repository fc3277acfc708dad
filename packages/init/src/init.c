#include "init.h"

#include "base/clock.h"
#include "cli/variables.h"
#include "decision/duration.h"
#include "personality.h"
#include "process/child.h"
#include "process/holders.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

enum stage { SERVING, HOLDING, CLOSING };

struct init {
	const struct settings *settings;
	const struct logger *logger;
	enum child_group child_group;
	pid_t child;
	int signals;
	enum stage stage;
	bool trying; /* a dry run, and the program was started */
	int stop_signal; /* the signal that began the hold */
	signal_mask ignore_once;
	struct baseline baseline;
	struct hold *hold;
	struct holder holder; /* us, in a hold */
	signal_mask told; /* signals for which the log says that nothing was held */
	double next_trial; /* dry run: when the next hold is played; 0 while one is going on */
	bool ready_announced;
	bool ended;
	int status;
};

static bool signals_group(const struct init *init)
{
	return init->settings->group || init->child_group == CHILD_GROUP_SESSION;
}

static void send_on(const struct init *init, int signal)
{
	char name[16];
	if (signal == 0)
		return;
	bool sent = signals_group(init) && kill(-init->child, signal) == 0;
	/* A group outlives its leader while it has members. A program that leads no group (-c), or has left its own, is signalled itself. */
	if (!sent && (!signals_group(init) || (errno == ESRCH && !init->ended)))
		sent = kill(init->child, signal) == 0;
	if (sent)
		log_line(init->logger, LOG_TRACE, "sent %s to %d", signal_name(signal, name), (int)init->child);
	else if (errno != ESRCH)
		log_line(init->logger, LOG_WARNING, "cannot send %s: %s", signal_name(signal, name), strerror(errno));
}

/* dumb-init's job control: its session has no terminal that could stop it. So its members are stopped, and the init with them. */
static int translated(const struct init *init, int signal)
{
	const struct translation *translation = &init->settings->translation;
	if (init->child_group == CHILD_GROUP_SESSION && stops_terminal(signal) && !translation->chosen[signal])
		return SIGSTOP;
	return translation->to[signal];
}

static void pass_on(const struct init *init, int signal)
{
	send_on(init, translated(init, signal));
	if (init->settings->personality == PERSONALITY_DUMB_INIT && stops_terminal(signal))
		kill(getpid(), SIGSTOP);
}

/* Called once: when the stop signal was sent on, or else when the program has ended. */
static void announce_ready(struct init *init)
{
	if (!init->ready_announced)
		order_announce(init->settings->hold.order.ready_file, init->logger);
	init->ready_announced = true;
}

/* The program gets its stop signal: after a hold, or at once. */
static void stop_program(struct init *init, int signal)
{
	init->stage = CLOSING;
	pass_on(init, signal);
	announce_ready(init);
}

/* A user at a terminal expects an answer. A pod with `tty: true` has a terminal too, but no user. */
static bool is_at_keyboard(void)
{
	return isatty(STDIN_FILENO) && !in_kubernetes();
}

static bool may_hold(const struct init *init)
{
	const struct settings *settings = init->settings;
	if (settings->no_hold || settings->dry_run || init->stage != SERVING)
		return false;
	if (is_at_keyboard())
		log_line(init->logger, LOG_NOTE, "nothing is held at a terminal outside Kubernetes");
	return !is_at_keyboard();
}

/* `why`: NULL for a dry run. */
static void hold_from(struct init *init, const char *why, double terminated_at, double now)
{
	hold_begin(init->hold, &init->settings->hold, init->logger, &init->baseline, why, terminated_at, now);
}

/*
 * The library is our child, and holds by itself at the signal that it would get. Then the library holds: it sees requests, and asks clients to leave.
 * The init holds where containers wait for each other's files, and where the library would hold longer than is known to be possible.
 */
static bool is_program_to_hold(const struct init *init, int signal)
{
	const struct drain_config *config = &init->settings->hold.decision;
	const struct order *order = &init->settings->hold.order;
	if (order->ready_file || order->wait_for.count + order->wait_gone.count > 0)
		return false;
	return holds_itself(init->child, translated(init, signal), fmin(config->floor, config->cap), config->cap + 1);
}

static void begin_hold(struct init *init, int signal)
{
	char name[16], held[32];
	const struct drain_config *config = &init->settings->hold.decision;
	struct holder before;
	double now = clock_now();
	signal_name(signal, name);
	/* The grace period began with the hook, not with the signal. */
	bool was_held = held_before(&before, config->cap + config->reserve + config->prestop, now);
	if (is_program_to_hold(init, signal)) {
		log_line(init->logger, LOG_NOTE, "%s: PID %d holds by itself (@lameduck/node): sent on at once", name, (int)init->child);
		stop_program(init, signal);
	} else if (was_held && has_just_held(&before, now)) {
		log_line(init->logger, LOG_NOTE, "%s: %s has held for %s: sent on at once", name, before.program,
			 format_duration(floor(before.ended - before.began), held, sizeof held));
		stop_program(init, signal);
	} else {
		init->stage = HOLDING;
		init->stop_signal = signal;
		init->holder = (struct holder){ .program = "init", .pid = getpid(), .with = process_of(getpid()),
						.longest_ms = floor(config->cap), .began = now };
		holder_write(&init->holder);
		hold_from(init, name, was_held ? before.began : now, now);
		hold_log_begin(init->hold, name, now);
	}
}

static void finish_hold(struct init *init)
{
	char name[16], and_then[64];
	int signal = translated(init, init->stop_signal);
	snprintf(and_then, sizeof and_then, "sending %s to %s%d", signal_name(signal, name),
		 signals_group(init) ? "group " : "", (int)init->child);
	init->holder.ended = clock_now();
	holder_write(&init->holder);
	stop_program(init, init->stop_signal);
	hold_end(init->hold, and_then, clock_now());
}

static void abandon_hold(struct init *init)
{
	init->stage = CLOSING;
	hold_force(init->hold, "the program has ended by itself", clock_now());
	hold_end(init->hold, "nothing to stop any more", clock_now());
}

static void take_ended_children(struct init *init)
{
	struct reaped reaped = reap(init->child);
	if (reaped.others > 0)
		log_line(init->logger, init->settings->warn_on_reap ? LOG_WARNING : LOG_TRACE,
		    "Reaped zombie process with pid=%d%s", (int)reaped.last_other,
		    reaped.others > 1 ? " and others" : "");
	if (!reaped.main_ended)
		return;
	init->ended = true;
	init->status = reaped.status;
	log_line(init->logger, LOG_DETAIL, "PID %d has ended: exit code %d", (int)init->child, exit_code_of(init->status));
}

/*
 * An image's STOPSIGNAL that no flag has named is passed on like any other signal, without a hold. It comes from outside of the container, from a
 * process that has no number here. For other signals from outside (SIGHUP, SIGUSR1 to rotate a log) the log has no line about it.
 */
static void tell_of_stop_signal(struct init *init, struct arrived_signal arrived)
{
	char name[16];
	int signal = arrived.number;
	const signal_mask usual = mask_of(SIGQUIT) | mask_of(SIGUSR1) | mask_of(SIGWINCH) | mask_of(SIGINT) | mask_of(SIGTERM) |
				  mask_of(SIGPWR) | ~(mask_of(32) - 1);
	bool is_asked = arrived.by_process && arrived.from == 0 && in_kubernetes() && usual & mask_of(signal);
	if (!is_asked || init->stage != SERVING || init->settings->no_hold || init->told & mask_of(signal))
		return;
	init->told |= mask_of(signal);
	signal_name(signal, name);
	log_line(init->logger, LOG_WARNING,
	    "%s came from outside of the container and was sent on at once, nothing is held: if it is the image's STOPSIGNAL, set --stop-signal %s "
	    "(LAMEDUCK_STOP_SIGNAL=%s)",
	    name, name, name);
}

static void take_signal(struct init *init, struct arrived_signal arrived)
{
	int signal = arrived.number;
	bool stops = signal > 0 && init->settings->stop_signals & mask_of(signal);
	char name[16];
	if (signal == SIGCHLD) {
		take_ended_children(init);
	} else if (signal == 0 || (signal == SIGPIPE && arrived.from == getpid())) {
		/* The init's own log has lost its reader. */
	} else if (init->ignore_once & mask_of(signal)) {
		init->ignore_once &= ~mask_of(signal);
	} else if (stops && may_hold(init)) {
		begin_hold(init, signal);
	} else if (stops && init->stage == HOLDING) {
		log_line(init->logger, LOG_NOTE, "%s came again; it changes nothing", signal_name(signal, name));
	} else if (signal == SIGINT && init->stage == HOLDING) {
		hold_force(init->hold, "SIGINT", clock_now());
	} else if (stops) {
		/* Many programs take a second stop signal as "now". */
		stop_program(init, signal);
	} else {
		tell_of_stop_signal(init, arrived);
		pass_on(init, signal);
	}
}

/* A dry run plays one hold after the other, at most one a second: where nothing listens each hold is over at once. */
static const double between_trials_ms = 1000;

static void end_trial(struct init *init)
{
	hold_end(init->hold, "would now send the signal (dry run)", clock_now());
	init->next_trial = fmax(init->hold->report.began + between_trials_ms, clock_now());
}

static int timeout(struct init *init, double now)
{
	if (init->next_trial > now)
		return (int)ceil(init->next_trial - now);
	if (init->next_trial > 0)
		hold_from(init, NULL, now, now);
	init->next_trial = 0;
	return hold_timeout(init->hold, now);
}

/* Reports the end of the hold to the coordinator. */
static void turn_reporting(struct init *init)
{
	struct pollfd polled[1 + HOLD_DESCRIPTORS] = { { .fd = init->signals, .events = POLLIN } };
	hold_descriptors(init->hold, clock_now(), polled + 1);
	poll(polled, 1 + HOLD_DESCRIPTORS, HOLD_REPORT_INTERVAL_MS);
	hold_report_step(init->hold, clock_now());
	if (polled[0].revents & POLLIN)
		take_signal(init, next_signal(init->signals));
}

/* One turn of the loop. While serving, nothing but a signal wakes us. */
static void turn(struct init *init)
{
	if (init->stage == CLOSING && hold_is_reporting(init->hold, clock_now())) {
		turn_reporting(init);
		return;
	}
	if (init->stage != HOLDING && !init->trying) {
		take_signal(init, next_signal(init->signals));
		return;
	}
	double now = clock_now();
	int longest = timeout(init, now);
	struct pollfd polled[1 + HOLD_DESCRIPTORS] = { { .fd = init->signals, .events = POLLIN } };
	hold_descriptors(init->hold, now, polled + 1);
	poll(polled, 1 + HOLD_DESCRIPTORS, longest);
	if (polled[0].revents & POLLIN)
		take_signal(init, next_signal(init->signals));
	if (init->stage == HOLDING && holder_is_asked(&init->holder))
		hold_force(init->hold, "lameduck-init end", clock_now());
	if (init->ended || init->next_trial > 0 || !hold_step(init->hold, clock_now()))
		return;
	if (init->stage == HOLDING)
		finish_hold(init);
	else
		end_trial(init);
}

static void leave_terminal(struct init *init)
{
	/* A session leader is sent SIGHUP and SIGCONT for this. They are not meant for the program. */
	if (init->child_group == CHILD_GROUP_SESSION && ioctl(STDIN_FILENO, TIOCNOTTY) == 0 && getsid(0) == getpid())
		init->ignore_once = mask_of(SIGHUP) | mask_of(SIGCONT);
}

static int finish(struct init *init)
{
	int code = exit_code_of(init->status);
	if (init->stage == HOLDING)
		abandon_hold(init);
	hold_await_report(init->hold);
	if (init->child_group == CHILD_GROUP_SESSION)
		send_on(init, SIGTERM);
	if (init->holder.began > 0)
		holder_remove(&init->holder);
	announce_ready(init);
	order_announce(init->settings->hold.order.done_file, init->logger);
	if (code > 255 || init->settings->expected_codes[code])
		return 0;
	return code;
}

/* Returns what kept the program from being run, 0 where it runs, -1 where there is not even a process. */
static int start_program(struct init *init, const struct inherited *inherited)
{
	bool as_dumb_init = init->settings->personality == PERSONALITY_DUMB_INIT;
	const struct launch launch = {
		.argv = init->settings->command,
		.child_group = init->child_group,
		.inherited = *inherited,
		.with_defaults = as_dumb_init,
		.directory = as_dumb_init ? leave_directory(init->logger) : -1,
		.exec_failure_code = as_dumb_init ? 2 : -1,
	};
	int exec_error;
	if (!init->settings->no_hold && !init->settings->dry_run)
		tell_program(init->settings);
	init->child = start_child(&launch, init->signals, &exec_error);
	if (init->child < 0)
		log_line(init->logger, LOG_ERROR, "cannot start a process: %s", strerror(errno));
	else if (exec_error)
		log_line(init->logger, LOG_ERROR, "cannot run %s: %s", launch.argv[0], strerror(exec_error));
	else
		log_line(init->logger, LOG_DETAIL, "started %s as PID %d", launch.argv[0], (int)init->child);
	if (launch.directory >= 0)
		close(launch.directory);
	return init->child < 0 ? -1 : exec_error;
}

int run_init(const struct settings *settings, const struct logger *logger)
{
	/* Large, and touched only when a hold begins: never allocated, so that low memory cannot prevent the hold. */
	static struct hold hold;
	struct init init = { .settings = settings, .logger = logger, .child_group = child_group_of(settings), .hold = &hold };
	struct inherited inherited;
	signal_mask blocked = blocked_by(settings->personality);
	if (settings->parent_death_signal)
		prctl(PR_SET_PDEATHSIG, settings->parent_death_signal);
	take_signals(&inherited, blocked, settings->personality != PERSONALITY_DUMB_INIT);
	init.signals = open_signals(blocked);
	if (init.signals < 0) {
		log_line(logger, LOG_ERROR, "cannot receive signals: %s", strerror(errno));
		return 3;
	}
	adopt_orphans(settings, logger);
	leave_terminal(&init);
	order_clean(&settings->hold.order);
	int failure = start_program(&init, &inherited);
	if (failure < 0)
		return 3;
	if (!settings->no_hold) {
		init.baseline = baseline_read(clock_now());
		hold_warn(&settings->hold, logger);
	}
	init.trying = settings->dry_run && !failure;
	double now = clock_now();
	if (init.trying)
		hold_from(&init, NULL, now, now);
	while (!init.ended)
		turn(&init);
	return finish(&init);
}
