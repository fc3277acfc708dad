/** Shared by all copies of this package in the process, hence a registered symbol with the version of the interface in it. */
const place = Symbol.for("@lameduck/node:warned:1");

/** Whether the process has not been told this yet, however many servers and copies of this package it holds. */
export function isNews(warning: string): boolean {
  const holder = process as unknown as Record<symbol, Set<string> | undefined>;
  const told = (holder[place] ??= new Set());
  if (told.has(warning)) return false;
  told.add(warning);
  return true;
}
