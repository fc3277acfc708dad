/* The two messages of DNS (RFC 1035) that a lookup needs: a question for addresses, and its answer. No I/O. */
#pragma once

#include "../kernel/address.h"

enum { DNS_MESSAGE = 512, DNS_NAME = 254, MOST_ADDRESSES = 8 };
enum dns_type { DNS_A = 1, DNS_AAAA = 28 };

enum dns_result {
	DNS_FOREIGN, /* no answer to this question */
	DNS_FOUND,
	DNS_NO_ADDRESS, /* the name has none of this type */
	DNS_NO_NAME,
	DNS_REFUSED, /* the server cannot answer, or its answer is not understood */
};

/* The length of the question in `message`; 0 where `host` cannot be a name. */
size_t dns_question(uint8_t message[DNS_MESSAGE], uint16_t id, const char *name, enum dns_type type);

struct addresses {
	struct address all[MOST_ADDRESSES];
	size_t count;
};

/* Compares `data` with the question as it was sent, and takes its addresses out of it: the first ones where there are too many. */
enum dns_result dns_answer(const uint8_t *question, size_t asked, const uint8_t *data, size_t size, struct addresses *found);
