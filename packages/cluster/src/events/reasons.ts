/** Reasons of Events, by type. Alerts may use them. */
export const eventReasons = {
  DrainReleased: "Normal",
  DrainCapped: "Warning",
  DrainKilled: "Warning",
  DrainLate: "Warning",
  DrainOverruled: "Warning",
  DrainConsumerBehind: "Warning",
  DrainConsumerMissing: "Warning",
  LosesRequests: "Warning",
  InitVolumeChanged: "Warning",
  InitVolumeRefused: "Warning",
} as const;

export type EventReason = keyof typeof eventReasons;
