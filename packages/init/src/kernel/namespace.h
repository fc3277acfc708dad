/* Facts about this network namespace: whether it is the host's or a pod's, how old it is, and its gateway. */
#pragma once

#include "address.h"

bool is_host_network(void);

/* Seconds since an address was first given to an interface, from the kernel's time stamp; NAN if it is unknown. */
double namespace_age(void);

/* The IPv4 default gateway: with bridged pod networks it is the node, from where the kubelet probes. */
bool default_gateway(struct address *gateway);

/* `Iface Destination Gateway ...` lines of /proc/net/route. */
bool parse_default_gateway(const char *text, struct address *gateway);
