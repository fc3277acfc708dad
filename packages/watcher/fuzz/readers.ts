/** Whole readers over real connections, whatever answers them: what is asked, how long it may take, and what is made of it over several looks. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSocketServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { mock } from "node:test";
import { OperatorError } from "@lameduck/protocol";
import { awsTargetGroup } from "../src/clouds/aws.ts";
import { CallBudget } from "../src/clouds/call-budget.ts";
import { GcpApi } from "../src/clouds/gcp.ts";
import type { Consumer } from "../src/consumer.ts";
import { cilium } from "../src/consumers/cilium.ts";
import { envoy } from "../src/consumers/envoy.ts";
import { haproxy } from "../src/consumers/haproxy.ts";
import { httpEndpoint } from "../src/consumers/http.ts";
import { ingressNginx } from "../src/consumers/ingress-nginx.ts";
import { traefik } from "../src/consumers/traefik.ts";
import { ztunnel } from "../src/consumers/ztunnel.ts";
import { awsError, endpointPage, targetGroups, targetHealth } from "../test/cloud-apis.ts";
import { type Random, spoil, targets } from "./answers.ts";

/** Both are used in every right answer. */
const pods = ["10.0.0.1", "10.0.0.2"];
const arn = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/shop/0123456789abcdef";

/** Where the answers come from. */
interface Places {
  readonly url: URL;
  /** HTTP at a Unix socket. */
  readonly socketPath: string;
  /** A port where whoever asks is answered without HTTP. */
  readonly port: number;
}

export interface Reader {
  readonly name: string;
  readonly make: (at: Places) => Consumer;
  /**
   * Right answers, by what the path or the body of the question holds. The first answer lists the pods. Where `wrong` is given, a reader may
   * ask only once for the others.
   */
  readonly answers: Readonly<Record<string, string>>;
  /** Wrong answers instead of spoilt right ones. */
  readonly wrong?: readonly string[];
}

const answerOf = (name: string): string => targets.find((one) => one.name === name)?.answer ?? "";
const plenty = (): CallBudget => new CallBudget(1e6, 1e6);
const idleWorkers = {
  master: "1",
  accepting: [{ pid: "2", key: "2", startedAt: 0 }],
  leaving: [],
};
const healthy = targetHealth(Object.fromEntries(pods.map((one) => [one, "healthy"])));

export const readers: readonly Reader[] = [
  {
    name: "envoy",
    make: ({ url }) => envoy(url),
    answers: {
      "/clusters": answerOf("envoy"),
      "/stats": answerOf("envoy's watchdogs"),
      "/server_info": answerOf("envoy's state"),
    },
  },
  { name: "traefik", make: ({ url }) => traefik(url), answers: { "/": answerOf("traefik") } },
  { name: "cilium", make: ({ socketPath }) => cilium(socketPath), answers: { "/": answerOf("cilium") } },
  { name: "ztunnel", make: ({ url }) => ztunnel(url), answers: { "/": answerOf("ztunnel") } },
  {
    name: "ingress-nginx",
    make: ({ url }) => ingressNginx(url, () => idleWorkers),
    answers: { "/": answerOf("ingress-nginx") },
  },
  { name: "http", make: ({ url }) => httpEndpoint(url), answers: { "/": answerOf("http") } },
  {
    name: "haproxy",
    make: ({ port }) => haproxy({ host: "127.0.0.1", port }),
    answers: {
      "show servers state": answerOf("haproxy"),
      "show proc": "Unknown command: 'show proc'\n\n",
    },
  },
  {
    name: "haproxy's master",
    make: ({ port }) => haproxy({ host: "127.0.0.1", port }),
    answers: { "show servers state": answerOf("haproxy"), "show proc": answerOf("haproxy's master") },
  },
  {
    name: "gcp",
    make: ({ url }) =>
      new GcpApi({
        endpoint: url.href,
        calls: plenty(),
        authorization: () => Promise.resolve("Bearer test"),
      }).endpointGroup({ project: "shop", zone: "europe-west1-b", group: "web" }),
    answers: { "/": endpointPage(pods) },
  },
  {
    name: "aws",
    make: ({ url }) => awsTargetGroup(arn, { endpoint: url.href, calls: plenty() }),
    answers: { DescribeTargetHealth: healthy, DescribeTargetGroups: targetGroups(arn, "HTTP") },
    wrong: [
      healthy.replace(/<TargetHealthDescriptions>.*Descriptions>/, ""),
      healthy.replaceAll(/<State>[^<]*<\/State>/g, ""),
      healthy.replaceAll(/<Id>[^<]*<\/Id>/g, "<Id>i-0123</Id>"),
      awsError("Throttling").text,
      "<html></html>",
    ],
  },
];

/** An answer in which others are used in place of the pods. */
const withoutPods = (answer: string, others = 9): string => answer.replaceAll("10.0.0.", `10.0.${others}.`);

/** How a question is answered; `right` is what would tell that the pods are not used. */
type Fault = (to: ServerResponse, right: string) => void;

const raw =
  (text: string): Fault =>
  (to) =>
    void to.socket?.end(text);

/** None of these is an answer. */
const faults: Readonly<Record<string, Fault>> = {
  "another status": (to, right) => void to.writeHead(503).end(right),
  "no right": (to, right) => void to.writeHead(403).end(right),
  "too many questions": (to, right) => void to.writeHead(429).end(right),
  "a redirect": (to) => void to.writeHead(302, { location: "/elsewhere" }).end(),
  "no content": (to) => void to.writeHead(204).end(),
  nothing: (to) => void to.end(),
  "a cut": (to, right) =>
    void to.writeHead(200, { "content-length": right.length + 1 }).write(right, () => to.destroy()),
  "a cut between chunks": (to, right) => void to.write(right, () => to.destroy()),
  "a hang-up": (to) => void to.socket?.destroy(),
  "no HTTP": raw("SSH-2.0-x\r\n"),
  "a wrong length": raw("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}"),
  "a head without an end": raw(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}\r\n`),
  "a list in a list": (to) => void to.end("[".repeat(100_000)),
  "a list in a list, to its end": (to) => void to.end("[".repeat(50_000) + "]".repeat(50_000)),
  "a megabyte of text": (to) => void to.end(`{"state":"${"x".repeat(2 ** 20)}"}`),
};
/** These take all of the time that an answer may take. */
const slowFaults: Readonly<Record<string, Fault>> = {
  silence: () => undefined,
  "an answer without an end": (to, right) => void to.write(right),
};
const slowShare = 0.04;

/** The clock between two looks: whatever is waited for has passed. Milliseconds. */
const passMs = 300_000;
/** For an answer here. One that is slower is asked for again. */
const longestMs = 400;
const mostTries = 25;
/** So often an answer without the pods is read before the next answer comes: workers of ingress-nginx may keep a list until then. */
const looksPerAnswer = 3;
/** After so many readings the reader must say that the pods are gone. */
const mostLooks = 4 * looksPerAnswer;

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

/** What a reader says; undefined where it has not understood. @throws anything but an error of the operator's. */
async function look(consumer: Consumer): Promise<ReadonlySet<string> | undefined> {
  try {
    return await consumer.stillUsed(pods, new AbortController().signal);
  } catch (error) {
    if (error instanceof OperatorError) return undefined;
    throw error;
  }
}

const usesAll = (found: ReadonlySet<string>): boolean => pods.every((one) => found.has(one));

export interface HostileWorld extends AsyncDisposable {
  /** Shows a reader right answers, wrong ones, and right ones again. @returns what is wrong with what it makes of them. */
  wrongWith(reader: Reader, random: Random): Promise<string | undefined>;
}

/** Servers that answer as they are told, and a clock that jumps between two looks. */
export async function hostileWorld(): Promise<HostileWorld> {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-hostile-"));
  const socketPath = join(folder, "agent.sock");
  let answer: (question: string, to: ServerResponse | Socket) => void = () => undefined;
  const overHttp = (request: IncomingMessage, to: ServerResponse): void => {
    const asked = (body: string): void => answer(`${request.url} ${body}`, to);
    void textOf(request).then(asked, () => to.destroy());
  };
  const sockets = new Set<Socket>();
  const servers: readonly Server[] = [
    createServer(overHttp).listen(0, "127.0.0.1"),
    createSocketServer((socket) => socket.once("data", (data) => answer(data.toString(), socket))).listen(
      0,
      "127.0.0.1",
    ),
    createServer(overHttp).listen(socketPath),
  ];
  for (const one of servers)
    one.on("connection", (socket: Socket) => {
      sockets.add(socket.on("error", () => undefined).on("close", () => sockets.delete(socket)));
    });
  await Promise.all(servers.map((one) => once(one, "listening")));
  const [port, other] = servers.map((one) => (one.address() as AddressInfo).port);
  const at = { url: new URL(`http://127.0.0.1:${port}`), socketPath, port: other ?? 0 };

  let passed = 0;
  process.env["AWS_ACCESS_KEY_ID"] ??= "test";
  process.env["AWS_SECRET_ACCESS_KEY"] ??= "test";
  const now = performance.now.bind(performance);
  const date = Date.now.bind(Date);
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const mocks = [
    mock.method(performance, "now", () => now() + passed),
    mock.method(Date, "now", () => date() + passed),
    mock.method(AbortSignal, "timeout", () => timeout(longestMs)),
  ];

  const answerOfReader = ({ answers }: Reader, question: string): string => {
    const key = Object.keys(answers).find((one) => question.includes(one)) ?? "";
    return answers[key] ?? "";
  };
  /** A look at right answers; another one where this machine is too slow. */
  const lookRight = async (
    reader: Reader,
    consumer: Consumer,
    change: (text: string) => string = (text) => text,
  ): Promise<ReadonlySet<string> | undefined> => {
    answer = (question, to) => void to.end(change(answerOfReader(reader, question)));
    for (let tries = 0; tries < mostTries; tries++) {
      passed += passMs;
      const found = await look(consumer);
      if (found) return found;
    }
    return undefined;
  };
  /** One question is answered wrongly, and all others as if the pods were not used. @returns how. */
  const answerWrongly = (reader: Reader, random: Random): string => {
    const [first = "", ...more] = Object.keys(reader.answers);
    const wrongKey = reader.wrong ? first : pick(random, [first, ...more]);
    const names = Object.keys(random() < slowShare ? slowFaults : faults);
    const name = wrongKey === first && random() < 0.4 ? "spoilt" : pick(random, names);
    const spoilt = (): string => {
      if (reader.wrong) return pick(random, reader.wrong);
      for (;;) {
        const { text, keeps } = spoil({ answer: reader.answers[first] ?? "" }, random);
        // Cilium writes null for a list that is empty.
        if (keeps && !text.includes(":null")) return text;
      }
    };
    const wrong = spoilt();
    answer = (question, to) => {
      const right = withoutPods(answerOfReader(reader, question));
      if (!question.includes(wrongKey)) to.end(right);
      else if (name === "spoilt") to.end(wrong);
      else if ("writeHead" in to) (faults[name] ?? slowFaults[name])?.(to, right);
      // Without HTTP there is nothing but its bytes, and their end.
      else if (name in slowFaults) to.write(right.slice(0, -1));
      else if (name === "a hang-up") to.destroy();
      else to.end(right.slice(0, Math.floor(random() * right.length)));
    };
    return name === "spoilt" ? `the answer ${wrong.slice(0, 2_000)}` : `${name} at ${wrongKey}`;
  };

  return {
    wrongWith: async (reader, random) => {
      const { name } = reader;
      const consumer = reader.make(at);
      const isUsed = async (): Promise<boolean> => usesAll((await lookRight(reader, consumer)) ?? new Set());
      if (!(await isUsed())) return `${name}: a right answer is not understood`;
      for (let wrongs = Math.floor(random() * 5); wrongs >= 0; wrongs--) {
        const how = answerWrongly(reader, random);
        passed += passMs;
        const found = await look(consumer);
        if (found && !usesAll(found)) return `${name}: takes a pod for unused after ${how}`;
      }
      if (!(await isUsed())) return `${name}: a right answer after wrong ones is not understood`;
      for (let looks = 0; looks < mostLooks; looks++) {
        const others = 10 + Math.floor(looks / looksPerAnswer);
        const found = await lookRight(reader, consumer, (text) => withoutPods(text, others));
        if (found?.size === 0) return undefined;
      }
      return `${name}: never lets go`;
    },
    [Symbol.asyncDispose]: async () => {
      for (const one of mocks) one.mock.restore();
      const closed = servers.map((one) => once(one, "close"));
      for (const one of servers) one.close();
      for (const one of sockets) one.destroy();
      await Promise.all(closed);
      rmSync(folder, { recursive: true });
    },
  };
}
