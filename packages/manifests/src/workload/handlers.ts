import type { Field } from "../field.ts";
import type { ContainerPort, Handler, Probe } from "./template.ts";

const handlerKinds = ["exec", "httpGet", "tcpSocket", "sleep", "grpc"];

/** A startup, liveness or readiness probe, with the defaults of the API. */
export function readProbe(
  field: Field,
  kind: "startup" | "liveness" | "readiness",
  ports: readonly ContainerPort[],
): Probe | undefined {
  if (!field.exists) return undefined;
  field.onlyKnows([
    ...handlerKinds,
    "initialDelaySeconds",
    "periodSeconds",
    "timeoutSeconds",
    "successThreshold",
    "failureThreshold",
    "terminationGracePeriodSeconds",
  ]);
  const handler = readHandler(field, ports);
  if (handler.kind === "sleep") return field.invalid("sleep is no probe");
  const successThreshold = field.at("successThreshold").whole(1, 1);
  if (kind !== "readiness" && successThreshold !== 1)
    field.at("successThreshold").invalid(`must be 1 for a ${kind} probe`);
  const ownGrace = field.at("terminationGracePeriodSeconds");
  if (kind === "readiness" && ownGrace.exists)
    ownGrace.invalid("is not for readiness probes, which kill nothing");
  return {
    handler,
    initialDelaySeconds: field.at("initialDelaySeconds").whole(0, 0),
    periodSeconds: field.at("periodSeconds").whole(1, 10),
    timeoutSeconds: field.at("timeoutSeconds").whole(1, 1),
    successThreshold,
    failureThreshold: field.at("failureThreshold").whole(1, 3),
    ...(ownGrace.exists ? { graceSeconds: ownGrace.whole(1, 1) } : {}),
  };
}

/** preStop or postStart. */
export function readHook(
  field: Field,
  ports: readonly ContainerPort[],
  graceSeconds: number,
): Handler | undefined {
  if (!field.exists) return undefined;
  const handler = readHandler(field, ports);
  const seconds = field.at("sleep").at("seconds");
  if (handler.kind === "sleep" && handler.seconds > graceSeconds)
    seconds.invalid(`must not be above terminationGracePeriodSeconds, which is ${graceSeconds}`);
  return handler;
}

function readHandler(field: Field, ports: readonly ContainerPort[]): Handler {
  const [kind, second] = handlerKinds.filter((one) => field.at(one).exists);
  if (!kind || second) return field.invalid(`needs exactly one of ${handlerKinds.join(", ")}`);
  const handler = field.at(kind);
  switch (kind) {
    case "exec": {
      const command = handler.at("command").texts();
      if (command.length === 0) handler.invalid("needs a command");
      return { kind: "exec", command };
    }
    case "httpGet":
      return readHttp(handler, ports);
    case "tcpSocket":
      return { kind: "tcp", port: readPort(handler.at("port"), ports) };
    case "sleep":
      return { kind: "sleep", seconds: handler.at("seconds").whole(0, 0) };
    default:
      return handler.fail("LAMEDUCK_MANIFEST_UNSUPPORTED", "is not supported by the local stage");
  }
}

function readHttp(field: Field, ports: readonly ContainerPort[]): Handler {
  field.onlyKnows(["host", "port", "path", "scheme", "httpHeaders"]);
  const host = field.at("host").text();
  const headers = field.at("httpHeaders").items();
  return {
    kind: "http",
    scheme: field.at("scheme").oneOf(["HTTP", "HTTPS"], "HTTP"),
    port: readPort(field.at("port"), ports),
    path: field.at("path").text() ?? "/",
    headers: headers.map(
      (header) => [header.at("name").mustText(), header.at("value").text() ?? ""] as const,
    ),
    ...(host ? { host } : {}),
  };
}

/** A port by number, or by the name that one of `ports` has. */
export function readPort(field: Field, ports: readonly ContainerPort[]): number {
  const value = field.numberOrText();
  if (value === undefined) return field.invalid("is missing");
  if (typeof value === "string") {
    const named = ports.find(({ name }) => name === value);
    return named?.port ?? field.invalid(`no container port is called "${value}"`);
  }
  if (!Number.isInteger(value) || value < 1 || value > 65_535) return field.invalid(`${value} is not a port`);
  return value;
}
