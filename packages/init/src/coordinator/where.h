/* Which coordinator to ask, and which pod we are. */
#ifndef LAMEDUCK_WHERE_H
#define LAMEDUCK_WHERE_H

#include "dns.h"

struct where {
	const char *url; /* as it was said; NULL: nobody is asked */
	const char *pod;
	const char *pod_namespace;
	const char *pod_uid;
	const char *authority; /* the host and port of the url, as they were said */
	int authority_length;
	char host[DNS_NAME];
	uint16_t port;
};

/* "http://lameduck-coordinator.lameduck-system.svc:8070". False where it is none. */
bool where_parse(struct where *where);

/* Of a pod, a namespace or a UID: such a text can be a part of a request line. */
bool is_plain_name(const char *text);

#endif
