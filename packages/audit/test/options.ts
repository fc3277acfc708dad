import { imagesOf, nothingSuppressed } from "../src/index.ts";

/** Of an audit that nobody has told anything. */
export const options = {
  images: imagesOf([]),
  facts: {},
  kubernetes: undefined,
  suppressions: nothingSuppressed,
};

/** As the command has it: each text is parsed once. */
export const remembering = { ...options, known: new WeakMap() };
