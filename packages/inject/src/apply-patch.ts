import type { PatchOperation } from "./injection.ts";

/** A JSON patch, carried out as RFC 6902 says, as far as `add` and `replace` go. */
export function applyPatch(document: unknown, operations: readonly PatchOperation[]): unknown {
  // Unlike a structured clone this one shares no part with another.
  const copy: unknown = JSON.parse(JSON.stringify(document));
  for (const { op, path, value } of operations) {
    const keys = path
      .split("/")
      .slice(1)
      .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = keys.pop() ?? "";
    const parent = keys.reduce<unknown>((at, key) => child(at, key, path), copy);
    if (Array.isArray(parent)) {
      const at = last === "-" ? parent.length : Number(last);
      if (!Number.isInteger(at) || at < 0 || at > parent.length) throw new Error(`${path}: no such place`);
      parent.splice(at, op === "replace" ? 1 : 0, structuredClone(value));
    } else {
      const fields = parent as Record<string, unknown>;
      if (op === "replace" && !(last in fields)) throw new Error(`${path}: nothing to replace`);
      fields[last] = structuredClone(value);
    }
  }
  return copy;
}

function child(at: unknown, key: string, path: string): unknown {
  const found = (at as Record<string, unknown> | undefined)?.[key];
  if (typeof found !== "object" || found === null) throw new Error(`${path}: no ${key} on the way`);
  return found;
}
