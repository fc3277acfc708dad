import type { GeneratorSender } from "../generator/protocol.ts";
import type { LoadOptions } from "../plan.ts";
import { isSecure, protocolOf } from "./url.ts";
import { parseRequest } from "../request-form.ts";
import { judge, type Judgement, type Tried } from "../worked.ts";
import { hostOf, isHost, type OpenRoute, type Route } from "./route.ts";

/** A route is its own only sender. */
export function senderOf({ name, address, port }: OpenRoute): GeneratorSender {
  return {
    name,
    spacing: 0,
    proxy: { address, port, namesRequests: false, notesClaims: true },
  };
}

/** The load for one route: its own path, host and protocol, and the form of its requests. */
export function routePlan(load: LoadOptions, route: OpenRoute): LoadOptions {
  const { url, protocol = protocolOf(url), request, tls } = route;
  // gRPC's own default is its health check.
  const paths = protocol === "grpc" && url.pathname === "/" ? {} : { quick: `${url.pathname}${url.search}` };
  return {
    ...load,
    ...request,
    // At a low rate the first answer may be the only one before something happens.
    learned: route.status > 0 ? [route.status] : [],
    // Written by the load itself, in its own place.
    headers: (request?.headers ?? []).filter((header) => !isHost(header)),
    protocol,
    paths,
    host: hostOf(route),
    secure: isSecure(url),
    tls: { verify: true, ...tls },
  };
}

/** Whether requests work. A route has a path and a form of its own, so that each is judged by itself. */
export function judgeRoutes(trials: readonly Tried[], routes: readonly Route[]): Judgement {
  const all = routes.map((route) => {
    const protocol = route.protocol ?? protocolOf(route.url);
    const path = route.url.pathname;
    const request = parseRequest(route.request ?? {}, protocol);
    return judge(
      trials.filter(({ sender }) => sender === route.name),
      { protocol, request, paths: { quick: path, slow: path, large: path } },
    );
  });
  return {
    undecided: all.some(({ undecided }) => undecided),
    failure: all.find(({ failure }) => failure)?.failure,
    notes: all.flatMap(({ notes }) => notes),
  };
}
