/** Of all 32-bit hashes. */
const all = 2 ** 32;

/**
 * Which senders are told apart: those whose hash is below a threshold, which is halved when they become too many. So it is a uniform sample whatever
 * they are called and whenever they come, of a share that is known.
 */
export class Sample {
  #below = all;

  has(hash: number): boolean {
    return hash < this.#below;
  }

  get share(): number {
    return this.#below / all;
  }

  halve(): void {
    this.#below /= 2;
  }

  double(): void {
    this.#below = Math.min(all, this.#below * 2);
  }
}

/**
 * FNV-1a, then the finaliser of MurmurHash3, so that names that differ in their last digit get distant hashes. The C code has the same
 * function, for names in ASCII. Over the 2^32 keys each name gets every hash. So a client that does not know the key cannot choose an
 * address that falls into the sample.
 */
export function hashOf(name: string, key: number): number {
  let hash = 0x811c9dc5 ^ key;
  for (let index = 0; index < name.length; index++)
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
