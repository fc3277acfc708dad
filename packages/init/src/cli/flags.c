#include "flags.h"

#include "flag_readers.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Personalities that know a short flag; long ones are known to all, as neither tini nor dumb-init has others by these names. */
enum { OWN = 1 << PERSONALITY_OWN, TINI = 1 << PERSONALITY_TINI, DUMB = 1 << PERSONALITY_DUMB_INIT };

#define AT(field) offsetof(struct settings, field)

const struct flag flags[] = {
	{ "subreaper", 's', OWN | TINI, SWITCH, false, AT(subreaper), NULL },
	{ "group", 'g', OWN | TINI, SWITCH, false, AT(group), NULL },
	{ "warn-on-reap", 'w', OWN | TINI, SWITCH, false, AT(warn_on_reap), NULL },
	{ "single-child", 'c', OWN | DUMB, SWITCH, false, AT(single_child), NULL },
	{ "parent-death", 'p', OWN | TINI, TEXT, false, AT(parent_death), NULL },
	{ "expect", 'e', OWN | TINI, LIST, false, 0, read_expected_code },
	{ "verbose", 'v', OWN | TINI | DUMB, ACT, false, 0, read_verbose },
	{ "rewrite", 'r', OWN | DUMB, LIST, false, 0, read_rewrite },
	{ "license", 'l', OWN | TINI, ACT, false, 0, read_license },
	{ "help", 'h', OWN | TINI | DUMB, ACT, false, 0, read_help },
	{ "version", 'V', OWN | DUMB, ACT, false, 0, read_version },
	{ "signal", 0, 0, LIST, false, 0, read_translation },
	{ "stop-signal", 0, 0, LIST, true, 0, read_stop_signal },
	{ "then", 0, 0, LIST, false, 0, read_then },
	{ "policy", 0, 0, TEXT, true, AT(decision.policy), NULL },
	{ "floor", 0, 0, TEXT, true, AT(decision.floor), NULL },
	{ "cap", 0, 0, TEXT, true, AT(decision.cap), NULL },
	{ "grace", 0, 0, TEXT, true, AT(decision.grace), NULL },
	{ "grace-period", 0, 0, TEXT, true, AT(decision.grace), NULL },
	{ "prestop", 0, 0, TEXT, true, AT(decision.prestop), NULL },
	{ "reserve", 0, 0, TEXT, true, AT(decision.reserve), NULL },
	{ "delay", 0, 0, TEXT, true, AT(decision.delay), NULL },
	{ "window", 0, 0, TEXT, true, AT(decision.window), NULL },
	{ "loss-budget", 0, 0, TEXT, true, AT(decision.loss_budget), NULL },
	{ "convergence", 0, 0, TEXT, true, AT(decision.convergence), NULL },
	{ "learnt", 0, 0, TEXT, true, AT(decision.learnt), NULL },
	{ "request-quiet", 0, 0, TEXT, true, AT(decision.request_quiet), NULL },
	{ "settle", 0, 0, TEXT, true, AT(decision.settle), NULL },
	{ "max-senders", 0, 0, TEXT, true, AT(decision.max_senders), NULL },
	{ "port", 0, 0, LIST, true, 0, read_port },
	{ "ignore-port", 0, 0, LIST, true, 0, read_ignored_port },
	{ "ignore-peer", 0, 0, LIST, true, 0, read_ignored_peer },
	{ "probe-period", 0, 0, LIST, true, 0, read_probe_period },
	{ "ignore-socket", 0, 0, LIST, true, 0, read_ignored_socket },
	{ "streams", 0, 0, TEXT, true, AT(streams), NULL },
	{ "ready-file", 0, 0, TEXT, false, AT(hold.order.ready_file), NULL },
	{ "done-file", 0, 0, TEXT, false, AT(hold.order.done_file), NULL },
	{ "wait-for", 0, 0, LIST, true, 0, read_wait_for },
	{ "wait-gone", 0, 0, LIST, true, 0, read_wait_gone },
	{ "order-timeout", 0, 0, TEXT, false, AT(order_timeout), NULL },
	{ "mode", 0, 0, TEXT, true, AT(mode), NULL },
	{ "coordinator", 0, 0, TEXT, true, AT(hold.place.url), NULL },
	{ "pod-name", 0, 0, TEXT, false, AT(hold.place.pod), NULL },
	{ "pod-namespace", 0, 0, TEXT, false, AT(hold.place.pod_namespace), NULL },
	{ "pod-uid", 0, 0, TEXT, false, AT(hold.place.pod_uid), NULL },
	{ "no-hold", 0, 0, SWITCH, false, AT(no_hold), NULL },
	{ "dry-run", 0, 0, SWITCH, true, AT(dry_run), NULL },
	{ "trace", 0, 0, TEXT, false, AT(hold.recording), NULL },
	{ "log", 0, 0, TEXT, false, AT(log), NULL },
};

const size_t flag_count = sizeof flags / sizeof *flags;

bool flag_takes_value(const struct flag *flag)
{
	return flag->kind == TEXT || flag->kind == LIST;
}

const char **flag_text(struct settings *settings, const struct flag *flag)
{
	return (const char **)((char *)settings + flag->offset);
}

bool flag_apply(struct settings *settings, const struct flag *flag, const char *value, struct error *error)
{
	settings->any_hold_option = settings->any_hold_option || flag->of_hold;
	switch (flag->kind) {
	case SWITCH:
		*(bool *)((char *)settings + flag->offset) = true;
		return true;
	case TEXT:
		*flag_text(settings, flag) = value;
		return true;
	case ACT:
	case LIST:
		return flag->read(settings, value, error);
	}
	return false;
}

bool fail_at(struct error *error, const char *place)
{
	snprintf(error->option, sizeof error->option, "%s", place);
	return false;
}

const struct flag *long_flag(const char *name, size_t length)
{
	for (size_t i = 0; i < flag_count; i++)
		if (strlen(flags[i].name) == length && memcmp(flags[i].name, name, length) == 0)
			return &flags[i];
	return NULL;
}

const struct flag *short_flag(char letter, enum personality personality)
{
	for (size_t i = 0; i < flag_count; i++)
		if (flags[i].letter == letter && flags[i].knows_letter >> personality & 1)
			return &flags[i];
	return NULL;
}
