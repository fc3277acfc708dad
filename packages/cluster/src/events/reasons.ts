/** Reasons of Events, by type. Alerts may use them. */
export const eventReasons = {
  DrainReleased: "Normal",
  DrainCapped: "Warning",
  DrainKilled: "Warning",
  DrainLate: "Warning",
  DrainOverruled: "Warning",
  DrainConsumerBehind: "Warning",
  DrainConsumerMissing: "Warning",
  DrainConsumerStuck: "Warning",
  LosesRequests: "Warning",
  InitVolumeChanged: "Warning",
  InitVolumeRefused: "Warning",
} as const;

/** What each tells. */
export const eventMeanings: Readonly<Record<keyof typeof eventReasons, string>> = {
  DrainReleased: "Every sender had stopped sending, and nothing went wrong.",
  DrainCapped: "The pod stopped at its cap; the message says why.",
  DrainKilled: "A container was killed at the end of the grace period.",
  DrainLate:
    "A container ended by itself, but only at the end of the grace period: a hook or the program hung.",
  DrainOverruled: "A new connection came after every sender was reported to have stopped.",
  DrainConsumerBehind: "The pod ended while a sender had not stopped, and not by its own evidence.",
  DrainConsumerMissing: "Nobody reports for a sender of the pod, so the pod decides by its own evidence.",
  DrainConsumerStuck: "A sender had not stopped sending 60 s after the pod's end.",
  LosesRequests: "The audit finds that the workload will lose requests when its pods stop.",
  InitVolumeChanged: "The ConfigMap with lameduck-init is not as it was installed; it is written again.",
  InitVolumeRefused:
    "The ConfigMap with lameduck-init cannot be written, so hooks of injected pods do nothing.",
};

export type EventReason = keyof typeof eventReasons;
