import {
  type ConsumerReport,
  type ConsumerState,
  type OtherVersionMessage,
  parseConsumerReport,
} from "@lameduck/protocol";
import { isNodeProxy } from "@lameduck/senders";
import type { NamedState } from "../state/consumer.ts";

/** What is left of a report once it is known of whom it is. */
export interface PostedReport extends Omit<ConsumerReport, keyof ConsumerState> {
  readonly report: NamedState;
}

/** @param name from the path: "KIND/NAME", or only the name. @returns what is wrong with it otherwise. */
export function parseReport(text: string, name: string): PostedReport | OtherVersionMessage | string {
  const parsed = parseConsumerReport(text);
  if (typeof parsed === "string" || "version" in parsed) return parsed;
  const { epoch, known, waitMs, ...state } = parsed;
  const own = name.startsWith(`${state.kind}/`) ? name.slice(state.kind.length + 1) : name;
  if (!/^[\w.:-]{1,253}$/.test(own)) return "the name in the path is none";
  const report = { name: own, ...state };
  if (isNodeProxy(report) && own !== report.node) return "node: a proxy of a node has that node's name";
  return { report, epoch, known, waitMs };
}
