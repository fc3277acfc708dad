import { senderKinds, type SenderKind, type SenderSpec } from "@lameduck/load";
import { badOption } from "../errors.ts";

/** What a sender of each kind is called in sentences. */
const names: Record<SenderKind, string> = {
  l4: "node",
  "l4-cut": "balancer",
  client: "client",
  "health-checked": "lb",
  l7: "ingress",
  haproxy: "haproxy",
  nginx: "nginx",
};

/** Two cores can run no more senders. */
const mostSenders = 64;

/** "l4:2,l7,haproxy:1": kinds and how many of each. */
export function parseSenders(text: string): SenderSpec[] {
  const specs = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .flatMap((part) => ofKind(part));
  if (specs.length === 0) throw badOption("--senders", "names no sender");
  if (specs.length > mostSenders) throw badOption("--senders", `more than ${mostSenders} senders`);
  return specs;
}

function ofKind(part: string): SenderSpec[] {
  const [kind = "", number = "1", ...rest] = part.split(":");
  if (!isKind(kind) || rest.length > 0)
    throw badOption(
      "--senders",
      `"${part}" is not KIND or KIND:NUMBER with KIND one of ${senderKinds.join(", ")}`,
    );
  if (!/^[1-9]\d{0,2}$/.test(number))
    throw badOption("--senders", `"${part}": "${number}" is not a number of senders`);
  return Array.from({ length: Number(number) }, (_, index): SenderSpec => ({
    kind,
    name: `${names[kind]}-${index + 1}`,
  }));
}

function isKind(text: string): text is SenderKind {
  return (senderKinds as readonly string[]).includes(text);
}
