/** What follows from where a node is, by effect: whoever works with nodes asks this, not which kind they are. */
export interface NodeTraits {
  /** Requests end with the engine and are not limited in number: what it lists is of this moment. */
  answersAtOnce: boolean
  /** It does not go away, nor get stuck, without the engine: what runs there is never given up or taken back. */
  isNeverAway: boolean
  /** It remembers all that it was given: what it does not know never arrived. */
  remembersAll: boolean
  /** Runs are held to their limits there. Else only to their wall time, from here (time-limits.ts). */
  holdsLimits: boolean
  /** The logs of its runs stay where they are: the archive needs no copy. */
  keepsLogs: boolean
  /** Nobody there is shown the secret values of a run. */
  hidesSecrets: boolean
  /** It is this computer: its clock is ours, and so are its CPUs. */
  runsHere: boolean
}

export const SCRAPYD_TRAITS: NodeTraits = {
  answersAtOnce: false,
  isNeverAway: false,
  remembersAll: false,
  holdsLimits: false,
  keepsLogs: false,
  hidesSecrets: false,
  runsHere: false
}

export const LOCAL_TRAITS: NodeTraits = {
  answersAtOnce: true,
  isNeverAway: true,
  remembersAll: true,
  holdsLimits: true,
  keepsLogs: true,
  hidesSecrets: true,
  runsHere: true
}
