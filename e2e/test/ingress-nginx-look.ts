/**
 * Asks ingress-nginx as a watcher beside it does, from within its network: writes a line whenever another of the addresses is used, or the reason has
 * changed. Lines of its input, each answered by one: a list, which it writes to the status server in the controller's place; "upload COUNT", which begins
 * so many requests; "finish", which sends the rest of them and tells to which pods they went.
 * Usage: ingress-nginx-look.ts ORIGIN ADDRESS...
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { runClock } from "@lameduck/accounting";
import { consumerOf } from "@lameduck/watcher/kinds";

const [origin = "", ...addresses] = process.argv.slice(2);
const clock = runClock(BigInt(origin));
const say = (what: object): void => void process.stdout.write(`${JSON.stringify(what)}\n`);
const stop = new AbortController();
createInterface({ input: process.stdin })
  .on("line", (line) => void answer(line).then((done) => say({ done })))
  .on("close", () => stop.abort());
const uploads: Upload[] = [];

async function answer(line: string): Promise<readonly string[]> {
  const [what, count] = line.split(" ");
  if (what === "upload") {
    for (let number = 0; number < Number(count); number++) uploads.push(await Upload.begin());
    return [];
  }
  if (what === "finish") return Promise.all(uploads.splice(0).map((upload) => upload.finish()));
  const url = "http://127.0.0.1:10246/configuration/backends";
  const { status } = await fetch(url, { method: "POST", body: line });
  return [String(status)];
}

/** A request of which a worker has read the beginning. It chooses a pod when it has all of it. */
class Upload {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static async begin(): Promise<Upload> {
    const socket = connect(80, "127.0.0.1");
    socket.write(
      "POST / HTTP/1.1\r\nHost: web\r\nConnection: close\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nab",
    );
    await once(socket, "data");
    return new Upload(socket);
  }

  async finish(): Promise<string> {
    this.#socket.write("cd");
    return /x-lameduck-upstream: ([\d.]+)/i.exec(await text(this.#socket))?.[1] ?? "";
  }
}

const consumer = consumerOf("ingress-nginx");
let said = "";
while (!stop.signal.aborted) {
  const look = await consumer
    .stillUsed(addresses, stop.signal)
    .then((used) => ({ used: [...used], reason: consumer.reason?.() ?? "" }))
    .catch((error: unknown) => ({ used: [...addresses], reason: String(error) }));
  const now = JSON.stringify(look);
  if (now !== said) say({ at: clock.now(), ...look });
  said = now;
  await sleep(250);
}
