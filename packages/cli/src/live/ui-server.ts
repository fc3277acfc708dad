import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { htmlPage } from "@lameduck/accounting/html-page";
import { element } from "@lameduck/accounting/markup";

const mostConnections = 64;
/** Pages that are fed at once. */
const mostFollowers = 16;
/** What a page may leave unread. */
const mostUnread = 64 * 1_024;
/** Longer than from one feed to the next. */
const idleMs = 30_000;
const feedMs = 10_000;
/** For open pages to fetch the last report. */
const leaveMs = 1_000;

/**
 * Swaps a new report in, and leaves what its reader has opened, chosen and scrolled as it was.
 * The only script of all pages: the report itself has none.
 */
const script = `
const report = document.getElementById("report"), state = document.getElementById("state");
const feed = new EventSource("/events");
feed.addEventListener("state", ({ data }) => { state.textContent = data; });
feed.addEventListener("report", () => swap());
feed.addEventListener("final", async () => { await swap(true); feed.close(); state.remove(); });
feed.onerror = () => { state.textContent = "The run has ended, or cannot be reached."; };
const folds = (from) => {
  const counts = {};
  return new Map([...from.querySelectorAll("details")].map((one) => {
    const place = one.closest("section")?.id ?? "";
    counts[place] = (counts[place] ?? 0) + 1;
    return [place + counts[place], one];
  }));
};
const wide = (from) => [...from.querySelectorAll(".scroll, .picture")];
async function swap(last = false) {
  const page = new DOMParser().parseFromString(await (await fetch("/report")).text(), "text/html");
  if (!last && !getSelection().isCollapsed) return;
  const next = page.querySelector("main");
  if (!next) return;
  const after = folds(next);
  for (const [key, { open }] of folds(report)) if (after.has(key)) after.get(key).open = open;
  for (const { id } of report.querySelectorAll("input:checked")) {
    const same = next.querySelector("#" + CSS.escape(id));
    if (same) same.checked = true;
  }
  const lefts = wide(report).map(({ scrollLeft }) => scrollLeft), focused = document.activeElement?.id;
  report.replaceChildren(...next.childNodes);
  wide(report).forEach((one, i) => { one.scrollLeft = lefts[i] ?? 0; });
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  document.title = page.title;
}
`;

const always =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const withScript = `${always}; connect-src 'self'; script-src 'sha256-${createHash("sha256").update(script).digest("base64")}'`;

const liveHtml = htmlPage("a run that goes on", [
  element("p", { id: "state", class: "advice" }, "It begins."),
  element("div", { id: "report" }, ""),
  `<script>${script}</script>`,
]);

/** Serves one report to browsers of this machine while it grows. */
export class UiServer {
  readonly #server: Server;
  readonly #followers = new Set<ServerResponse>();
  readonly #heartbeat: NodeJS.Timeout;
  #state = "";
  #report = "";
  #isFinal = false;

  private constructor() {
    this.#server = createServer(
      {
        headersTimeout: 2_000,
        requestTimeout: 5_000,
        keepAliveTimeout: 5_000,
        connectionsCheckingInterval: 1_000,
      },
      (request, response) => this.#answer(request, response),
    );
    this.#server.maxConnections = mostConnections;
    this.#server.timeout = idleMs;
    this.#heartbeat = setInterval(() => this.#feed(": it goes on\n\n"), feedMs).unref();
  }

  /** On loopback only, at a port that is free. */
  static async start(): Promise<UiServer> {
    const ui = new UiServer();
    await new Promise<void>((resolve, reject) => {
      ui.#server.once("error", reject).listen(0, "127.0.0.1", resolve);
    });
    return ui;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`;
  }

  /** A line that says what goes on. */
  state(line: string): void {
    if (line === this.#state) return;
    this.#state = line;
    this.#feed(eventOf("state", line));
  }

  report(html: string): void {
    if (html === this.#report || this.#isFinal) return;
    this.#report = html;
    this.#feed(eventOf("report", ""));
  }

  /** The report of the whole run, as `--out` writes it. */
  final(html: string): void {
    this.#report = html;
    this.#isFinal = true;
    this.#feed(eventOf("final", ""));
  }

  /** Pages that are open have a moment for the last report. */
  async close(): Promise<void> {
    clearInterval(this.#heartbeat);
    const end = Date.now() + leaveMs;
    while (this.#isFinal && this.#followers.size > 0 && Date.now() < end)
      await new Promise((later) => setTimeout(later, 20));
    const closed = new Promise((done) => this.#server.close(done));
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    response.setHeader("x-content-type-options", "nosniff");
    response.setHeader("cache-control", "no-store");
    response.setHeader("referrer-policy", "no-referrer");
    response.setHeader("cross-origin-resource-policy", "same-origin");
    response.setHeader("content-security-policy", always);
    // A name of somebody else's that leads here would make this page theirs.
    const { host } = request.headers;
    if (host !== `127.0.0.1:${this.port}` && host !== `localhost:${this.port}`) refuse(response, 403);
    else if (request.method !== "GET") refuse(response.setHeader("allow", "GET"), 405);
    else if (request.url === "/events") this.#follow(response);
    else if (request.url === "/report") page(response, this.#report);
    else if (request.url !== "/") refuse(response, 404);
    else if (this.#isFinal) page(response, this.#report);
    else page(response.setHeader("content-security-policy", withScript), liveHtml);
  }

  #follow(response: ServerResponse): void {
    if (this.#followers.size >= mostFollowers) {
      refuse(response, 503);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    this.#followers.add(response);
    response.once("close", () => this.#followers.delete(response));
    response.write(eventOf("state", this.#state));
    if (this.#report !== "") response.write(eventOf(this.#isFinal ? "final" : "report", ""));
  }

  #feed(text: string): void {
    for (const one of this.#followers) {
      // Who does not read is not waited for.
      if (one.writableLength > mostUnread) one.destroy();
      else one.write(text);
    }
  }
}

function eventOf(name: string, data: string): string {
  return `event: ${name}\ndata: ${data.replaceAll(/[\r\n]+/g, " ")}\n\n`;
}

function page(response: ServerResponse, html: string): void {
  response.setHeader("content-type", "text/html; charset=utf-8").end(html);
}

function refuse(response: ServerResponse, status: number): void {
  response.statusCode = status;
  response.setHeader("connection", "close").end();
}
