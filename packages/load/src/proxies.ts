/** What a process needs that cares for a proxy: nothing that makes requests. */
export { LoadError } from "./errors.ts";
export { serveParent } from "./generator/ipc.ts";
export { connects } from "./protocols/connects.ts";
export { cut } from "./protocols/socket.ts";
export { perConnectionHeaders } from "./request-form.ts";
export { reportChoice } from "./senders/chooser.ts";
export { Learner } from "./senders/learner.ts";
export { EndpointView } from "./senders/view.ts";
