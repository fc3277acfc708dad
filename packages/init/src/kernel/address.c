#include "address.h"

#include "../base/text.h"

#include <arpa/inet.h>

static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

struct address address_from(int family, const void *bytes)
{
	struct address address;
	if (family == AF_INET) {
		memcpy(address.bytes, mapped, sizeof mapped);
		memcpy(address.bytes + 12, bytes, 4);
	} else {
		memcpy(address.bytes, bytes, 16);
	}
	return address;
}

bool address_is_ipv4(const struct address *address)
{
	return memcmp(address->bytes, mapped, sizeof mapped) == 0;
}

const char *address_format(const struct address *address, char text[ADDRESS_TEXT])
{
	bool ipv4 = address_is_ipv4(address);
	inet_ntop(ipv4 ? AF_INET : AF_INET6, address->bytes + (ipv4 ? 12 : 0), text, ADDRESS_TEXT);
	return text;
}

bool address_range_parse(const char *text, struct address_range *range)
{
	char address[ADDRESS_TEXT];
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	if (length >= sizeof address)
		return false;
	memcpy(address, text, length);
	address[length] = '\0';
	int family = strchr(address, ':') ? AF_INET6 : AF_INET;
	unsigned offset = family == AF_INET ? 96 : 0;
	uint8_t bytes[16];
	if (inet_pton(family, address, bytes) != 1)
		return false;
	uint64_t prefix = 128 - offset;
	if (slash && !is_number(slash + 1, 0, 128 - offset, &prefix))
		return false;
	range->address = address_from(family, bytes);
	range->prefix = offset + (unsigned)prefix;
	return true;
}

bool address_parse(const char *text, struct address *address)
{
	struct address_range range;
	if (strchr(text, '/') || !address_range_parse(text, &range))
		return false;
	*address = range.address;
	return true;
}

bool address_in_range(const struct address *address, const struct address_range *range)
{
	unsigned whole = range->prefix / 8;
	unsigned rest = range->prefix % 8;
	if (memcmp(address->bytes, range->address.bytes, whole) != 0)
		return false;
	return rest == 0 || (address->bytes[whole] ^ range->address.bytes[whole]) >> (8 - rest) == 0;
}
