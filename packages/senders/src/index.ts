/** Facts of each kind of sender. */
export { isNodeKind, isNodeProxy, servesNode } from "./node-proxies.ts";
