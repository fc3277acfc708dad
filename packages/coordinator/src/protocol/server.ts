import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "@lameduck/kube/node-http";
import { answerOneAtATime, capPerAddress, capSilent, readBody } from "@lameduck/program";
import { headLine, operatorNames, streamProtocol } from "@lameduck/protocol";
import type { SlimPod } from "@lameduck/cluster";
import type { Terminations } from "../state/terminations.ts";
import { peerOf } from "./identify.ts";
import type { OtherVersion } from "./other-versions.ts";
import { type Ask, type PodRequests, sendText } from "./pod-requests.ts";
import { asksForStream } from "./report-stream.ts";
import { longestSilenceMs, Reporters, type ReportersOptions } from "./reporters.ts";

interface ProtocolOptions extends ReportersOptions {
  readonly podRequests: PodRequests;
  readonly terminations: Terminations;
  readonly holdAccounts: readonly string[];
  /** "NAMESPACE/NAME": the other replicas pass on what pods said. */
  readonly ownAccount: string;
  readonly onRefused: (path: "pods" | "holds", status: number) => void;
  readonly onOtherVersion: (heard: OtherVersion) => void;
}

/** Bytes: tokens take a kilobyte or two, what pods say a few hundred. */
const longestHead = 16_384;
const longestPodReport = 8_192;
/** For a request to arrive. Pods and consumers send faster. */
const longestRequestMs = 5_000;
/** What a pod may wait for an answer. */
const longestPodWaitMs = 20_000;
const mostConnections = 50_000;

const { consumers, pods, holds } = operatorNames.coordinator.paths;

/** Plain HTTP for pods and consumers. docs/contributing/acknowledgements-protocol.md describes what is said. */
export function protocolServer(options: ProtocolOptions) {
  const server = createServer({
    maxHeaderSize: longestHead,
    headersTimeout: longestRequestMs,
    requestTimeout: longestRequestMs,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: longestSilenceMs,
    noDelay: true,
    shouldUpgradeCallback: (request) =>
      asksForStream(request) && request.url?.startsWith(`${consumers}/`) === true,
  });
  const reporters = new Reporters(options);
  answerOneAtATime(
    server,
    (request, response) => {
      response.sendDate = false;
      handle(options, request, response).catch((error: unknown) => {
        options.onFault(error);
        if (!response.headersSent) sendText(response, 500, `${headLine}\n`, true);
      });
    },
    reporters.open,
  );
  server.maxConnections = mostConnections;
  capPerAddress(server);
  capSilent(server);
  server.on("clientError", (_error, socket) => socket.destroy());
  return { server, reporters };
}

async function handle(
  options: ProtocolOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { url = "", method = "" } = request;
  const at = url.indexOf("?");
  const path = at === -1 ? url : url.slice(0, at);
  if (path.startsWith(`${consumers}/`)) {
    const [, version] = /^lameduck\/(\d{1,2})$/.exec(request.headers.upgrade ?? "") ?? [];
    if (version !== undefined) await noteVersion(options, { who: "consumers", version }, request);
    response.setHeader("upgrade", streamProtocol);
    sendText(
      response,
      426,
      `${headLine}\nreports come on a stream only: GET with Upgrade: ${streamProtocol}\n`,
      true,
    );
    return;
  }
  const query = new URLSearchParams(at === -1 ? "" : url.slice(at + 1));
  const asked = parsePodPath(path, query);
  const [, version, who] = /^\/v([2-9]|\d\d)\/(consumers|pods|holds)\//.exec(path) ?? [];
  if (version !== undefined && who !== undefined)
    await noteVersion(options, { who, version }, request, query.get("uid") ?? "");
  if (asked === undefined)
    sendText(response, 404, `${headLine}\nthere are ${consumers}, ${pods} and ${holds}\n`, true);
  else if (asked.resource === "holds" && method === "GET")
    await answerHold(options, asked, request, response);
  else if (asked.resource === "pods" && (method === "GET" || method === "POST"))
    await answerPod(options, asked, request, response);
  else sendText(response, 405, "only GET and POST are answered\n", true);
}

/** Only of those who may say something here: anybody could name any version. */
async function noteVersion(
  { terminations, identifier, consumerAccounts, holdAccounts, onOtherVersion }: ProtocolOptions,
  { who, version }: OtherVersion,
  request: IncomingMessage,
  uid = "",
): Promise<void> {
  const pod = who === "pods" ? terminations.pods.get(uid) : undefined;
  if (pod && isAddressOf(pod, peerOf(request))) {
    onOtherVersion({ who, version });
    return;
  }
  const identity = await identifier.identify(request).catch(() => undefined);
  if (!identity) return;
  const accounts = who === "consumers" ? consumerAccounts : holdAccounts;
  const isKnown = who === "pods" ? pod && identity.podUid === uid : accounts.includes(identity.account);
  if (isKnown) onOtherVersion({ who, version });
}

interface AskedPod {
  readonly resource: "pods" | "holds";
  readonly namespace: string;
  readonly name: string;
  readonly ask: Ask;
}

function parsePodPath(path: string, query: URLSearchParams): AskedPod | undefined {
  const resource = path.startsWith(`${pods}/`) ? "pods" : path.startsWith(`${holds}/`) ? "holds" : undefined;
  if (resource === undefined) return undefined;
  const [, namespace, name] = /^\/v1\/\w+\/([a-z0-9-]{1,63})\/([a-z0-9.-]{1,253})$/.exec(path) ?? [];
  if (namespace === undefined || name === undefined) return undefined;
  const wait = Number(query.get("wait") ?? "0");
  const ask: Ask = {
    uid: query.get("uid") ?? "",
    wait: Number.isFinite(wait) ? Math.min(Math.max(wait * 1_000, 0), longestPodWaitMs) : 0,
    seen: query.get("seen") ?? undefined,
  };
  return { resource, namespace, name, ask };
}

/** A pod may ask for itself: by its address, or by a token that is bound to it. */
async function answerPod(
  options: ProtocolOptions,
  { namespace, name, ask }: AskedPod,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { terminations, podRequests, identifier, ownAccount, onRefused } = options;
  const refuse = (status: number): void => {
    onRefused("pods", status);
    // Whoever may ask nothing keeps no connection.
    sendText(response, status, `${headLine}\n`, true);
  };
  const pod = terminations.pods.get(ask.uid);
  const isIt = pod?.metadata.name === name && pod.metadata.namespace === namespace;
  let isPassedOn = false;
  if (!pod || !isIt) {
    // Nobody learns which pods there are: a uid cannot be guessed.
    refuse(terminations.isSynced ? 404 : 503);
    return;
  }
  if (!isAddressOf(pod, peerOf(request))) {
    const identity = await identifier.identify(request).catch(() => undefined);
    isPassedOn = identity?.account === ownAccount && request.method === "POST";
    if (identity?.podUid !== ask.uid && !isPassedOn) {
      refuse(403);
      return;
    }
  }
  if (request.method === "GET") {
    podRequests.ask({ ...ask, isPod: true }, response);
    return;
  }
  const text = await readBody(request, longestPodReport);
  if (text === undefined) refuse(413);
  else {
    podRequests.report(ask.uid, text, isPassedOn);
    sendText(response, 200, `${headLine}\n`);
  }
}

async function answerHold(
  { terminations, podRequests, identifier, holdAccounts, onRefused }: ProtocolOptions,
  { namespace, name, ask }: AskedPod,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const refuse = (status: number): void => {
    onRefused("holds", status);
    sendText(response, status, `${headLine}\n`);
  };
  const identity = await identifier.identify(request);
  const pod = terminations.pods.get(ask.uid);
  if (!identity) refuse(401);
  else if (!holdAccounts.includes(identity.account)) refuse(403);
  else if (pod?.metadata.name !== name || pod.metadata.namespace !== namespace) refuse(404);
  else podRequests.ask(ask, response);
}

/** Where all containers have ended the address may be another pod's by now. */
function isAddressOf({ addresses, hostAddress, isFinished }: SlimPod, peer: string): boolean {
  return !isFinished && peer !== "" && (addresses.includes(peer) || hostAddress === peer);
}
