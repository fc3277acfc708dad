import { setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import { KnownRun, type RunNews } from "./known.ts";
import { UiServer } from "./ui-server.ts";

/** Messages to the thread. */
export type ToUi = RunNews | { readonly type: "close" };
/** Messages from it. */
export type FromUi = { readonly type: "listening"; readonly url: string } | { readonly type: "closed" };

const periodMs = 1_000;
/** Rendering takes at most this share of the thread's time. */
const share = 1 / 4;

// On Linux a thread has a priority of its own. The run comes first.
if (process.platform === "linux") setPriority(19);

const server = await UiServer.start();
const send = (message: FromUi): void => parentPort?.postMessage(message);
let known: KnownRun | undefined;
let timer: NodeJS.Timeout | undefined;
let earliest = 0;

function render(): void {
  timer = undefined;
  if (!known) return;
  const began = Date.now();
  server.report(known.html());
  const now = Date.now();
  earliest = now + Math.max(periodMs, (now - began) / share);
}

parentPort?.on("message", (news: ToUi) => {
  switch (news.type) {
    case "about":
      known = new KnownRun(news);
      break;
    case "state":
      server.state(news.line);
      break;
    case "final":
      clearTimeout(timer);
      known = undefined;
      server.final(news.html);
      break;
    case "close":
      clearTimeout(timer);
      void server.close().then(() => {
        send({ type: "closed" });
        parentPort?.close();
      });
      break;
    default:
      if (known?.take(news)) timer ??= setTimeout(render, Math.max(0, earliest - Date.now()));
  }
});
send({ type: "listening", url: server.url });
