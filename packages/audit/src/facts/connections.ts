import type { Field } from "@lameduck/manifests";
import { fromField, type Amount } from "../model/amount.ts";
import type { Workload } from "../model/workload.ts";
import { annotation } from "./facts.ts";

/** Metrics of autoscalers that count what lasts, by a word of their name. */
const lasting =
  /(?:^|[_.:/-])(?:web_?sockets?|ws|sse|connections?|sockets?|streams?|subscri(?:bers?|ptions?))(?:$|[_.:/-])/i;
/** A rate says nothing of how many there are. */
const rate = /(?:per_?(?:second|sec|minute)|_rate|rate_|_total|rps|qps)/i;

/** Lasting connections of one pod, where a manifest says how many: an annotation does, or the number at which an autoscaler keeps them. */
export function connectionsOf(workload: Workload): Amount | undefined {
  const field = annotation(workload, "connections");
  if (field.exists) {
    const value = countOf(field.text() ?? "");
    if (value === undefined)
      return field.fail(
        "LAMEDUCK_MANIFEST_INVALID",
        `must be a count of connections, not ${String(field.plain())}`,
      );
    return fromField("connections a pod", value, field);
  }
  const { autoscaler } = workload;
  if (autoscaler?.kind !== "HorizontalPodAutoscaler") return undefined;
  for (const metric of autoscaler.field.at("spec").at("metrics").items()) {
    if (metric.at("type").text() !== "Pods") continue;
    const pods = metric.at("pods");
    const name = pods.at("metric").at("name").text() ?? "";
    const target: Field = pods.at("target").at("averageValue");
    const value = countOf(String(target.numberOrText() ?? ""));
    if (lasting.test(name) && !rate.test(name) && value !== undefined)
      return fromField(`connections a pod (${name})`, value, target);
  }
  return undefined;
}

const thousands: Readonly<Record<string, number>> = { "": 1, k: 1_000, M: 1_000_000 };

/** A count, as quantities of Kubernetes are written. */
function countOf(text: string): number | undefined {
  const [, digits = "", suffix = ""] = /^(\d{1,9})([kM]?)$/.exec(text.trim()) ?? [];
  return digits === "" ? undefined : Number(digits) * (thousands[suffix] ?? 1);
}
