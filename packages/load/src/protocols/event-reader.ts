const newline = 10;
const carriageReturn = 13;

/** Finds the events in a text/event-stream (HTML, 9.2.6) without keeping them. */
export class EventReader {
  /** Events seen: blocks with data, ended by a blank line. */
  events = 0;
  #line = "";
  #fields = false;
  #data = false;
  #afterReturn = false;

  /** Nothing of an event has come that its end has not: a stream may end here. */
  get between(): boolean {
    return !this.#fields && (this.#line === "" || this.#line.startsWith(":"));
  }

  push(bytes: Buffer, from: number, to: number): void {
    for (let at = from; at < to; at++) {
      const byte = bytes[at]!;
      if (byte === newline || byte === carriageReturn) {
        if (byte === carriageReturn || !this.#afterReturn) this.#endLine();
        this.#afterReturn = byte === carriageReturn;
      } else {
        this.#afterReturn = false;
        // The name of a field is all that is looked at.
        if (this.#line.length < 5) this.#line += String.fromCharCode(byte);
      }
    }
  }

  #endLine(): void {
    if (this.#line === "") {
      if (this.#data) this.events++;
      this.#fields = false;
      this.#data = false;
    } else if (!this.#line.startsWith(":")) {
      this.#fields = true;
      if (this.#line === "data" || this.#line === "data:") this.#data = true;
    }
    this.#line = "";
  }
}
