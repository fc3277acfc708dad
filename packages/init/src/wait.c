#include "wait.h"

#include "base/clock.h"
#include "hold/earlier_run.h"
#include "traffic/before.h"

#include <poll.h>

/* A hook may be ended by SIGTERM or SIGINT; either ends the hold, and the kubelet goes on with the program's own signal. */
static bool told_to_end(int signals, const struct hold *hold, double now)
{
	int watched[HOLD_DESCRIPTORS];
	hold_descriptors(hold, now, watched);
	struct pollfd polled[1 + HOLD_DESCRIPTORS] = { { .fd = signals, .events = POLLIN } };
	for (int i = 0; i < HOLD_DESCRIPTORS; i++)
		polled[1 + i] = (struct pollfd){ .fd = watched[i], .events = POLLIN };
	poll(polled, 1 + HOLD_DESCRIPTORS, hold_patience(hold, now));
	return polled[0].revents & POLLIN;
}

int run_wait(const struct settings *settings, const struct speaker *speaker)
{
	static struct hold hold;
	const signal_mask ending = mask_of(SIGTERM) | mask_of(SIGINT) | mask_of(SIGHUP);
	set_signal_mask(ending | mask_of(SIGPIPE));
	int signals = open_signals(ending);
	double begun = clock_now();
	/* The kubelet may run a hook again: what is left of the first run's time is all there is. */
	double earlier = settings->dry_run ? begun : earlier_run_began(begun);
	hold_warn(&settings->hold, speaker);
	if (!settings->dry_run)
		order_clean(&settings->hold.order);
	struct baseline baseline = baseline_of_namespace(begun);
	hold_begin(&hold, &settings->hold, speaker, &baseline, earlier, begun);
	for (;;) {
		if (told_to_end(signals, &hold, clock_now()))
			hold_force(&hold, "signal", clock_now());
		if (hold_step(&hold, clock_now()))
			break;
	}
	hold_end(&hold, "the program may be stopped", clock_now());
	if (!settings->dry_run)
		order_announce(settings->hold.order.ready_file, speaker);
	return hold.order_missed ? 1 : 0;
}
