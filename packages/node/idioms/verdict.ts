/** Was anything less with Lameduck than without it? */
import type { Idiom } from "./idiom.ts";
import type { Mode, Outcome, Place } from "./termination.ts";

/** What a program outside Kubernetes may take longer, and what two slow cores may make of it. */
const longestDelayMs = 1_000;
const slackMs = 700;
const nearlyMs = 100;

const hookLine = "HOOK closed";
/** Process ids, ports, addresses, versions and times differ from run to run. */
const varying = /\d+(?:\.\d+)*/g;
const comparable = (idiom: Idiom, lines: readonly string[]): string[] =>
  lines
    .filter(
      (line) => !line.includes(hookLine) && line !== idiom.gives && !(idiom.ignores?.test(line) ?? false),
    )
    .map((line) => line.replaceAll(varying, "N"));

/** What of `wanted` is not in `found`, each as often as it is missing. */
function missing(wanted: readonly string[], found: readonly string[]): string[] {
  const left = [...found];
  return wanted.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

const quoted = (lines: readonly string[]): string =>
  lines.map((line) => JSON.stringify(line.slice(0, 200))).join(", ");

/** Whoever has no handler dies of the signal; to have ended in order is more than that. */
function isExitAsGood(idiom: Idiom, without: Outcome, withIt: Outcome): boolean {
  if (without.exit === withIt.exit) return true;
  if (idiom.exitsAsIs || withIt.exit !== "0") return false;
  return /^(?:SIG[A-Z0-9]+|killed|12[89]|13\d|14\d)$/.test(without.exit);
}

function hookWasNamed(outcome: Outcome): boolean {
  return (
    outcome.lines.some((line) => line.includes(hookLine)) ||
    outcome.events.some((event) => JSON.stringify(event).includes('"pool"'))
  );
}

/** Of a client that had to wait for a busy machine, a request may begin when the hold is over. */
function holdEnds({ events }: Outcome): number {
  const closing = events.find((event) => event.lameduck === "phase" && event.phase === "closing");
  return closing ? closing.at - nearlyMs : Infinity;
}

/** @returns what was less, in words; nothing where all was as good. */
export function worse(idiom: Idiom, mode: Mode, place: Place, without: Outcome, withIt: Outcome): string[] {
  const found: string[] = [];
  if (without.exit === "no start")
    return [`did not start without Lameduck either: ${quoted(without.errors.slice(0, 5))}`];
  if (withIt.exit === "no start") return [`did not start: ${quoted(withIt.errors.slice(0, 5))}`];
  if (!isExitAsGood(idiom, without, withIt)) found.push(`exit ${withIt.exit} instead of ${without.exit}`);
  // A program that was ended at once, or never ended, did less than it could.
  const isCut = /^(?:SIG|killed)/.test(without.exit);
  // Of a program that stops to serve in the first moments, the last request that it answers is a matter of luck.
  const servesOn =
    without.exit !== "killed" &&
    [...without.answers.values()].every(({ begunAt, isAnswered }) => begunAt === undefined || isAnswered);
  for (const [what, { isAnswered, begunAt }] of withIt.answers) {
    const isNew = begunAt !== undefined;
    const inHold = isNew && begunAt < holdEnds(withIt);
    if (isAnswered || (isNew && (place === "pod" ? !inHold : !servesOn))) continue;
    if (without.answers.get(what)?.isAnswered) found.push(`${what} was lost, and is not without Lameduck`);
    else if (inHold && idiom.holds && place === "pod") found.push(`${what} was lost in the hold`);
    else if (isCut && idiom.holds && !idiom.exitsAsIs)
      found.push(`${what} was lost, though it was in flight`);
  }
  const [lines, linesWithout] = [comparable(idiom, withIt.lines), comparable(idiom, without.lines)];
  const lost = missing(linesWithout, lines);
  if (lost.length > 0) found.push(`not printed: ${quoted(lost)}`);
  const more = missing(lines, linesWithout);
  if (more.length > 0 && !isCut) found.push(`printed more often: ${quoted(more)}`);
  const noise = missing(comparable(idiom, withIt.errors), comparable(idiom, without.errors));
  if (noise.length > 0) found.push(`on standard error: ${quoted(noise.slice(0, 5))}`);
  if (
    place === "pod" &&
    withIt.events.some(
      (event) => event.lameduck === "phase" && event.phase === "closing" && event.reason === "cap",
    )
  )
    found.push("held to the cap, though nothing was sent any more");
  if (idiom.again === undefined && !idiom.toGroup)
    for (const event of withIt.events)
      if (event.lameduck === "notice" && event.message.includes(`${idiom.signal} again`))
        found.push(`a notice: ${event.message}`);
  if (withIt.leavesProcess && !without.leavesProcess) found.push("left a process behind");
  if (idiom.gives !== undefined && !withIt.lines.includes(idiom.gives))
    found.push(`not printed: ${JSON.stringify(idiom.gives)}`);
  if (
    mode === "code" &&
    // The signal reached it, which some parents keep to themselves.
    !(withIt.leavesProcess && without.leavesProcess) &&
    idiom.signal !== "none" &&
    (idiom.holds || /SIG(?:TERM|INT)/.test(idiom.signal)) &&
    !hookWasNamed(withIt)
  )
    found.push("the hook of the phase `closed` neither ran nor was named");
  const latest = Math.max(without.afterMs, withIt.lastAnswerMs) + longestDelayMs + slackMs;
  if (place === "machine" && idiom.signal !== "none" && withIt.afterMs > latest)
    found.push(`ended after ${withIt.afterMs} ms instead of ${without.afterMs} ms`);
  return found;
}
