/** Error messages of programs that cannot connect: the system's, and those of resolvers. */
const errorText =
  /ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|connection refused|(network is|host is|network|host) unreachable|no route to host|no such host|name resolution|name or service not known|could not translate host name|UnknownHostException/i;

/** "127.0.0.1:5432", "[::1]:5432", "db:5432", "host db, port 5432", '"db" (10.0.0.5), port 5432', "getaddrinfo ENOTFOUND db" */
const places: readonly RegExp[] = [
  /lookup (?<host>[\w.-]+)/,
  /\[?(?<six>[\da-f:]*::[\da-f:]*[\da-f])\]?:(?<port>\d+)/i,
  /(?<host>[\w.-]*[a-z\d]):(?<port>\d{2,5})\b/i,
  /(?<host>[\w.-]+)"?(?: \([^)]*\))?,? port (?<port>\d+)/i,
  /(?:ENOTFOUND|EAI_AGAIN) (?<host>[\w.-]+)/,
  /host name "(?<host>[^"]+)"/,
];

/** The address that a program could not connect to, as HOST:PORT with what is known of it. Undefined if its output names none. */
export function unreachable(lines: readonly string[]): string | undefined {
  const line = lines.find((one) => errorText.test(one));
  if (line === undefined) return undefined;
  for (const place of places) {
    const { six, host = six && `[${six}]`, port } = place.exec(line)?.groups ?? {};
    if (host) return `${host}:${port ?? "PORT"}`;
  }
  return "HOST:PORT";
}
