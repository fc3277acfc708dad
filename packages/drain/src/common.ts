/** An error that is told in one line: `code` is stable, `place` is the option, object or file, `remedy` says what to do. */
export class LameduckError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly place: string;
  readonly remedy: string;

  /** @param remedies those of the package's catalogue, by code. */
  constructor(
    remedies: Readonly<Record<Code, string>>,
    code: Code,
    place: string,
    problem: string,
    { remedy = remedies[code], ...options }: LameduckErrorOptions = {},
  ) {
    super(printable(`${place}: ${problem}`), options);
    this.name = new.target.name;
    this.code = code;
    this.place = place;
    this.remedy = remedy;
  }
}

export interface LameduckErrorOptions extends ErrorOptions {
  /** Replaces the remedy of the catalogue, where a better one is known. */
  readonly remedy?: string | undefined;
}

type ErrorClass<Code extends string> = new (
  code: Code,
  place: string,
  problem: string,
  options?: LameduckErrorOptions,
) => LameduckError<Code>;

/** What a package's error class extends, to throw the codes of the package's catalogue. */
export function errorClass<Code extends string>(remedies: Readonly<Record<Code, string>>): ErrorClass<Code> {
  return class extends LameduckError<Code> {
    constructor(code: Code, place: string, problem: string, options?: LameduckErrorOptions) {
      super(remedies, code, place, problem, options);
    }
  };
}

/** What went wrong, whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Why a file could not be read or written: "no such file or directory". Node adds a code, a call and the path. */
export function fileProblem(error: unknown): string {
  return messageOf(error).replace(/^E[A-Z]+: (.+?), [a-z]+(?: '.*)?$/s, "$1");
}

/** Control characters in texts of other people are escaped: a terminal shows them and does not obey them. */
export function printable(text: string): string {
  return text.replaceAll(
    // oxlint-disable-next-line no-control-regex
    /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A value in a message, in one line, whatever it is. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return `the function ${value.name || "given"}`;
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  return `an object of ${(value as { constructor?: { name?: string } }).constructor?.name ?? "no class"}`;
}

type Defined<T> = { [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key] } & {
  [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
};

/** Fields that are not known are absent from the result, not undefined. */
export function withoutUndefined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** FNV-1a, 32 bits, over UTF-16 units. */
export function checksum(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** Rejects when the signal aborts, for work that does not listen to the signal itself. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => reject(signal.reason);
    if (signal.aborted) aborted();
    else signal.addEventListener("abort", aborted, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", aborted));
  });
}
