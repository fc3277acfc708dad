import { isMap } from "../policy/validate.ts";

/** A value with what its `<<:` stand for, as kubectl reads them: a field of its own wins, then the first mapping that has it. */
export function withMergeKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => withMergeKeys(one));
  if (!isMap(value)) return value;
  const { "<<": bases, ...own } = value;
  const fields = Object.fromEntries(Object.entries(own).map(([key, one]) => [key, withMergeKeys(one)]));
  const others = (Array.isArray(bases) ? bases : [bases]).map((one) => withMergeKeys(one)).filter(isMap);
  return Object.assign({}, ...others.toReversed(), fields) as unknown;
}

export function hasMergeKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return "<<" in value || Object.values(value).some((one) => hasMergeKey(one));
}
