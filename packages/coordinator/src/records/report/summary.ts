import { mostNamed, stuckAfterMs } from "../../termination-view.ts";
import { behindText, falseAcknowledgersText, missingText, overrulerText } from "./consumers.ts";
import type { ConsumerRecord, DrainReport, ReportSummary } from "./drain-report.ts";

type Body = Omit<DrainReport, "apiVersion" | "kind" | "metadata" | "summary">;

/** Texts for columns and sentences; "unknown" where no report tells. */
export function summaryOf(
  body: Body,
  consumers: readonly ConsumerRecord[],
  ifNone: string,
  mute?: string,
): ReportSummary {
  const { hold, moments, killed, workload, pod } = body;
  const holdMs = hold.ms ?? between(moments.lameDuck, moments.closing);
  return {
    hold: secondsOr(holdMs),
    released: releasedText(body, consumers),
    reason: hold.reason ?? "unknown",
    atRisk: atRiskText(body),
    killed,
    text: [
      `${pod.name} of ${workload}`,
      holdMs === undefined
        ? (mute ?? programText(body))
        : `held ${seconds(holdMs)} (${hold.reason ?? "reason unknown"})`,
      releaseSentence(body, consumers) ?? ifNone,
      ...(body.overruledBy === undefined
        ? []
        : [`overruled by a connection from ${overrulerText(body)}${falseAcknowledgersText(body)}`]),
      ...failuresOf(body),
      ...stuckTexts(body),
    ].join("; "),
  };
}

function between(from: number | undefined, to: number | undefined): number | undefined {
  return from === undefined || to === undefined || to < from ? undefined : to - from;
}

function programText({ program }: Body): string {
  return program === "none" ? "no Lameduck in it" : "hold unknown";
}

function releasedText({ moments, unknown }: Body, consumers: readonly ConsumerRecord[]): string {
  if (moments.released !== undefined) return seconds(moments.released);
  const isKnown = consumers.length > 0 && consumers.every(({ state }) => state !== "missing");
  if (unknown.some((one) => one.startsWith("released: "))) return "unknown";
  return isKnown && moments.withdrawn !== undefined ? "no" : "unknown";
}

function releaseSentence({ moments }: Body, consumers: readonly ConsumerRecord[]): string | undefined {
  const applied = consumers.filter(({ state }) => state === "applied");
  if (moments.released !== undefined) {
    const last = applied[0] ? ` (${applied[0].name} last)` : "";
    const whom =
      consumers.length < mostNamed ? `${applied.length} of ${consumers.length} senders` : "the senders";
    return `released by ${whom} after ${seconds(moments.released)}${last}`;
  }
  const missing = consumers.filter(({ state }) => state === "missing");
  if (missing.length > 0) return `nothing reports for ${missingText(missing)}`;
  const behind = consumers.filter(({ state }) => state !== "applied");
  if (behind.length > 0) return behindText(behind);
  return consumers.length === 0 ? undefined : "released: unknown";
}

/** A container that ends so shortly before the end of the grace period has used all of it. Exits have whole seconds. */
const lastMs = 2_000;
/** With less a program has little to spare in any case. */
const shortGraceMs = 10_000;

/** A container that ended only at the end of the grace period, and by itself: a hook that hung, or a program that took all the time. */
export function lateText({
  containers,
  graceSeconds,
  killed,
  moments,
  hold,
}: Pick<DrainReport, "containers" | "graceSeconds" | "killed" | "moments" | "hold">): string | undefined {
  const grace = graceSeconds * 1_000;
  const late = containers.filter(({ exitedMs = 0 }) => exitedMs >= grace - lastMs);
  if (killed === "yes" || late.length === 0 || grace < shortGraceMs || hold.reason === "cap")
    return undefined;
  const after =
    moments.closing === undefined
      ? "a preStop hook hung"
      : `its hold had ended after ${seconds(moments.closing)}`;
  return `${late[0]?.name} ended only at the end of the grace period of ${graceSeconds} s: ${after}`;
}

function atRiskText({ atRisk: { connections, requests } }: Body): string {
  if (requests !== undefined) return `${requests} req`;
  return connections === undefined ? "unknown" : `${connections} conn`;
}

function failuresOf(body: Body): string[] {
  const { killed, containers } = body;
  if (killed === "yes") return ["killed at the end of the grace period"];
  const late = lateText(body);
  if (late !== undefined) return [late];
  const failed = containers.filter(({ exitCode }) => exitCode !== 0 && exitCode !== 143);
  return failed.map(({ name, exitCode }) => `${name} ended with exit code ${exitCode}`);
}

function stuckTexts({ stuckConsumers = [] }: Body): string[] {
  return stuckConsumers.length === 0
    ? []
    : [`${stuckAfterMs / 1_000} s after its end ${behindText(stuckConsumers)}`];
}

const secondsOr = (milliseconds: number | undefined): string =>
  milliseconds === undefined ? "unknown" : seconds(milliseconds);

const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)}s`;
