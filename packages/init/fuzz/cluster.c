/* Whatever a coordinator, a name server or /etc/resolv.conf say, and whatever the variables are. The first byte chooses which. */
#include "../src/coordinator/http.h"
#include "../src/coordinator/resolver.h"
#include "../src/coordinator/status.h"
#include "../src/coordinator/place.h"
#include "text.h"

#include <math.h>
#include <string.h>

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* In the order in which it comes: what is whole does not become another by what follows. */
static void fuzz_http(const char *data, size_t size)
{
	struct http_answer early, answer;
	struct status status = { 0 };
	enum http_parsed half = http_parse(data, size / 2, false, &early);
	enum http_parsed whole = http_parse(data, size, true, &answer);
	check(whole != HTTP_MORE);
	check(strlen(answer.body) < HTTP_BODY);
	if (half == HTTP_WHOLE)
		check(whole == HTTP_WHOLE && strcmp(early.body, answer.body) == 0);
	if (whole == HTTP_WHOLE)
		status_parse(answer.body, &status);
}

static void fuzz_status(const char *text)
{
	struct status status = { 0 };
	if (!status_parse(text, &status))
		return;
	check(status.reported <= status.relevant);
	check(isnan(status.released) == (status.state != STATUS_RELEASED) && !(status.released < 0));
	check(strlen(status.behind) < STATUS_NAMES && strlen(status.last) < STATUS_NAMES);
	check(strpbrk(status.behind, "\r\n\t\033") == NULL);
}

/* The question is part of the input, so that answers to it are found. */
static void fuzz_dns(const uint8_t *data, size_t size)
{
	uint8_t question[DNS_MESSAGE];
	struct addresses found;
	size_t asked = dns_question(question, 0x4142, "coordinator.lameduck-system.svc.cluster.local", DNS_A);
	check(asked > 0);
	uint8_t *answer = malloc(asked + size);
	if (!answer)
		return;
	memcpy(answer, question, asked);
	memcpy(answer + asked, data, size);
	answer[2] |= 0x80;
	if (size > 3)
		answer[7] = data[0];
	if (dns_answer(question, asked, answer, asked + size, &found) == DNS_FOUND)
		check(found.count > 0 && found.count <= MOST_ADDRESSES);
	free(answer);
	/* And none that is in order at all; a copy of just this size, so that the sanitizer sees the first byte beyond. */
	uint8_t *any = malloc(size ? size : 1);
	if (any) {
		memcpy(any, data, size);
		dns_answer(question, asked, any, size, &found);
	}
	free(any);
}

static void fuzz_resolver(const char *text)
{
	struct resolver resolver = { .dots = 1 };
	char name[DNS_NAME];
	uint8_t question[DNS_MESSAGE];
	struct address address;
	resolver_line(&resolver, text);
	hosts_line(text, "coordinator", &address);
	for (size_t n = 0; resolver_name(&resolver, text, n, name); n++)
		check(strlen(name) < DNS_NAME && dns_question(question, 1, name, DNS_AAAA) <= DNS_MESSAGE);
}

static void fuzz_where(const char *text)
{
	struct coordinator_place place = { .url = text };
	if (place_parse(&place))
		check(place.port > 0 && *place.host && strpbrk(place.host, "\r\n ") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size);
	if (!text)
		return 0;
	switch (data[0] % 5) {
	case 0:
		fuzz_http(text, size - 1);
		break;
	case 1:
		fuzz_status(text);
		break;
	case 2:
		fuzz_dns(data + 1, size - 1);
		break;
	case 3:
		fuzz_resolver(text);
		break;
	case 4:
		fuzz_where(text);
		break;
	}
	free(text);
	return 0;
}
