import type { Container } from "../model/container.ts";
import type { Workload } from "../model/workload.ts";
import { observedPort } from "../model/ports.ts";
import { programOf, scriptOf } from "../model/shell/commands.ts";

/** What says that a container listens although it declares no port for requests; undefined where nothing does. */
export function whyListens({
  containers,
}: Workload): { readonly container: Container; readonly because: string } | undefined {
  for (const container of containers) {
    const because = byCommand(container) ?? byEnvironment(container) ?? byProbe(container);
    if (because !== undefined) return { container, because };
  }
  return undefined;
}

const listening = /(?:^|[-.])(?:port|listen|bind|addr|address)$/;
/** Ports that only probes and scrapers ask, and places where somebody else listens. */
const notForRequests =
  /metric|health|probe|prom|pprof|debug|admin|telemetry|liveness|readiness|redis|db|database|mysql|postgres|mongo|kafka|amqp|remote|target|upstream|client|peer|broker|proxy|server-addr|otlp|statsd/;
const ownAddress = /^(?:(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:]*\]|localhost|\*)?:)?\d{2,5}$/i;
const servers =
  /^(?:nginx|openresty|caddy|httpd|haproxy|envoy|traefik|gunicorn|uvicorn|hypercorn|daphne|puma|unicorn|uwsgi|php-fpm[\d.]*|waitress-serve|http-server)$/;

function byCommand(container: Container): string | undefined {
  const { served, software } = container;
  const words = wordsOf(container);
  for (const [index, word] of words.entries()) {
    const [, name = "", inline] = /^--?([\w.-]+)(?:=(.*))?$/s.exec(word) ?? [];
    const plain = name.toLowerCase().replaceAll("_", "-");
    if (!listening.test(plain) || notForRequests.test(plain)) continue;
    if (ownAddress.test(inline ?? words[index + 1] ?? "")) return `its argument ${word} names a port`;
  }
  const program = software?.name ?? programOf(served?.argv[0]);
  return software !== undefined || servers.test(program) ? `${program} is a server` : undefined;
}

/** The ports of a script count, too. */
function wordsOf({ argv, field }: Container): readonly string[] {
  const words = argv ?? field.at("args").texts();
  return [...words, ...(scriptOf(words) ?? "").split(/\s+/)];
}

const portVariables =
  /^(?:(?:HTTP|GRPC|SERVER|LISTEN|APP|WEB|API|NODE|SERVICE)_)?(?:PORT|LISTEN|LISTEN_ADDR|LISTEN_ADDRESS|BIND_ADDR|BIND_ADDRESS)$|^ASPNETCORE_(?:URLS|HTTP_PORTS)$/;

function byEnvironment({ env }: Container): string | undefined {
  const found = [...env].find(
    ([name, value]) => portVariables.test(name) && (ownAddress.test(value) || name.startsWith("ASPNETCORE_")),
  );
  return found && `its variable ${found[0]} names a port`;
}

/** A controller that elects a leader answers probes on a port of their own. */
function byProbe(container: Container): string | undefined {
  const { readiness, ports } = container;
  if (readiness === undefined || readiness.kind === "exec") return undefined;
  const port = readiness.field.at("port").numberOrText();
  if (port === undefined || (typeof port === "string" && observedPort.test(port))) return undefined;
  const words = wordsOf(container);
  if (words.some((word) => /leader-elect/.test(word))) return undefined;
  const isDeclared = ports.some(({ name, number }) => port === name || port === number);
  const isObserved = [...words, ...[...container.env].map(([name, value]) => `${name}=${value}`)].some(
    (word) => notForRequests.test(word.toLowerCase()) && new RegExp(`(?:^|\\D)${port}$`).test(word),
  );
  return isDeclared || isObserved ? undefined : `its readiness probe asks port ${port}`;
}
