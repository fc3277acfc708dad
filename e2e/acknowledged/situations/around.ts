import { during, scenarios, type Scenario, type Stage } from "../../matrix/scenarios.ts";

export const rollout =
  scenarios.find(({ name }) => name === "rollout") ?? during("rollout", "", async () => {});

/** Rollouts with something unusual from before the first deletion until after the last pod's end. */
export function around(
  name: string,
  description: string,
  begin: (stage: Stage) => Promise<() => Promise<void>>,
): Scenario {
  return {
    name,
    description: `rollout restart; ${description}`,
    run: async (stage) => {
      const end = await begin(stage);
      try {
        await rollout.run(stage);
      } finally {
        await end();
      }
    },
  };
}
