import type { OperatorError } from "@lameduck/protocol";
import { badFlag } from "@lameduck/program";
import type { Consumer, ConsumerKind } from "./consumer.ts";
import { awsKind } from "./clouds/aws.ts";
import { ciliumKind } from "./consumers/cilium.ts";
import { envoyKind } from "./consumers/envoy.ts";
import { gcpKind } from "./clouds/gcp.ts";
import { haproxyKind } from "./consumers/haproxy.ts";
import { httpKind } from "./consumers/http.ts";
import { ingressNginxKind } from "./consumers/ingress-nginx.ts";
import { nginxKind } from "./consumers/nginx.ts";
import { traefikKind } from "./consumers/traefik.ts";
import { ztunnelKind } from "./consumers/ztunnel.ts";
import { kubeProxyKind } from "./kube-proxy/kind.ts";

/** The kinds of `--consumer`. */
const kinds: readonly ConsumerKind[] = [
  kubeProxyKind,
  haproxyKind,
  nginxKind,
  ingressNginxKind,
  envoyKind,
  traefikKind,
  ciliumKind,
  ztunnelKind,
  awsKind,
  gcpKind,
  httpKind,
];

export const consumersHelp: string = kinds
  .map(({ facts: { consumer } }) => `      ${consumer.usage.padEnd(42)} ${consumer.help}`)
  .join("\n");

/** @throws {OperatorError} LAMEDUCK_OPERATOR_BAD_FLAG */
export function consumerOf(value: string): Consumer {
  const [, name = "", where = ""] = /^([^=]*)(?:=(.*))?$/s.exec(value) ?? [];
  const kind = kinds.find(({ facts }) => facts.name === name);
  if (kind === undefined)
    throw badConsumer(`"${name}" is none of ${kinds.map(({ facts }) => facts.name).join(", ")}`);
  const made = kind.make(where);
  if (made === undefined) throw badConsumer(`"${value}" is not of the form ${kind.facts.consumer.usage}`);
  return made;
}

function badConsumer(problem: string): OperatorError {
  return badFlag("--consumer", problem);
}
