/* Where names are looked up: /etc/resolv.conf and /etc/hosts, as far as pods use them. */
#pragma once

#include "dns.h"

enum { MOST_SERVERS = 3, MOST_DOMAINS = 8 };

struct resolver {
	struct address servers[MOST_SERVERS];
	size_t server_count;
	char domains[MOST_DOMAINS][DNS_NAME];
	size_t domain_count;
	unsigned dots; /* "ndots": a name with at least this number of dots is looked up as it is before domains are appended */
};

void resolver_read(struct resolver *resolver, const char *path);

/* A line of resolv.conf. */
void resolver_line(struct resolver *resolver, const char *line);

/* The n-th name to look up for `host`, from 0 on. False after the last. A name that would be too long is cut, and does not exist. */
bool resolver_name(const struct resolver *resolver, const char *host, size_t n, char name[DNS_NAME]);

/* The address of `host` in a file such as /etc/hosts. */
bool hosts_find(const char *path, const char *host, struct address *address);
bool hosts_line(const char *line, const char *host, struct address *address);
