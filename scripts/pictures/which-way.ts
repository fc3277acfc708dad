import { box, path, text, type Picture } from "./drawing.ts";

/** Asked from above; the first yes decides. */
const questions = [
  ["Is the question only whether a", "deploy loses requests?", "Check a deploy", "audit, rollout"],
  ["Do you run clusters", "for other teams?", "A platform team", "check, install"],
  ["Is the server a program", "for Node?", "A Node server", "two lines of code"],
] as const;

/** Which start page is for whom. */
export function whichWay(): Picture {
  const step = 92;
  const high = 56;
  const last = 14 + questions.length * step;
  return {
    title: "Which way is for me?",
    description:
      "Three questions, one after the other. Is the question only whether a deploy loses requests? Then check a deploy. " +
      "Do you run clusters for other teams? Then the page for a platform team. Is the server a program for Node? Then the page for a Node server. " +
      "Otherwise the page for software that is not yours.",
    height: last + high + 14,
    parts: [
      ...questions.flatMap(([first, second, page, by], index) => {
        const y = 14 + index * step;
        return [
          text(12, y + 24, first),
          text(12, y + 42, second),
          path(`M232 ${y + high / 2}H284`, "line", "arrow"),
          text(256, y + 22, "yes", "soft", "middle"),
          box(290, y, [178, high], [page, by]),
          path(`M60 ${y + high - 4}V${y + step - 4}`, "line", "arrow"),
          text(70, y + high + 18, "no", "soft"),
        ];
      }),
      box(
        12,
        last,
        [456, high],
        ["Software that is not yours", "HAProxy, nginx, a JVM, gunicorn: lameduck-init"],
      ),
    ],
  };
}
