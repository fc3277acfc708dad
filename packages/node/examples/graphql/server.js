import { createServer } from "node:http";
import { ApolloServer } from "@apollo/server";
import { expressMiddleware } from "@as-integrations/express5";
import express from "express";
import { GraphQLObjectType, GraphQLSchema, GraphQLString } from "graphql";
import { useServer } from "graphql-ws/use/ws";
import { WebSocketServer } from "ws";
import { lameduck } from "@lameduck/node";

const query = new GraphQLObjectType({
  name: "Query",
  fields: { hello: { type: GraphQLString, resolve: () => "hello" } },
});
const schema = new GraphQLSchema({ query });
const apollo = new ApolloServer({ schema });
await apollo.start();

const app = express();
app.get("/", (request, response) => {
  response.send("hello\n");
});
app.use("/graphql", express.json(), expressMiddleware(apollo));
const server = createServer(app);
const subscriptions = useServer({ schema }, new WebSocketServer({ server, path: "/graphql" }));

// Subscriptions live through the hold and are closed with 1001; then the two libraries dispose of what is theirs.
lameduck(server)
  .hook("closed", "subscriptions", () => subscriptions.dispose())
  .hook("closed", "apollo", () => apollo.stop());
server.listen(Number(process.env.PORT ?? 8080));
