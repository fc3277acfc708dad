/** Names of query parameters whose values are credentials. */
const credentials = /token|secret|passw|pwd|api-?_?key|^key$|signature|^sig$|auth|credential|jwt|session/i;

export function hasCredentials(url: URL): boolean {
  return [...url.searchParams.keys()].some((name) => credentials.test(name));
}

/** Text that is no URL cannot be split into parts. Anything that may be a name, a password or a token is left out. */
export function withoutSecrets(text: string): string {
  return text.replace(/\/\/.*@/, "//").replace(/[?#].*$/, "?...");
}

/** For plans, results and errors, which are kept and passed on: values of credentials are left out. */
export function shownUrl(url: URL): string {
  if (!hasCredentials(url)) return url.href;
  const shown = new URL(url);
  for (const name of new Set(url.searchParams.keys()))
    if (credentials.test(name)) shown.searchParams.set(name, "REDACTED");
  return shown.href;
}
