import { learn, learntVersion, unusable, type Learnt } from "./learning.ts";

/** Longer is no text of ours. */
const longest = 4_000;
const decimals = 4;

/** One line, some 350 characters, for an environment variable: "VERSION:TERMINATIONS:w1,w2,...". */
export function learntText({ version, terminations, weights }: Learnt): string {
  return `${version}:${terminations}:${weightsText(weights)}`;
}

/** What `Drain.lesson` gives, in one line: "VERSION:w1,w2,...". */
export function lessonText(lesson: readonly number[]): string {
  return `${learntVersion}:${weightsText(lesson)}`;
}

/** As short as it goes: what is less than a millionth is as good as nothing, and must not become it. */
function weightsText(weights: readonly number[]): string {
  const shortest = (weight: number): number => Number(Math.max(weight, 1e-6).toPrecision(decimals));
  return weights.map((weight) => String(weight === 0 ? 0 : shortest(weight))).join(",");
}

/** Undefined for what is none, also for one of another version: new pods then begin anew. */
export function parseLearnt(text: string | undefined): Learnt | undefined {
  if (text === undefined || text.length > longest) return undefined;
  const [version, terminations, weights] = text.split(":");
  if (version === undefined || terminations === undefined || weights === undefined) return undefined;
  const learnt = {
    version: numberOf(version),
    terminations: numberOf(terminations),
    weights: weights.split(",").map(numberOf),
  };
  return unusable(learnt) === undefined ? learnt : undefined;
}

/** Adds the lesson that a pod said. Undefined, where it is none of this version: it teaches nothing. */
export function learnText(learnt: Learnt | undefined, lesson: string): Learnt | undefined {
  const [version, weights = ""] = lesson.split(":");
  // The same checks as for what was learnt.
  const read = parseLearnt(`${version}:1:${weights}`);
  return read && learn(learnt, normalised(read.weights));
}

/** A lesson is a belief: its weights add up to 1, whatever a pod says. */
function normalised(weights: readonly number[]): number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** Nothing but digits, as `learntText` writes them. */
function numberOf(text: string): number {
  return /^\d{1,15}(?:\.\d{1,12})?(?:e-\d{1,3})?$/.test(text) ? Number(text) : NaN;
}
