import { compare } from "../facts/arithmetic.ts";
import { answers } from "../facts/facts.ts";
import { serverKeepAliveOf, upstreamIdleOf } from "../facts/keep-alive.ts";
import { exposureOf, servingContainers } from "../facts/serving.ts";
import { seconds } from "../model/amount.ts";
import type { Rule } from "../rule.ts";

export const keepAliveTooShort: Rule = {
  id: "keep-alive-too-short",
  title: "The server closes idle connections before the proxy in front of it does",
  meaning: `A proxy keeps connections to the pod open, and sends the next request on one of them. If the server closes an idle connection first,
its FIN and the proxy's next request can cross. The proxy then finds the connection reset, and answers 502. This can happen at any time, and most
often at a shutdown. The server's idle time-out must be longer than that of the proxy in front of it. Node's default is 5 s, while an AWS ALB
keeps connections for 60 s.`,
  remedy: "Make the server's keep-alive time-out longer than the proxy's idle time-out, by some seconds",
  references: [
    "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-load-balancer-attributes.html",
    "https://nodejs.org/api/http.html#serverkeepalivetimeout",
  ],
  *check(workload, { facts }) {
    if (exposureOf(workload) === "none") return;
    const upstream = upstreamIdleOf(workload, facts);
    if (upstream === undefined) return;
    for (const container of servingContainers(workload)) {
      const own = serverKeepAliveOf(workload, container, facts);
      const base = { at: container.field.at("name"), container: container.name };
      if (own === undefined)
        yield {
          ...base,
          severity: "unknown",
          message: `whether the server keeps idle connections for longer than the ${seconds(upstream.value)} s of ${upstream.name}`,
          answers: answers("keep-alive"),
        };
      else if (own.value > 0 && own.value <= upstream.value)
        yield {
          ...base,
          severity: "warning",
          message: `the server closes idle connections after ${seconds(own.value)} s, while ${upstream.name} goes on using them for ${seconds(upstream.value)} s`,
          arithmetic: compare([own], "<=", upstream),
          remedy: `set the server's keep-alive time-out to ${Math.ceil(upstream.value + 5)} s or more`,
        };
    }
  },
};
