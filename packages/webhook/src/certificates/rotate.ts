import { isSignedBy, coversNames, validity, type Chain } from "./chain.ts";
import { backdated, issueAuthority, issueLeaf } from "./issue.ts";

export interface RotationOptions {
  /** DNS names and addresses that the server is reached by. */
  readonly names: readonly string[];
  /** Milliseconds. A lifetime that is made shorter also applies to certificates that were issued before. */
  readonly certificateLifetime: number;
  readonly authorityLifetime: number;
}

/** What is used up of a lifetime when a successor is made: a third is left for everything that may be broken meanwhile. */
const renewedAt = 2 / 3;

/**
 * A new authority is known to the API server for so long before it signs, milliseconds. A day, or a twelfth of its life: half of what
 * is left of the old one.
 */
function trustPeriod({ authorityLifetime }: RotationOptions): number {
  return Math.min(86_400_000, authorityLifetime / 12);
}

/**
 * The chain as it should be now; the same object where nothing is due. It changes by one step at a time, so that what is served
 * stays trusted. First the API server is told of a new authority, then the new authority signs, then the old one is forgotten.
 * @param isTrusted whether the API server has been told of an authority.
 */
export async function rotate(
  chain: Chain | undefined,
  now: number,
  options: RotationOptions,
  isTrusted: (cert: string) => boolean,
): Promise<Chain> {
  if (!chain || now >= validity(chain.authority.cert).to) return newChain(now, options);
  const { authority, next, previous, leaf, ...rest } = chain;
  if (previous !== undefined && now >= validity(previous).to)
    return { ...rest, authority, leaf, ...(next ? { next } : {}) };
  if (next && now >= validity(next.cert).from + backdated + trustPeriod(options) && isTrusted(next.cert)) {
    const signed = await issueLeaf(next, options.names, now, options.certificateLifetime);
    return { authority: next, previous: authority.cert, leaf: signed };
  }
  if (!next && isDue(authority.cert, now, options.authorityLifetime))
    return { ...chain, next: await issueAuthority(now, options.authorityLifetime) };
  const canLastLonger = validity(leaf.cert).to < validity(authority.cert).to;
  if (
    (isDue(leaf.cert, now, options.certificateLifetime) && canLastLonger) ||
    !isSignedBy(leaf, authority) ||
    !coversNames(leaf.cert, options.names)
  )
    return { ...chain, leaf: await issueLeaf(authority, options.names, now, options.certificateLifetime) };
  return chain;
}

async function newChain(now: number, options: RotationOptions): Promise<Chain> {
  const authority = await issueAuthority(now, options.authorityLifetime);
  return { authority, leaf: await issueLeaf(authority, options.names, now, options.certificateLifetime) };
}

function isDue(cert: string, now: number, lifetime: number): boolean {
  const { from, to } = validity(cert);
  const issued = from + backdated;
  return now >= issued + Math.min(to - issued, lifetime) * renewedAt;
}
