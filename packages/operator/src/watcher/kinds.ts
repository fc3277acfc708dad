import type { OperatorError } from "../errors.ts";
import { badFlag } from "../process/flag-values.ts";
import type { Consumer } from "./consumers/consumer.ts";
import { iptablesRules } from "./consumers/iptables.ts";
import { KubeProxy, type KubeProxyRules } from "./consumers/kube-proxy.ts";

interface Kind {
  readonly usage: string;
  readonly help: string;
  /** @param where what stands behind the "=", empty without it. @returns none where it makes no sense. */
  make(where: string): Consumer | undefined;
}

const iptables: readonly KubeProxyRules[] = [iptablesRules("nft"), iptablesRules("legacy")];
const modes: Readonly<Record<string, readonly KubeProxyRules[]>> = {
  "": iptables,
  iptables,
};

/** What `--consumer` knows. */
export const consumerKinds: Readonly<Record<string, Kind>> = {
  "kube-proxy": {
    usage: "kube-proxy[=iptables]",
    help: "the node's rules; the mode is found out unless given",
    make: (where) => (modes[where] === undefined ? undefined : new KubeProxy(modes[where])),
  },
};

/** @throws {OperatorError} LAMEDUCK_OPERATOR_BAD_FLAG */
export function consumerOf(said: string): Consumer {
  const [, name = "", where = ""] = /^([^=]*)(?:=(.*))?$/s.exec(said) ?? [];
  const kind = Object.hasOwn(consumerKinds, name) ? consumerKinds[name] : undefined;
  if (kind === undefined) throw badConsumer(`"${name}" is none of ${Object.keys(consumerKinds).join(", ")}`);
  const made = kind.make(where);
  if (made === undefined) throw badConsumer(`"${said}" is not as ${kind.usage}`);
  return made;
}

function badConsumer(problem: string): OperatorError {
  return badFlag("--consumer", problem);
}
