import { claimHeaders, claimIn, type Answer, type Reported } from "../answer.ts";

type Stage =
  | "head"
  | "length"
  | "until-close"
  | "chunk-size"
  | "chunk"
  | "chunk-end"
  | "trailer"
  | "done"
  | "invalid";

/** A head longer than this is no head (Node's own limit is 16 KiB). */
const longestHeadBytes = 64 * 1024;

/**
 * Reads one HTTP/1.x answer at a time, in whatever pieces it comes. Small because it is the hot path of the load generator: it keeps
 * counts and a handful of headers, no body except the first bytes a caller asks for.
 */
export class ResponseReader implements Answer {
  status = 0;
  keepAlive = false;
  /** The value of Content-Type, in lower case. */
  type = "";
  /** The server's own announcement of how long it keeps an idle connection, milliseconds. */
  idleLimit: number | undefined;
  /** Bytes of body seen. */
  body = 0;
  reported: Reported = {};
  /** The first bytes of the body, as text. */
  text = "";
  /** Gets every piece of body, where somebody wants it. */
  onBody: ((bytes: Buffer, from: number, to: number) => void) | undefined;
  #collect = 0;
  #bodiless = false;
  #stage: Stage = "head";
  #remaining = 0;
  #line = "";

  /** Begins the next answer; `collect` bytes of its body are kept. An answer to HEAD has no body, whatever its length says. */
  reset(collect: number, bodiless = false): void {
    this.#bodiless = bodiless;
    this.status = 0;
    this.keepAlive = false;
    this.type = "";
    this.idleLimit = undefined;
    this.body = 0;
    this.reported = {};
    this.text = "";
    this.#collect = collect;
    this.#stage = "head";
    this.#line = "";
  }

  get complete(): boolean {
    return this.#stage === "done";
  }

  get invalid(): boolean {
    return this.#stage === "invalid";
  }

  /** The peer has closed in order: the end of a body that has no other end. */
  end(): boolean {
    if (this.#stage === "until-close") this.#stage = "done";
    return this.complete;
  }

  /** @returns how many of the bytes belonged to this answer. */
  push(bytes: Buffer, length: number): number {
    let at = 0;
    while (at < length && this.#stage !== "done" && this.#stage !== "invalid") {
      if (this.#stage === "head") at = this.#readHead(bytes, at, length);
      else if (this.#stage === "until-close") at = this.#take(bytes, at, length);
      else if (this.#stage === "length" || this.#stage === "chunk") at = this.#readCounted(bytes, at, length);
      else at = this.#readLine(bytes, at, length);
    }
    return at;
  }

  #readHead(bytes: Buffer, from: number, length: number): number {
    const before = this.#line.length;
    const text = this.#line + bytes.toString("latin1", from, length);
    const end = text.indexOf("\r\n\r\n");
    if (end === -1) {
      this.#line = text;
      if (text.length > longestHeadBytes || !"HTTP/1.".startsWith(text.slice(0, 7))) this.#stage = "invalid";
      return length;
    }
    this.#line = "";
    this.#understand(text, end);
    return from + end + 4 - before;
  }

  #understand(text: string, end: number): void {
    this.status = Number(text.slice(9, 12));
    if (!text.startsWith("HTTP/1.") || !(this.status >= 100 && this.status <= 999)) {
      this.#stage = "invalid";
      return;
    }
    // 100 Continue, 103 Early Hints: the answer is still to come.
    if (this.status < 200) return;
    this.keepAlive = text[7] === "1";
    let contentLength: number | undefined;
    let coding: string | undefined;
    // Most answers have none. Of two of a name the first counts.
    let claims: Map<string, string> | undefined;
    let start = text.indexOf("\r\n") + 2;
    while (start > 1 && start < end) {
      const next = text.indexOf("\r\n", start);
      const colon = text.indexOf(":", start);
      if (colon !== -1 && colon < next) {
        const name = text.slice(start, colon).toLowerCase();
        const value = text.slice(colon + 1, next).trim();
        if (name === "content-length") contentLength = Number(value);
        else if (name === "transfer-encoding") coding = value.toLowerCase();
        else if (name === "connection") this.#connection(value.toLowerCase());
        else if (name === "content-type") this.type = value.toLowerCase();
        else if (name === "keep-alive") this.#idle(value);
        else if (name.startsWith("x-lameduck-")) this.#readReport(name, value);
        else if (name.startsWith("x-") && claimHeaders.includes(name) && !claims?.has(name))
          (claims ??= new Map()).set(name, value);
      }
      start = next + 2;
    }
    const claim = claims && claimIn((name) => claims.get(name));
    if (claim !== undefined) this.reported.claim = claim;
    this.#beginBody(contentLength, coding);
  }

  /** RFC 9112, 6.3: only the last coding says where the body ends. It takes precedence over a length. */
  #beginBody(contentLength: number | undefined, coding: string | undefined): void {
    if (this.#bodiless || this.status === 204 || this.status === 304) this.#stage = "done";
    else if (coding?.split(",").at(-1)?.trim() === "chunked") this.#stage = "chunk-size";
    else if (coding !== undefined || contentLength === undefined) {
      this.#stage = "until-close";
      this.keepAlive = false;
    } else if (!(contentLength >= 0)) this.#stage = "invalid";
    else {
      this.#remaining = contentLength;
      this.#stage = contentLength === 0 ? "done" : "length";
    }
  }

  #connection(value: string): void {
    if (value.includes("close")) this.keepAlive = false;
    else if (value.includes("keep-alive")) this.keepAlive = true;
  }

  #idle(value: string): void {
    const seconds = /timeout=(\d+)/.exec(value)?.[1];
    if (seconds !== undefined) this.idleLimit = Number(seconds) * 1_000;
  }

  #readReport(name: string, value: string): void {
    if (name === "x-lameduck-pod") this.reported.pod = value;
    else if (name === "x-lameduck-upstream") this.reported.upstream = value;
    else if (name === "x-lameduck-retries") this.reported.retries = Number(value) || 0;
    else if (name === "x-lameduck-error") this.reported.error = value;
    else if (name === "x-lameduck-reused") this.reported.reused = value === "1";
    else if (name === "x-lameduck-connected") this.reported.connected = Number(value);
  }

  #readCounted(bytes: Buffer, from: number, length: number): number {
    const to = Math.min(length, from + this.#remaining);
    this.#remaining -= to - from;
    if (this.#remaining === 0) this.#stage = this.#stage === "length" ? "done" : "chunk-end";
    return this.#take(bytes, from, to);
  }

  #take(bytes: Buffer, from: number, to: number): number {
    this.body += to - from;
    this.onBody?.(bytes, from, to);
    const wanted = this.#collect - this.text.length;
    if (wanted > 0) this.text += bytes.toString("latin1", from, Math.min(to, from + wanted));
    return to;
  }

  #readLine(bytes: Buffer, from: number, length: number): number {
    const end = bytes.indexOf(10, from);
    if (end === -1 || end >= length) {
      this.#line += bytes.toString("latin1", from, length);
      if (this.#line.length > longestHeadBytes) this.#stage = "invalid";
      return length;
    }
    const line = (this.#line + bytes.toString("latin1", from, end)).trimEnd();
    this.#line = "";
    if (this.#stage === "chunk-end") this.#stage = line === "" ? "chunk-size" : "invalid";
    else if (this.#stage === "trailer") this.#stage = line === "" ? "done" : "trailer";
    else this.#beginChunk(line);
    return end + 1;
  }

  #beginChunk(line: string): void {
    const size = /^[0-9a-f]+/i.exec(line)?.[0];
    if (size === undefined) this.#stage = "invalid";
    else {
      this.#remaining = Number.parseInt(size, 16);
      this.#stage = this.#remaining === 0 ? "trailer" : "chunk";
    }
  }
}
