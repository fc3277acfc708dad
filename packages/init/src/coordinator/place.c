#include "place.h"

#include "../base/text.h"

#include <stdio.h>
#include <string.h>

static const char scheme[] = "http://";
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
enum { HTTP_PORT = 80 };

bool is_plain_name(const char *text)
{
	size_t length = strlen(text);
	return length > 0 && length < DNS_NAME && strspn(text, plain) == length;
}

bool place_parse(struct coordinator_place *place)
{
	if (strncmp(place->url, scheme, sizeof scheme - 1) != 0)
		return false;
	const char *host = place->url + sizeof scheme - 1;
	bool ipv6 = *host == '[';
	host += ipv6;
	size_t length = strcspn(host, ipv6 ? "]" : ":/");
	const char *after = host + length;
	uint64_t port = HTTP_PORT;
	struct address address;
	snprintf(place->host, sizeof place->host, "%.*s", length < sizeof place->host ? (int)length : 0, host);
	if (ipv6 ? *after++ != ']' || !address_parse(place->host, &address) : !is_plain_name(place->host))
		return false;
	if (*after == ':') {
		after = read_decimal(after + 1, &port);
		if (!after || port < 1 || port > 65535)
			return false;
	}
	place->port = (uint16_t)port;
	place->authority = place->url + sizeof scheme - 1;
	place->authority_length = (int)(after - place->authority);
	return *after == '\0' || strcmp(after, "/") == 0;
}
