import { badLoad } from "./errors.ts";

/** The protocols of the load. */
export const loadProtocols = ["http", "https", "h2", "h2c", "ws", "grpc", "sse"] as const;

export type LoadProtocol = (typeof loadProtocols)[number];

/** What follows from a protocol, whatever the server behind it. */
interface ProtocolTraits {
  readonly name: string;
  /** TLS belongs to it. */
  readonly secure: boolean;
  /** It is spoken over TLS, too. */
  readonly overTls: boolean;
  /**
   * Requests that are pooled share connections, so many for a Service and so many for a single pod; undefined where a connection carries
   * one at a time. HTTP/2 and gRPC clients have one a pod and few in all, each user has a WebSocket or an event stream of their own.
   */
  readonly shared: { readonly service: number; readonly pod: number } | undefined;
  /** The server answers plain HTTP/1.1, too: a health check can ask it. */
  readonly http1: boolean;
  /** `slow` and `large` requests mean something. */
  readonly kinds: boolean;
  /** A request has a method and may have a body. */
  readonly methods: boolean;
  readonly path: string;
}

const multiplexed = { service: 8, pod: 1 };
const perUser = { service: 48, pod: 4 };

const http: ProtocolTraits = {
  name: "HTTP/1.1",
  secure: false,
  overTls: false,
  shared: undefined,
  http1: true,
  kinds: true,
  methods: true,
  path: "/",
};
const h2c: ProtocolTraits = { ...http, name: "HTTP/2, clear", shared: multiplexed, http1: false };
const lasting: ProtocolTraits = { ...http, overTls: true, shared: perUser, kinds: false, methods: false };

export const protocolTraits: Readonly<Record<LoadProtocol, ProtocolTraits>> = {
  http,
  https: { ...http, name: "HTTPS", secure: true, overTls: true, http1: false },
  h2: { ...h2c, name: "HTTP/2", secure: true, overTls: true },
  h2c,
  ws: { ...lasting, name: "WebSocket" },
  // The one method that many servers have (grpc/doc/health-checking.md); an empty message asks for the server as a whole.
  grpc: { ...h2c, name: "gRPC", overTls: true, methods: false, path: "/grpc.health.v1.Health/Check" },
  sse: { ...lasting, name: "server-sent events" },
};

/** @throws {LoadError} LAMEDUCK_BAD_LOAD. */
export function parseProtocol(text: string, option = "load.protocol"): LoadProtocol {
  const protocol = loadProtocols.find((one) => one === text);
  if (protocol === undefined) throw badLoad(option, `"${text}" is none of ${loadProtocols.join(", ")}`);
  return protocol;
}
