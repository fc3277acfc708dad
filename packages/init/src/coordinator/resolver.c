#include "resolver.h"

#include "../base/files.h"
#include "../base/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char blanks[] = " \t\r\n";

/* The next word of the line, in `word`; NULL after the last, or at a comment. A word that is too long is skipped. */
static const char *next_word(const char *at, char *word, size_t size)
{
	at += strspn(at, blanks);
	size_t length = strcspn(at, blanks);
	if (length == 0 || *at == '#' || *at == ';')
		return NULL;
	snprintf(word, size, "%.*s", length < size ? (int)length : 0, at);
	return at + length;
}

static void read_domains(struct resolver *resolver, const char *at)
{
	resolver->domain_count = 0;
	while (resolver->domain_count < MOST_DOMAINS &&
	       (at = next_word(at, resolver->domains[resolver->domain_count], DNS_NAME)))
		resolver->domain_count += resolver->domains[resolver->domain_count][0] != '\0';
}

void resolver_line(struct resolver *resolver, const char *line)
{
	char word[ADDRESS_TEXT];
	uint64_t dots;
	const char *at = next_word(line, word, sizeof word);
	if (!at)
		return;
	if (strcmp(word, "search") == 0 || strcmp(word, "domain") == 0)
		read_domains(resolver, at);
	else if (strcmp(word, "nameserver") == 0 && resolver->server_count < MOST_SERVERS && next_word(at, word, sizeof word))
		resolver->server_count += address_parse(word, &resolver->servers[resolver->server_count]);
	else if (strcmp(word, "options") == 0)
		while ((at = next_word(at, word, sizeof word)))
			if (strncmp(word, "ndots:", 6) == 0 && is_number(word + 6, 0, 15, &dots))
				resolver->dots = (unsigned)dots;
}

void resolver_read(struct resolver *resolver, const char *path)
{
	struct lines lines;
	*resolver = (struct resolver){ .dots = 1 };
	if (lines_open(&lines, path)) {
		for (const char *line; (line = lines_next(&lines));)
			resolver_line(resolver, line);
		lines_close(&lines);
	}
	if (resolver->server_count == 0 && address_parse("127.0.0.1", &resolver->servers[0]))
		resolver->server_count = 1;
}

bool resolver_name(const struct resolver *resolver, const char *host, size_t n, char name[DNS_NAME])
{
	unsigned dots = 0;
	for (const char *at = host; *at; at++)
		dots += *at == '.';
	bool whole = *host && host[strlen(host) - 1] == '.';
	size_t domains = whole ? 0 : resolver->domain_count;
	size_t as_it_is = dots >= resolver->dots ? 0 : domains;
	if (n > domains)
		return false;
	if (n == as_it_is)
		snprintf(name, DNS_NAME, "%s", host);
	else
		snprintf(name, DNS_NAME, "%s.%s", host, resolver->domains[n < as_it_is ? n : n - 1]);
	return true;
}

bool hosts_line(const char *line, const char *host, struct address *address)
{
	char word[DNS_NAME];
	const char *at = next_word(line, word, sizeof word);
	if (!at || !address_parse(word, address))
		return false;
	while ((at = next_word(at, word, sizeof word)))
		if (strcasecmp(word, host) == 0)
			return true;
	return false;
}

bool hosts_find(const char *path, const char *host, struct address *address)
{
	struct lines lines;
	bool found = false;
	if (!lines_open(&lines, path))
		return false;
	for (const char *line; !found && (line = lines_next(&lines));)
		found = hosts_line(line, host, address);
	lines_close(&lines);
	return found;
}
