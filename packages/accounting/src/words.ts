/** "40 ms", "2.1 s", "14 s": as precise as a reader can use. */
export function spell(milliseconds: number): string {
  const size = Math.abs(milliseconds);
  if (size < 1) return "less than 1 ms";
  if (size < 1_000) return `${Math.round(size)} ms`;
  return size < 99_950 ? `${(size / 1_000).toFixed(1)} s` : `${Math.round(size / 1_000)} s`;
}

/** "1,500". */
export function whole(n: number): string {
  return n.toLocaleString("en");
}

/** @param many the noun of more than one, where an s is not enough. */
export function count(n: number, noun: string, many = `${noun}s`): string {
  return `${whole(n)} ${n === 1 ? noun : many}`;
}

/** "web-1", "web-1, web-2 and web-3"; of many it names the first ones. */
export function listed(names: readonly string[]): string {
  const most = 3;
  const shown = names.length > most + 1 ? [...names.slice(0, most), `${names.length - most} others`] : names;
  return shown.length > 1 ? `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}` : shown.join("");
}

/** "312 bytes", "1.5 MB". */
export function size(bytes: number): string {
  if (bytes < 1_000) return count(bytes, "byte");
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
