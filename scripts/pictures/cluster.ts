import { box, path, text, width, type Picture } from "./drawing.ts";

/** Lameduck's parts in a cluster, and who talks to whom. */
export function cluster(): Picture {
  const note = 424;
  const notes = [
    "1 asks about each new pod; the answer adds the hold",
    "2 watches pods, endpoints and routes; writes Events",
    "3 reads which changes a sender has applied",
    "4 reports them",
    "5 asks: may I stop? Yes, when no sender sends any more",
  ];
  return {
    title: "Lameduck's parts in a cluster",
    description:
      "The API server asks the webhook about each new pod, and the answer adds the hold. Webhook and coordinator watch pods, endpoints and routes by the API server, and write Events. With acknowledgements a watcher on each node " +
      "reads which changes the senders have applied, and reports that to the coordinator. A terminating pod asks the coordinator whether it may stop. " +
      "Requests go from the senders to the pod, and never through Lameduck.",
    height: note + notes.length * 22 + 46,
    parts: [
      box(150, 14, [180, 44], ["API server"]),
      box(12, 124, [176, 62], ["webhook", "two replicas"]),
      box(292, 124, [176, 62], ["coordinator", "two replicas"], true),
      box(12, 240, [176, 62], ["your pod", "hook, init or library"]),
      box(292, 240, [176, 62], ["watcher", "on each node"], true),
      box(12, 352, [width - 24, 44], ["senders: kube-proxies, ingresses, load balancers"]),
      path("M176 58L84 120", "line", "arrow"),
      text(112, 92, "1", "ink name", "end"),
      path("M128 124L216 62", "line", "arrow"),
      text(184, 102, "2", "ink name"),
      path("M368 124L280 62", "line", "arrow"),
      text(334, 92, "2", "ink name"),
      path("M380 302V348", "line", "arrow"),
      text(390, 331, "3", "ink name"),
      path("M380 240V190", "line", "arrow"),
      text(390, 220, "4", "ink name"),
      path("M188 256L288 172", "line", "arrow"),
      text(250, 228, "5", "ink name"),
      path("M60 352V306", "line", "dashed arrow"),
      path("M100 352V306", "line", "dashed arrow"),
      path("M140 352V306", "line", "dashed arrow"),
      text(152, 331, "requests", "soft"),
      ...notes.map((words, index) => text(12, note + index * 22, words)),
      text(
        12,
        note + notes.length * 22 + 4,
        "An arrow starts at who begins to talk. Dashed arrows are",
        "soft",
      ),
      text(
        12,
        note + notes.length * 22 + 22,
        "your requests. Dashed frames: only with acknowledgements.",
        "soft",
      ),
    ],
  };
}
