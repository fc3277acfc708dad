import fastify from "fastify";
import { lameduck } from "@lameduck/node";

const app = fastify();
app.get("/", async () => "hello\n");
// fastify.close() answers 503 and resets pooled connections, so it comes last, for the sake of the onClose hooks.
lameduck(app.server).hook("closed", "fastify", () => app.close());
await app.listen({ port: Number(process.env.PORT ?? 8080), host: "0.0.0.0" });
