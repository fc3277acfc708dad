import { type Amount, fromAnnotation } from "../model/amount.ts";
import { annotationOf } from "../model/object.ts";
import type { Workload } from "../model/workload.ts";

/** Times that no manifest says. Each can be facts by an annotation of the workload, a flag or the configuration file. */
export const factNames = {
  delay: "how long the app itself goes on serving after SIGTERM, before it closes anything",
  drain: "how long the app needs at most from closing its listener to its exit: the longest request",
  convergence: "how long senders may go on sending to a pod that is deleted",
  "keep-alive": "how long the server keeps an idle connection open",
  "upstream-idle": "how long the sender before it keeps an idle connection open",
  "start-up": "how long a new pod needs after it is ready until it serves at full speed",
  "node-shutdown": "what nodes allow their pods at shutdown (shutdownGracePeriod of the kubelet)",
} as const;

export type FactName = keyof typeof factNames;

export type Facts = Readonly<Partial<Record<FactName, Amount>>>;

export const prefix = "lameduck.dev/";

/** The fact that holds for the pod template, else for the workload, else for all. */
export function factOf(workload: Workload, name: FactName, facts: Facts): Amount | undefined {
  const field = annotation(workload, name);
  return field.exists ? fromAnnotation(name, field) : facts[name];
}

export function annotation({ template, object }: Workload, name: string): ReturnType<typeof annotationOf> {
  const own = annotationOf(template, prefix + name);
  return own.exists ? own : annotationOf(object.field, prefix + name);
}

/** How to answer what is not known. */
export function answers(name: FactName): string[] {
  return [`annotation ${prefix}${name}: 20s`, `--assume ${name}=20s`];
}
