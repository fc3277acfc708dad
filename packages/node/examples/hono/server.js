import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { lameduck } from "@lameduck/node";

const app = new Hono();
app.get("/", (context) => context.text("hello\n"));
lameduck(serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 8080) }));
