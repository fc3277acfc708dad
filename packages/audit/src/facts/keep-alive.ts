import { assumed, byDefault, fromField, type Amount } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import { annotationOf } from "../model/object.ts";
import { programOf } from "../model/shell.ts";
import { servingProgram } from "../model/software.ts";
import type { Workload } from "../model/workload.ts";
import { factOf, type Facts } from "./facts.ts";

/** How long the proxy in front keeps an idle connection; undefined where none that keeps connections is known. */
export function upstreamIdleOf(workload: Workload, facts: Facts): Amount | undefined {
  const given = factOf(workload, "upstream-idle", facts);
  if (given) return { ...given, name: "the sender before it" };
  for (const { kind, field } of workload.routes) {
    if (kind !== "Ingress") continue;
    const name =
      field.at("spec").at("ingressClassName").text() ??
      annotationOf(field, "kubernetes.io/ingress.class").text() ??
      "";
    if (name === "alb") {
      const attributes = annotationOf(field, "alb.ingress.kubernetes.io/load-balancer-attributes");
      const [, value] = /idle_timeout\.timeout_seconds=(\d+)/.exec(attributes.text() ?? "") ?? [];
      return value === undefined
        ? byDefault("AWS ALB", 60, "AWS ALB (idle_timeout)")
        : fromField("AWS ALB", Number(value), attributes);
    }
    if (name.startsWith("gce"))
      return assumed(
        "GKE load balancer",
        600,
        "Google keeps connections to backends for 600 s, which cannot be changed",
      );
    if (name.includes("nginx"))
      return byDefault("ingress-nginx", 60, "ingress-nginx (upstream-keepalive-timeout)");
    if (name.includes("traefik")) return byDefault("Traefik", 90, "Traefik (idleConnTimeout)");
  }
  return undefined;
}

/** Defaults of servers, in seconds. */
const defaults: Readonly<Record<string, readonly [value: number, of: string]>> = {
  uvicorn: [5, "Uvicorn (--timeout-keep-alive)"],
  gunicorn: [2, "Gunicorn (--keep-alive)"],
  hypercorn: [5, "Hypercorn (keep_alive_timeout)"],
  puma: [65, "Puma (persistent_timeout)"],
  nginx: [75, "nginx (keepalive_timeout)"],
};

/** By the fact, by a known program's argument, by its default. What Node's servers do stands in their code. */
export function serverKeepAliveOf(
  workload: Workload,
  container: Container,
  facts: Facts,
): Amount | undefined {
  const given = factOf(workload, "keep-alive", facts);
  if (given) return { ...given, name: "server's keep-alive" };
  const { argv = [], field } = container;
  const program = programOf(servingProgram(argv));
  const known = defaults[program];
  if (known === undefined) return undefined;
  const words = [...field.at("command").items(), ...field.at("args").items()];
  for (const [index, word] of words.entries()) {
    const [, inline] = /^--(?:timeout-keep-alive|keep-alive|persistent-timeout)(?:=(.+))?$/.exec(
      word.text() ?? "",
    ) ?? [undefined];
    if (!/^--(?:timeout-keep-alive|keep-alive|persistent-timeout)/.test(word.text() ?? "")) continue;
    const value = Number(inline ?? words[index + 1]?.text());
    if (Number.isFinite(value)) return fromField("server's keep-alive", value, word);
  }
  // A configuration file may say anything.
  if (program === "nginx" || argv.some((word) => /^(?:-c|--config)/.test(word))) return undefined;
  return byDefault("server's keep-alive", known[0], known[1]);
}
