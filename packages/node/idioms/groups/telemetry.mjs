/** Programs with telemetry, which must be flushed before the process ends. */
import { createRequire } from "node:module";
import { say, serve } from "../app.mjs";

const require = createRequire(import.meta.url);
const closed = (server) => new Promise((resolve) => server.close(resolve));

export default {
  "OpenTelemetry, shut down in a handler": {
    what: "`sdk.shutdown().finally(() => process.exit(0))` at SIGTERM",
    needs: ["@opentelemetry/sdk-node", "@opentelemetry/sdk-trace", "@opentelemetry/api"],
    gives: "exported termination",
    program: async () => {
      const { sdk, span } = telemetry();
      await serve(() =>
        process.on("SIGTERM", () => {
          span("last");
          sdk
            .shutdown()
            .then(() => say("sdk down"))
            .finally(() => process.exit(0));
        }),
      );
    },
  },
  "OpenTelemetry, no exit": {
    what: "`sdk.shutdown()` in one handler, `server.close()` in another",
    needs: ["@opentelemetry/sdk-node", "@opentelemetry/sdk-trace", "@opentelemetry/api"],
    gives: "exported termination",
    program: async () => {
      const { sdk, span } = telemetry();
      process.on("SIGTERM", () => void sdk.shutdown().then(() => say("sdk down")));
      await serve((server) =>
        process.on("SIGTERM", () => {
          span("last");
          server.close(() => say("closed"));
        }),
      );
    },
  },
  "OpenTelemetry, after the close": {
    what: "closes the server first, then flushes",
    needs: ["@opentelemetry/sdk-node", "@opentelemetry/sdk-trace", "@opentelemetry/api"],
    gives: "exported termination",
    program: async () => {
      const { sdk, span } = telemetry();
      await serve((server) =>
        process.once("SIGTERM", async () => {
          await closed(server);
          span("last");
          await sdk.shutdown();
          say("sdk down");
        }),
      );
    },
  },
  "dd-trace": {
    what: "`tracer.init()`, no handler of the program's own",
    needs: ["dd-trace"],
    env: {
      DD_TRACE_STARTUP_LOGS: "false",
      DD_INSTRUMENTATION_TELEMETRY_ENABLED: "false",
      DD_TRACE_AGENT_PORT: "9",
      DD_REMOTE_CONFIGURATION_ENABLED: "false",
    },
    ignores: /ECONNREFUSED|dd-trace|agent/i,
    program: async () => {
      require("dd-trace").init({ startupLogs: false });
      await serve();
    },
  },
  "dd-trace and a handler": {
    what: "`tracer.init()` beside `server.close()`",
    needs: ["dd-trace"],
    env: {
      DD_TRACE_STARTUP_LOGS: "false",
      DD_INSTRUMENTATION_TELEMETRY_ENABLED: "false",
      DD_TRACE_AGENT_PORT: "9",
      DD_REMOTE_CONFIGURATION_ENABLED: "false",
    },
    ignores: /ECONNREFUSED|dd-trace|agent/i,
    program: async () => {
      require("dd-trace").init({ startupLogs: false });
      await serve((server) => process.on("SIGTERM", () => server.close(() => process.exit(0))));
    },
  },
  "pino, flushed": {
    what: "an asynchronous logger is flushed in the exit event",
    program: async () => {
      const { default: pino } = await import("pino");
      const log = pino({ base: null, timestamp: false }, pino.destination({ sync: false, minLength: 4_096 }));
      await serve((server) => {
        process.on("SIGTERM", () =>
          server.close(() => {
            log.info("last line");
            process.exit(0);
          }),
        );
        process.on("exit", () => log.flush());
      });
    },
  },
};

function telemetry() {
  const { NodeSDK } = require("@opentelemetry/sdk-node");
  const { BatchSpanProcessor } = require("@opentelemetry/sdk-trace");
  const { trace } = require("@opentelemetry/api");
  /** Prints the names of the spans that reach the collector: the program's last span, and Lameduck's. */
  const exporter = {
    export: (spans, done) => {
      for (const { name } of spans) say(`exported ${name}`);
      setTimeout(done, 300, { code: 0 });
    },
    shutdown: async () => {},
  };
  const sdk = new NodeSDK({
    spanProcessors: [new BatchSpanProcessor({ exporter })],
    instrumentations: [],
    resourceDetectors: [],
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  return { sdk, span: (name) => trace.getTracer("program").startSpan(name).end() };
}
