/* Which coordinator to ask, for which pod. */
#pragma once

#include "dns.h"

struct coordinator_place {
	const char *url; /* the url as configured; NULL: no coordinator is asked */
	const char *pod;
	const char *pod_namespace;
	const char *pod_uid;
	const char *authority; /* the host and port of the url, as configured */
	int authority_length;
	char host[DNS_NAME];
	uint16_t port;
	bool consistency; /* the mode until an answer names it */
};

/* Reads the url, such as "http://lameduck-coordinator.lameduck-system.svc:8070". False where it is invalid. */
bool place_parse(struct coordinator_place *place);

/* Whether a text is the name of a pod or a namespace, or a UID, so that it can stand in a request line. */
bool is_plain_name(const char *text);
