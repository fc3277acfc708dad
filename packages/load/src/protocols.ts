import { LoadError } from "./errors.ts";

/** The protocols of the load. */
export const loadProtocols = ["http", "https", "h2", "h2c", "ws", "grpc", "sse"] as const;

export type LoadProtocol = (typeof loadProtocols)[number];

/** What follows from a protocol, whatever the server behind it. */
export interface ProtocolTraits {
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

export const protocolTraits: Readonly<Record<LoadProtocol, ProtocolTraits>> = {
  http: {
    name: "HTTP/1.1",
    secure: false,
    overTls: false,
    shared: undefined,
    http1: true,
    kinds: true,
    methods: true,
    path: "/",
  },
  https: {
    name: "HTTPS",
    secure: true,
    overTls: true,
    shared: undefined,
    http1: false,
    kinds: true,
    methods: true,
    path: "/",
  },
  h2: {
    name: "HTTP/2",
    secure: true,
    overTls: true,
    shared: multiplexed,
    http1: false,
    kinds: true,
    methods: true,
    path: "/",
  },
  h2c: {
    name: "HTTP/2, clear",
    secure: false,
    overTls: false,
    shared: multiplexed,
    http1: false,
    kinds: true,
    methods: true,
    path: "/",
  },
  ws: {
    name: "WebSocket",
    secure: false,
    overTls: true,
    shared: perUser,
    http1: true,
    kinds: false,
    methods: false,
    path: "/",
  },
  grpc: {
    name: "gRPC",
    secure: false,
    overTls: true,
    shared: multiplexed,
    http1: false,
    kinds: true,
    methods: false,
    // The one method that many servers have (grpc/doc/health-checking.md); an empty message asks for the server as a whole.
    path: "/grpc.health.v1.Health/Check",
  },
  sse: {
    name: "server-sent events",
    secure: false,
    overTls: true,
    shared: perUser,
    http1: true,
    kinds: false,
    methods: false,
    path: "/",
  },
};

/** @throws {LoadError} LAMEDUCK_BAD_LOAD. */
export function parseProtocol(text: string, option = "load.protocol"): LoadProtocol {
  const protocol = loadProtocols.find((one) => one === text);
  if (protocol === undefined)
    throw new LoadError("LAMEDUCK_BAD_LOAD", option, `"${text}" is none of ${loadProtocols.join(", ")}`);
  return protocol;
}
