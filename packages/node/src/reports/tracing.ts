import type { Observed } from "../observed.ts";

interface Span {
  setAttributes(attributes: Record<string, string | number>): unknown;
  addEvent(name: string, attributes: Record<string, string | number>): unknown;
  end(): void;
}

interface TracingApi {
  trace?: { getTracer(name: string): { startSpan(name: string): Span } };
}

/**
 * One span per termination. The OpenTelemetry API keeps what the application has registered under this symbol, by which its own copies find one
 * another. So nothing need be loaded here.
 * @returns what ends the span. It is to be called before anything that may shut down the SDK, which exports no span that ends later.
 */
export function traceTermination(duck: Pick<Observed, "on">): () => void {
  let span: Span | undefined;
  const end = (): void => {
    span?.end();
    span = undefined;
  };
  duck.on("phase", (event) => {
    const api = (globalThis as Record<symbol, unknown>)[Symbol.for("opentelemetry.js.api.1")] as
      | TracingApi
      | undefined;
    if (event.phase === "lame-duck") {
      span = api?.trace?.getTracer("@lameduck/node").startSpan("termination");
      span?.setAttributes({ "lameduck.reason": event.reason, "lameduck.policy": event.policy });
    } else if (event.phase === "closing") {
      const { reason, hold, expectedLoss, connections, requests, inFlight } = event;
      span?.addEvent("closing", { reason, hold, expectedLoss, connections, requests, inFlight });
    } else {
      span?.addEvent("closed", { reason: event.reason, ...event.cut });
      end();
    }
  });
  return end;
}
