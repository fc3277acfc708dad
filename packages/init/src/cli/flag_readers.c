#include "flag_readers.h"

#include "../base/text.h"
#include "../decision/duration.h"
#include "../kernel/namespace.h"

#include <stdio.h>
#include <string.h>

/* The caller adds the place, which is the flag or the variable. */
static bool bad(struct error *error, enum error_code code, const char *value, const char *what)
{
	error_set(error, code, "", "\"%s\" is no %s", value, what);
	return false;
}

static bool too_many(struct error *error, enum error_code code, int most)
{
	error_set(error, code, "", "more than %d of them", most);
	return false;
}

bool read_version(struct settings *settings, const char *value, struct error *error)
{
	(void)value, (void)error;
	settings->action = ACTION_VERSION;
	return true;
}

bool read_help(struct settings *settings, const char *value, struct error *error)
{
	(void)value, (void)error;
	settings->action = ACTION_HELP;
	return true;
}

bool read_license(struct settings *settings, const char *value, struct error *error)
{
	(void)value, (void)error;
	settings->action = ACTION_LICENSE;
	return true;
}

bool read_verbose(struct settings *settings, const char *value, struct error *error)
{
	uint64_t level = 1;
	if (value && !is_number(value, 0, 9, &level))
		return bad(error, ERROR_BAD_NUMBER, value, "level from 0 to 9");
	settings->verbosity += (int)level;
	return true;
}

bool read_expected_code(struct settings *settings, const char *value, struct error *error)
{
	uint64_t code;
	if (!is_number(value, 0, 255, &code))
		return bad(error, ERROR_BAD_NUMBER, value, "exit code from 0 to 255");
	settings->expected_codes[code] = true;
	return true;
}

bool read_translation(struct settings *settings, const char *value, struct error *error)
{
	return translation_add(&settings->translation, value, HIGHEST_SIGNAL) ||
	       bad(error, ERROR_BAD_SIGNAL, value, "pair of signals such as TERM=QUIT");
}

bool read_rewrite(struct settings *settings, const char *value, struct error *error)
{
	/* dumb-init knows no real-time signals. */
	int highest = settings->personality == PERSONALITY_DUMB_INIT ? HIGHEST_STANDARD_SIGNAL : HIGHEST_SIGNAL;
	return (strchr(value, ':') && translation_add(&settings->translation, value, highest)) ||
	       bad(error, ERROR_BAD_SIGNAL, value, "pair of signals such as 15:10");
}

bool read_stop_signal(struct settings *settings, const char *value, struct error *error)
{
	int signal = signal_number(value);
	if (signal == 0 || signal == SIGKILL || signal == SIGSTOP || signal == SIGCHLD)
		return bad(error, ERROR_BAD_SIGNAL, value, "signal that can be held");
	settings->stop_signals |= mask_of(signal);
	return true;
}

bool read_then(struct settings *settings, const char *value, struct error *error)
{
	settings->then_signal = signal_number(value);
	/* PID 1 ignores both where they come from inside of its own namespace. */
	bool possible = settings->then_signal && settings->then_signal != SIGKILL && settings->then_signal != SIGSTOP;
	return possible || bad(error, ERROR_BAD_SIGNAL, value, "signal that the program can handle");
}

/* One value, or several with commas between: "80,443". */
static bool add_ports(struct port_list *list, const char *value, struct error *error)
{
	char text[6];
	size_t length = strcspn(value, ",");
	uint64_t port;
	snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : 0), value);
	if (!is_number(text, 1, 65535, &port))
		return bad(error, ERROR_BAD_ADDRESS, value, "port");
	if (list->count == MOST_PORTS)
		return too_many(error, ERROR_BAD_ADDRESS, MOST_PORTS);
	list->ports[list->count++] = (uint16_t)port;
	return value[length] == '\0' || add_ports(list, value + length + 1, error);
}

bool read_port(struct settings *settings, const char *value, struct error *error)
{
	return add_ports(&settings->hold.traffic.ports, value, error);
}

bool read_ignored_port(struct settings *settings, const char *value, struct error *error)
{
	return add_ports(&settings->hold.traffic.ignored_ports, value, error);
}

bool read_ignored_peer(struct settings *settings, const char *value, struct error *error)
{
	struct ignored_peers *ignored = &settings->hold.traffic.ignored_peers;
	if (ignored->count == MOST_IGNORED)
		return too_many(error, ERROR_BAD_ADDRESS, MOST_IGNORED);
	struct address_range *range = &ignored->ranges[ignored->count];
	if (strcmp(value, "gateway") == 0) {
		range->prefix = 128;
		ignored->count += default_gateway(&range->address);
		return true;
	}
	if (!address_range_parse(value, range))
		return bad(error, ERROR_BAD_ADDRESS, value, "address, range or \"gateway\"");
	ignored->count++;
	return true;
}

bool read_probe_period(struct settings *settings, const char *value, struct error *error)
{
	struct probe_periods *periods = &settings->hold.traffic.probe_periods;
	double period;
	if (!parse_duration(value, "", &period, error))
		return false;
	if (period == 0)
		return bad(error, ERROR_BAD_DURATION, value, "period of probes");
	if (periods->count == MOST_PROBE_PERIODS)
		return too_many(error, ERROR_BAD_DURATION, MOST_PROBE_PERIODS);
	periods->each[periods->count++] = period;
	return true;
}

static bool add_path(const char **paths, size_t *count, size_t most, const char *value, struct error *error)
{
	if (!*value)
		return bad(error, ERROR_BAD_CHOICE, value, "path");
	if (*count == most)
		return too_many(error, ERROR_BAD_CHOICE, (int)most);
	paths[(*count)++] = value;
	return true;
}

bool read_ignored_socket(struct settings *settings, const char *value, struct error *error)
{
	struct ignored_sockets *ignored = &settings->hold.traffic.ignored_sockets;
	return add_path(ignored->paths, &ignored->count, MOST_IGNORED_SOCKETS, value, error);
}

bool read_wait_for(struct settings *settings, const char *value, struct error *error)
{
	struct path_list *list = &settings->hold.order.wait_for;
	return add_path(list->paths, &list->count, MOST_ORDER_FILES, value, error);
}

bool read_wait_gone(struct settings *settings, const char *value, struct error *error)
{
	struct path_list *list = &settings->hold.order.wait_gone;
	return add_path(list->paths, &list->count, MOST_ORDER_FILES, value, error);
}
