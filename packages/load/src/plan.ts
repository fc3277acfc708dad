import { parseDuration } from "@lameduck/drain/duration";
import type { Duration } from "@lameduck/drain";

import type { ScheduledKind } from "@lameduck/accounting";
import { badLoad } from "./errors.ts";
import { parseProtocol, protocolTraits, type LoadProtocol } from "./protocols.ts";
import { parseRequest, type RequestForm, type RequestOptions } from "./request-form.ts";

/** What an answer has to be, where the app is known; anything else complete is a wrong body. */
export interface Expectation {
  /** Bytes of body. */
  readonly bytes?: number;
  /** The whole body. */
  readonly text?: string;
}

/** Over TLS: whose certificates are believed. */
export interface TlsOptions {
  /** Default false: the lab's servers are this machine's own, with self-signed certificates, and the end of connections is what is measured. */
  readonly verify?: boolean;
  /** Certificates, PEM, that are believed instead of the well-known authorities'. */
  readonly ca?: string;
}

/** The load as a person asks for it. */
export interface LoadOptions extends RequestOptions {
  /** The protocol of the load; default `http` (HTTP/1.1). docs/reference/protocols.md says what is lost in each. */
  readonly protocol?: LoadProtocol;
  /** Over TLS. Default: as the protocol is. */
  readonly secure?: boolean;
  readonly tls?: TlsOptions;
  /** Requests per second, all senders together. */
  readonly rate: number;
  /** Gaps between requests: `poisson` (default) or `fixed`. */
  readonly arrivals?: "poisson" | "fixed";
  /** Share of requests on kept-alive connections, default 0.5; the others open a connection of their own. */
  readonly pooledShare?: number;
  /** Share of requests to `paths.slow`, default 0. */
  readonly slowShare?: number;
  /** Share of requests to `paths.large`, default 0. */
  readonly largeShare?: number;
  /** Where each kind goes. Default of `quick`: "/", for gRPC the health check. */
  readonly paths?: Readonly<Partial<Record<ScheduledKind, string>>>;
  /** Host header; default the address that is called. */
  readonly host?: string;
  readonly expect?: Readonly<Partial<Record<ScheduledKind, Expectation>>>;
  /** Time in which statuses below 500 are learned. Later statuses of another class are losses. Default 0: all are right. */
  readonly learn?: Duration;
  /** Statuses that are known already to be answered. */
  readonly learned?: readonly number[];
  /** Time a request may take from being sent, default 10 s. */
  readonly timeout?: Duration;
  /** Time a connection may take, default and at most `timeout`. */
  readonly connectTimeout?: Duration;
  /** The load ends by itself after this time, default 10 minutes. */
  readonly maxDuration?: Duration;
  /** And after this many requests, default 3,000,000. */
  readonly maxRequests?: number;
}

type Milliseconds = "learn" | "timeout" | "connectTimeout" | "maxDuration";

/** The load, checked and complete. */
export interface LoadPlan
  extends
    Required<Omit<LoadOptions, keyof RequestOptions | Milliseconds | "paths" | "host">>,
    Required<Pick<RequestOptions, "meantStatuses">>,
    Readonly<Record<Milliseconds, number>> {
  readonly request: RequestForm;
  readonly paths: Readonly<Record<ScheduledKind, string>>;
  readonly host: string | undefined;
}

/** @throws {LoadError} LAMEDUCK_BAD_LOAD, {DrainError} LAMEDUCK_BAD_DURATION. */
export function parseLoad(options: LoadOptions): LoadPlan {
  const timeout = time(options.timeout ?? "10s", "load.timeout");
  const protocol = parseProtocol(options.protocol ?? "http");
  const quick = protocolTraits[protocol].path;
  const plan: LoadPlan = {
    protocol,
    secure: options.secure ?? protocolTraits[protocol].secure,
    tls: options.tls ?? {},
    request: parseRequest(options, protocol),
    // Far above what one process can send: beyond it a value is a typing mistake.
    rate: within(options.rate, 0.001, 100_000, "load.rate"),
    arrivals: arrivals(options.arrivals ?? "poisson"),
    pooledShare: within(options.pooledShare ?? 0.5, 0, 1, "load.pooledShare"),
    slowShare: within(options.slowShare ?? 0, 0, 1, "load.slowShare"),
    largeShare: within(options.largeShare ?? 0, 0, 1, "load.largeShare"),
    paths: {
      quick: path(options.paths?.quick ?? quick, "--path"),
      slow: path(options.paths?.slow ?? quick, "load.paths.slow"),
      large: path(options.paths?.large ?? quick, "load.paths.large"),
    },
    host: options.host === undefined ? undefined : headerValue(options.host, "load.host"),
    expect: options.expect ?? {},
    meantStatuses: options.meantStatuses ?? [],
    learn: parseDuration(options.learn ?? 0, "load.learn"),
    learned: options.learned ?? [],
    timeout,
    connectTimeout: Math.min(timeout, time(options.connectTimeout ?? timeout, "load.connectTimeout")),
    maxDuration: time(options.maxDuration ?? "10m", "load.maxDuration"),
    maxRequests: within(options.maxRequests ?? 3_000_000, 1, 20_000_000, "load.maxRequests"),
  };
  if (plan.slowShare + plan.largeShare > 1)
    throw badLoad("load.slowShare", "slow and large requests together are more than all");
  if (!protocolTraits[protocol].kinds && plan.slowShare + plan.largeShare > 0)
    throw badLoad(
      plan.slowShare > 0 ? "load.slowShare" : "load.largeShare",
      `${protocolTraits[protocol].name} has no slow or large requests`,
    );
  return plan;
}

function within(value: number, low: number, high: number, option: string): number {
  if (typeof value !== "number" || !(value >= low && value <= high))
    throw badLoad(option, `${String(value)} is not between ${low} and ${high}`);
  return value;
}

/** Milliseconds. */
function time(duration: Duration, option: string): number {
  const value = parseDuration(duration, option);
  if (value <= 0) throw badLoad(option, "must be above zero");
  return value;
}

function arrivals(value: string): "poisson" | "fixed" {
  if (value === "poisson" || value === "fixed") return value;
  throw badLoad("load.arrivals", `"${value}" is neither poisson nor fixed`);
}

function path(value: string, option: string): string {
  if (!/^\/[!-~]*$/.test(value))
    throw badLoad(option, `"${value}" is no path: it begins with / and has no spaces`);
  return value;
}

function headerValue(value: string, option: string): string {
  if (!/^[!-~]+$/.test(value)) throw badLoad(option, `"${value}" is not a host name`);
  return value;
}
