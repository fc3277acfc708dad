/* What a user says about the pod's traffic. */
#pragma once

#include "listeners.h"
#include "probe_classifier.h"
#include "unix_sockets.h"

enum { MOST_IGNORED = 32 };

struct ignored_peers {
	struct address_range ranges[MOST_IGNORED];
	size_t count;
};

struct traffic_settings {
	struct port_list ports;
	struct port_list ignored_ports;
	struct ignored_peers ignored_peers;
	struct ignored_sockets ignored_sockets;
	struct probe_periods probe_periods;
	bool wait_for_streams;
};

static inline bool is_ignored(const struct ignored_peers *ignored, const struct address *peer)
{
	for (size_t i = 0; i < ignored->count; i++)
		if (address_in_range(peer, &ignored->ranges[i]))
			return true;
	return false;
}
