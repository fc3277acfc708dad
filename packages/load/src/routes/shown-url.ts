/** Names of query parameters whose values are credentials: whoever has them is let in. */
const credentials = /token|secret|passw|pwd|api-?_?key|^key$|signature|^sig$|auth|credential|jwt|session/i;

export function hasCredentials(url: URL): boolean {
  return [...url.searchParams.keys()].some((name) => credentials.test(name));
}

/** Of what is no URL, a name and password are left out all the same. */
export function withoutUser(text: string): string {
  return text.replace(/\/\/[^/]*@/, "//");
}

/** For plans, results and errors, which are kept and passed on: values of credentials are left out. */
export function shownUrl(url: URL): string {
  if (!hasCredentials(url)) return url.href;
  const shown = new URL(url);
  for (const name of new Set(url.searchParams.keys()))
    if (credentials.test(name)) shown.searchParams.set(name, "REDACTED");
  return shown.href;
}
