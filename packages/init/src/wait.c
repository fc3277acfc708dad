#include "wait.h"

#include "base/clock.h"
#include "process/container.h"
#include "process/holders.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int poll_interval_ms = 100;
/* A slow kubelet sends its signal later than it starts the hook: a program may hold a little shorter than the hook and still be the one to hold. */
static const double nearly = 0.9;

/* A hook may be ended by SIGTERM or SIGINT; either ends the hold, and the kubelet goes on with the program's own signal. */
static bool is_asked_to_end(int signals, const struct hold *hold, double now)
{
	struct pollfd polled[1 + HOLD_DESCRIPTORS] = { { .fd = signals, .events = POLLIN } };
	hold_descriptors(hold, now, polled + 1);
	poll(polled, 1 + HOLD_DESCRIPTORS, hold_timeout(hold, now));
	return polled[0].revents & POLLIN;
}

/* Waits until the process has gone, `until` has come or a signal ends us. If PID 1 ends, the kernel kills us: then this does not return. */
static bool await_end(pid_t pid, int signals, double until)
{
	struct pollfd polled = { .fd = signals, .events = POLLIN };
	while (kill(pid, 0) == 0) {
		double left = until - clock_now();
		if (left <= 0 || poll(&polled, 1, left < poll_interval_ms ? (int)ceil(left) : poll_interval_ms) > 0)
			return false;
	}
	return true;
}

/* The program's own way to stop, where that is not SIGTERM. False where it cannot have been seen. */
static bool stop_main(const struct main_process *main, int signal, const struct logger *logger)
{
	char name[16];
	signal_name(signal, name);
	if (drops_signal(main->pid, signal)) {
		log_line(logger, LOG_WARNING, "--then: PID 1 has no handler for %s, and the kernel drops what PID 1 does not handle",
		    name);
		return false;
	}
	if (kill(main->pid, signal) == 0)
		return true;
	log_line(logger, LOG_WARNING, "--then: cannot send %s to PID %d: %s", name, (int)main->pid, strerror(errno));
	return false;
}

/*
 * Whether the program holds by itself at the signal that comes next, and as long as we would: it sees requests and can ask clients to leave. Then the hook
 * does not hold. The hook holds all the same where containers wait for each other's files, and where its hold is meant to be the longer one.
 */
static bool is_program_to_hold(const struct settings *settings, const struct main_process *main)
{
	const struct order *order = &settings->hold.order;
	const struct drain_config *decision = &settings->hold.decision;
	double longest = decision->policy == POLICY_FIXED ? fmin(decision->cap, fmax(decision->floor, decision->delay)) : decision->cap;
	int next = settings->then_signal ? settings->then_signal : SIGTERM;
	if (settings->dry_run || order->ready_file || order->wait_for.count + order->wait_gone.count > 0)
		return false;
	return holds_itself(main->pid, next, nearly * longest, decision->cap + 1);
}

static bool then_stop(const struct settings *settings, const struct main_process *main, int signals, double cap_ends,
		      const struct logger *logger)
{
	if (!settings->then_signal || settings->dry_run)
		return true;
	if (!stop_main(main, settings->then_signal, logger))
		return false;
	/* The reserve follows the cap: one half for this signal, the other half for the kubelet's SIGTERM. */
	double until = fmax(cap_ends, clock_now() + settings->hold.decision.reserve / 2);
	if (!await_end(main->pid, signals, until))
		log_line(logger, LOG_NOTE, "PID %d has not ended yet; the kubelet goes on with the container's stop signal",
		    (int)main->pid);
	return true;
}

static const char *what_follows(const struct settings *settings, const struct main_process *main, char *buffer, size_t size)
{
	char name[16];
	if (!settings->then_signal)
		return "the program may be stopped";
	snprintf(buffer, size, "%s %s to PID %d", settings->dry_run ? "would send" : "sending",
		 signal_name(settings->then_signal, name), (int)main->pid);
	return buffer;
}

int run_wait(const struct settings *settings, const struct logger *own)
{
	static struct hold hold;
	char follows[64];
	const signal_mask ending = mask_of(SIGTERM) | mask_of(SIGINT) | mask_of(SIGHUP);
	set_signal_mask(ending | mask_of(SIGPIPE));
	int signals = open_signals(ending);
	double begun = clock_now();
	double cap = settings->hold.decision.cap;
	struct main_process main = find_main_process();
	struct logger logger = *own;
	struct holder holder = { .program = "wait", .pid = getpid(), .with = main, .longest_ms = floor(cap), .began = begun };
	if (!settings->dry_run) {
		/* The kubelet shows the output of a hook only if it fails. */
		logger.also = open_log_of(main.pid);
		if (is_program_to_hold(settings, &main)) {
			log_line(&logger, LOG_NOTE, "preStop: PID %d holds by itself (@lameduck/node): nothing is held before it", (int)main.pid);
			return then_stop(settings, &main, signals, begun + cap, &logger) ? 0 : 1;
		}
		holder.began = hook_began(&holder, begun);
		holder_write(&holder);
		order_clean(&settings->hold.order);
	}
	double began = holder.began;
	hold_warn(&settings->hold, &logger);
	struct baseline baseline = baseline_of_namespace(begun);
	hold_begin(&hold, &settings->hold, &logger, &baseline, settings->dry_run ? NULL : "preStop", began, begun);
	hold_log_begin(&hold, settings->dry_run ? "dry run" : "preStop", begun);
	do {
		if (is_asked_to_end(signals, &hold, clock_now()))
			hold_force(&hold, "signal", clock_now());
		else if (holder_is_asked(&holder))
			hold_force(&hold, "lameduck-init end", clock_now());
	} while (!hold_step(&hold, clock_now()));
	holder.ended = clock_now();
	if (!settings->dry_run)
		holder_write(&holder);
	hold_end(&hold, what_follows(settings, &main, follows, sizeof follows), clock_now());
	hold_await_report(&hold);
	if (!settings->dry_run)
		order_announce(settings->hold.order.ready_file, &logger);
	bool stopped = then_stop(settings, &main, signals, began + cap, &logger);
	return stopped && !hold.order_missed ? 0 : 1;
}
