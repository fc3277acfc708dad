#include "timeline.h"

#include <math.h>

/* "198.18.0.14 (4.1/s before, silent 2.9 s)". */
static void add_pending(struct writer *text, const struct drain *drain, const struct explanation *explanation, double now)
{
	const struct pending_sender *sender = &explanation->pending;
	double met = explanation->met_at[WAIT_SILENCE];
	double at = isfinite(met) ? met : now - drain->terminated_at;
	double silence = isnan(sender->silence) ? at + drain->config.prestop : sender->silence;
	double rate = sender->rate * 1000;
	if (sender->sender)
		text_add(text, "%s", sender->sender);
	else
		text_add(text, "other senders");
	text_add(text, rate >= 99.5 ? " (%.0f/s before, " : " (%.2g/s before, ", rate);
	text_add(text, "silent %.1f s)", fmax(0, silence) / 1000);
}

/* "released by 5 of 5 senders at 5.1 (kube-proxy/node5 last)". */
static void add_release(struct writer *text, const struct drain *drain, const struct status *status)
{
	text_add(text, "released");
	if (status->relevant > 0)
		text_add(text, " by %u of %u senders", status->reported, status->relevant);
	text_add(text, " at %.1f", (drain->release.given_at - drain->terminated_at) / 1000);
	if (*status->last)
		text_add(text, " (%s last)", status->last);
}

/* Whether the wait for senders, or for acknowledgements, ended by the release. */
static bool ended_by_release(const struct drain *drain, const double met_at[WAIT_KINDS])
{
	double met = isfinite(met_at[WAIT_ACKNOWLEDGEMENTS]) ? met_at[WAIT_ACKNOWLEDGEMENTS] : met_at[WAIT_SILENCE];
	return isfinite(met) && drain->terminated_at + met >= release_settled_at(&drain->release);
}

static void add_wait(struct writer *text, const struct drain *drain, const struct explanation *explanation, int kind, double now)
{
	bool named = kind == WAIT_SILENCE && explanation->pending.any;
	if (named)
		add_pending(text, drain, explanation, now);
	else if (kind == WAIT_REQUESTS)
		text_add(text, "requests on older connections");
	else if (kind == WAIT_GAP)
		text_add(text, "a gap on old connections");
	else if (kind == WAIT_PROCESSOR)
		text_add(text, "a free processor");
	else
		text_add(text, "%s", kind == WAIT_IN_FLIGHT ? "requests in flight" : waiting_for_names[kind]);
}

/* The condition that was met next after the condition `after`, in the order of time; WAIT_KINDS after the last. */
static int next_met(const double met_at[WAIT_KINDS], int after)
{
	int next = WAIT_KINDS;
	for (int kind = 0; kind < WAIT_KINDS; kind++) {
		if (!isfinite(met_at[kind]))
			continue;
		bool later = after == WAIT_KINDS || met_at[kind] > met_at[after] ||
			     (met_at[kind] == met_at[after] && kind > after);
		if (later && (next == WAIT_KINDS || met_at[kind] < met_at[next]))
			next = kind;
	}
	return next;
}

void timeline_add(struct writer *text, const struct drain *drain, const struct status *status, const struct explanation *explanation,
		  double now)
{
	const double *met_at = explanation->met_at;
	const struct release *release = &drain->release;
	const char *before = "";
	bool by_release = ended_by_release(drain, met_at), release_added = false;
	for (int kind = next_met(met_at, WAIT_KINDS); kind < WAIT_KINDS; kind = next_met(met_at, kind)) {
		bool is_length = kind == WAIT_FLOOR || kind == WAIT_DELAY;
		bool of_release = by_release && (kind == WAIT_SILENCE || kind == WAIT_ACKNOWLEDGEMENTS);
		if (of_release && release_added)
			continue;
		text_add(text, "%s", before);
		before = ", ";
		release_added = release_added || of_release;
		if (of_release) {
			add_release(text, drain, status);
			continue;
		}
		add_wait(text, drain, explanation, kind, now);
		text_add(text, "%s %.1f", is_length ? "" : " until", met_at[kind] / 1000);
	}
	if (release->overruled) {
		text_add(text, "%srelease overruled by %s at %.1f", before, release->overruled_by,
			 (release->overruled_at - drain->terminated_at) / 1000);
		before = ", ";
	}
	bool waits = false;
	for (int kind = 0; kind < WAIT_KINDS; kind++)
		if (isinf(met_at[kind])) {
			text_add(text, "%s%s", waits ? " and " : before, waits ? "" : "still waiting for ");
			add_wait(text, drain, explanation, kind, now);
			waits = true;
		}
	if (!waits && !*before)
		text_add(text, "nothing to wait for");
}
