#include "dns.h"

#include <string.h>
#include <sys/socket.h>

enum { HEADER = 12, RECORD = 10, LONGEST_LABEL = 63, IS_ANSWER = 0x80, CODE = 0x0f, NO_SUCH_NAME = 3, INTERNET = 1 };

static uint16_t read_16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void write_16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* The length of the name in labels, or 0. A dot at its end is left out. */
static size_t write_name(uint8_t *out, const char *name)
{
	size_t length = strlen(name);
	if (length > 0 && name[length - 1] == '.')
		length--;
	if (length == 0 || length >= DNS_NAME)
		return 0;
	size_t label = 0; /* the place of the length of the label that is being written */
	for (size_t i = 0; i <= length; i++) {
		if (i < length && name[i] != '.') {
			out[i + 1] = (uint8_t)name[i];
			continue;
		}
		if (i == label || i - label > LONGEST_LABEL)
			return 0;
		out[label] = (uint8_t)(i - label);
		label = i + 1;
	}
	out[label] = 0;
	return label + 1;
}

size_t dns_question(uint8_t message[DNS_MESSAGE], uint16_t id, const char *name, enum dns_type type)
{
	/* One question; recursion is wanted. */
	static const uint8_t rest[HEADER - 2] = { 0x01, 0, 0, 1 };
	write_16(message, id);
	memcpy(message + 2, rest, sizeof rest);
	size_t length = write_name(message + HEADER, name);
	if (length == 0)
		return 0;
	write_16(message + HEADER + length, (uint16_t)type);
	write_16(message + HEADER + length + 2, INTERNET);
	return HEADER + length + 4;
}

/* Where the name at `at` ends, which may be compressed. SIZE_MAX where that is beyond the message. */
static size_t skip_name(const uint8_t *data, size_t size, size_t at)
{
	while (at < size && data[at] != 0) {
		if (data[at] > LONGEST_LABEL)
			return at + 2 <= size ? at + 2 : SIZE_MAX;
		at += data[at] + 1u;
	}
	return at < size ? at + 1 : SIZE_MAX;
}

/* The names of the records are not compared: the addresses of an alias come with the name that it stands for. */
static enum dns_result take_addresses(const uint8_t *data, size_t size, size_t at, enum dns_type type, struct addresses *found)
{
	size_t wanted = type == DNS_A ? 4 : 16;
	found->count = 0;
	for (uint16_t left = read_16(data + 6); left > 0; left--) {
		at = skip_name(data, size, at);
		if (at > size || size - at < RECORD)
			return DNS_REFUSED;
		const uint8_t *record = data + at;
		size_t length = read_16(record + 8);
		at += RECORD;
		if (length > size - at)
			return DNS_REFUSED;
		if (read_16(record) == type && read_16(record + 2) == INTERNET && length == wanted &&
		    found->count < MOST_ADDRESSES)
			found->all[found->count++] = address_from(type == DNS_A ? AF_INET : AF_INET6, data + at);
		at += length;
	}
	return found->count > 0 ? DNS_FOUND : DNS_NO_ADDRESS;
}

enum dns_result dns_answer(const uint8_t *question, size_t asked, const uint8_t *data, size_t size, struct addresses *found)
{
	if (size < asked || memcmp(data, question, 2) != 0 || !(data[2] & IS_ANSWER) || read_16(data + 4) != 1 ||
	    memcmp(data + HEADER, question + HEADER, asked - HEADER) != 0)
		return DNS_FOREIGN;
	if ((data[3] & CODE) == NO_SUCH_NAME)
		return DNS_NO_NAME;
	if (data[3] & CODE)
		return DNS_REFUSED;
	return take_addresses(data, size, asked, (enum dns_type)read_16(question + asked - 4), found);
}
