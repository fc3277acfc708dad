import { apiGroup, apiVersion, column } from "@lameduck/inject/policies";
import { longestReason } from "./consumers.ts";

const text = (longest: number): object => ({ type: "string", maxLength: longest });
const choice = (...values: readonly string[]): object => ({ type: "string", enum: values });
const milliseconds = { type: "integer", format: "int64", minimum: 0 };
const count = milliseconds;
const list = (items: object, maxItems: number): object => ({ type: "array", maxItems, items });

function fields(properties: Readonly<Record<string, object>>, ...required: readonly string[]): object {
  return { type: "object", properties, ...(required.length > 0 ? { required } : {}) };
}

const yesOrNo = choice("yes", "no", "unknown");

const schema = {
  ...fields(
    {
      summary: fields(
        {
          hold: text(20),
          released: text(20),
          reason: text(40),
          atRisk: text(40),
          killed: yesOrNo,
          text: text(2_000),
        },
        "hold",
        "released",
        "reason",
        "atRisk",
        "killed",
        "text",
      ),
      pod: fields(
        { name: text(253), uid: text(64), node: text(253), addresses: list(text(64), 16) },
        "name",
        "uid",
      ),
      workload: text(400),
      injected: text(200),
      program: choice("library", "init", "wait", "none", "unknown"),
      deletedAt: { type: "string", format: "date-time" },
      graceSeconds: count,
      moments: fields({
        withdrawn: milliseconds,
        released: milliseconds,
        lameDuck: milliseconds,
        closing: milliseconds,
        closed: milliseconds,
        exited: milliseconds,
        gone: milliseconds,
      }),
      hold: fields({
        ms: milliseconds,
        floorMs: milliseconds,
        formerSleepMs: milliseconds,
        reason: text(40),
        policy: text(40),
        lastArrivalMs: milliseconds,
        words: text(500),
      }),
      atRisk: fields({ connections: count, requests: count }),
      killed: yesOrNo,
      overruledBy: text(100),
      overruler: text(600),
      falseAcknowledgers: list(text(300), 20),
      stuckConsumers: list(fields({ name: text(300), reason: text(longestReason) }, "name"), 20),
      consumers: list(
        fields(
          {
            name: text(300),
            kind: text(60),
            basis: text(20),
            state: choice("applied", "behind", "silent", "missing"),
            appliedMs: milliseconds,
            reason: text(longestReason),
          },
          "name",
          "kind",
          "state",
        ),
        100,
      ),
      containers: list(
        fields(
          {
            name: text(253),
            exitCode: { type: "integer" },
            signal: { type: "integer" },
            reason: text(200),
            exitedMs: milliseconds,
          },
          "name",
          "exitCode",
        ),
        250,
      ),
      unknown: list(text(800), 20),
    },
    "summary",
    "pod",
    "workload",
    "program",
    "deletedAt",
    "killed",
    "consumers",
    "containers",
    "unknown",
  ),
  description: "How one pod ended. docs/operate/drain-reports.md describes each field.",
};

/** The CustomResourceDefinition of DrainReport. */
export const drainReportCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `drainreports.${apiGroup}` },
  spec: {
    group: apiGroup,
    scope: "Namespaced",
    names: {
      kind: "DrainReport",
      listKind: "DrainReportList",
      plural: "drainreports",
      singular: "drainreport",
      // Not in the category "lameduck": `kubectl get lameduck` would list thousands of records beside the policies.
      shortNames: ["dr"],
    },
    versions: [
      {
        name: apiVersion,
        served: true,
        storage: true,
        additionalPrinterColumns: [
          column("Pod", "string", ".pod.name"),
          column("Workload", "string", ".workload"),
          column("Hold", "string", ".summary.hold"),
          column("Released", "string", ".summary.released"),
          column("Reason", "string", ".summary.reason"),
          column("At risk", "string", ".summary.atRisk"),
          column("Killed", "string", ".killed"),
          column("Program", "string", ".program"),
          column("Age", "date", ".metadata.creationTimestamp"),
        ],
        schema: { openAPIV3Schema: schema },
      },
    ],
  },
} as const;
