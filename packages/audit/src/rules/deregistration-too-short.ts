import type { Field } from "@lameduck/manifests";
import { kinds } from "@lameduck/senders";
import { compare } from "../facts/arithmetic.ts";
import { factOf } from "../facts/facts.ts";
import { fromField, seconds, type Amount } from "../model/amount.ts";
import { annotationOf } from "../model/object.ts";
import type { Workload } from "../model/workload.ts";
import type { Rule } from "../rule.ts";

export const deregistrationTooShort: Rule = {
  id: "deregistration-too-short",
  title: "The load balancer cuts requests in flight before the server would",
  meaning: `After a target is deregistered, an AWS load balancer waits for its deregistration delay. Then it closes the target's remaining
connections. If the delay is shorter than the longest request, it cuts requests that the server would have finished. The default is 300 s. It is
often shortened to make rollouts faster, but the controller does not wait for it.`,
  remedy: "Make deregistration_delay.timeout_seconds at least as long as the longest request",
  references: [
    "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-target-group-attributes.html#deregistration-delay",
  ],
  *check(workload, { facts }) {
    const drain = factOf(workload, "drain", facts);
    if (drain === undefined) return;
    for (const { amount, field } of delaysOf(workload)) {
      if (amount.value >= drain.value) continue;
      yield {
        severity: "warning",
        message: `the load balancer closes connections ${seconds(amount.value)} s after deregistration; the longest request takes ${seconds(drain.value)} s`,
        at: field,
        arithmetic: compare([amount], "<", drain),
      };
    }
  },
};

function delaysOf({ routes, services }: Workload): { readonly amount: Amount; readonly field: Field }[] {
  const told = kinds.flatMap(({ closesAfter }) => closesAfter ?? []);
  return [...routes, ...services].flatMap(({ field: object }) =>
    told.flatMap(({ annotations, seconds: pattern }) =>
      annotations.flatMap((name) => {
        const field = annotationOf(object, name);
        const [, value] = pattern.exec(field.text() ?? "") ?? [];
        return value === undefined
          ? []
          : [{ amount: fromField("deregistration delay", Number(value), field), field }];
      }),
    ),
  );
}
