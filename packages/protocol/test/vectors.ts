import { readFileSync } from "node:fs";
import type { ConsumerReport, CoordinatorAnswer, PodAnswer, PodReport } from "../src/index.ts";

interface Vector {
  readonly name: string;
  readonly text: string;
  /** What is wrong with the text, where it is none. */
  readonly refused?: string;
  /** We write it in this way. */
  readonly written?: true;
}

interface Vectors {
  readonly "consumer-reports": Vector & { readonly report?: ConsumerReport; readonly version?: string };
  readonly "coordinator-answers": Vector & { readonly answer?: CoordinatorAnswer };
  readonly "pod-answers": Vector & { readonly fields?: PodAnswer };
  readonly "pod-reports": Vector & { readonly report: PodReport };
}

/** What each side says and reads, alike in all languages. Fields that are not known are left out. */
export function vectorsOf<Name extends keyof Vectors>(name: Name): readonly Vectors[Name][] {
  return JSON.parse(
    readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), "utf8"),
  ) as Vectors[Name][];
}
