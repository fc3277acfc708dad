/* IP addresses in one form for both families: IPv4 as ::ffff:a.b.c.d, as a dual-stack listener sees its IPv4 peers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { ADDRESS_TEXT = 48 };

struct address {
	uint8_t bytes[16];
};

struct address_range {
	struct address address;
	unsigned prefix; /* 0 to 128 */
};

/* `bytes` in network order: 4 of them for AF_INET, else 16. */
struct address address_from(int family, const void *bytes);
bool address_is_ipv4(const struct address *address);
static inline bool address_equal(const struct address *a, const struct address *b)
{
	return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

const char *address_format(const struct address *address, char text[ADDRESS_TEXT]);

/* "10.1.2.3", "fd00::1". */
bool address_parse(const char *text, struct address *address);
/* "10.1.2.3", "10.1.0.0/16", "fd00::/8". */
bool address_range_parse(const char *text, struct address_range *range);
bool address_in_range(const struct address *address, const struct address_range *range);
