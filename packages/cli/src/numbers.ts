import { InvalidArgumentError } from "commander";

/** Parsers of commander's options. */
export function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isInteger(value) || text.trim() === "" || value < least || value > most)
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    return value;
  };
}

export function number(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isFinite(value) || text.trim() === "" || value < least || value > most)
      throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`);
    return value;
  };
}
