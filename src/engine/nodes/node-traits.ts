/** What follows from where a node is, by effect. Callers check these traits instead of the kind of node. */
export interface NodeTraits {
  /** Requests end with the engine and are not limited in number, and lists are current. */
  answersAtOnce: boolean
  /** It never becomes unreachable or stuck independently of the engine, so its runs are never given up or withdrawn. */
  isNeverAway: boolean
  /** It remembers every job it received: one that it does not know never arrived. */
  remembersAll: boolean
  /** It enforces run limits itself. Otherwise the wall time is enforced from here (limit-enforcer.ts). */
  holdsLimits: boolean
  /** The logs of its runs stay in place, so they need no copy in the archive. */
  keepsLogs: boolean
  /** It does not expose the secret values of a run to other users. */
  hidesSecrets: boolean
  /** It can set environment variables for a run. */
  setsEnvironment: boolean
  /** It is this computer, with our clock and CPUs. */
  runsHere: boolean
}

export const SCRAPYD_TRAITS: NodeTraits = {
  answersAtOnce: false,
  isNeverAway: false,
  remembersAll: false,
  holdsLimits: false,
  keepsLogs: false,
  hidesSecrets: false,
  setsEnvironment: false,
  runsHere: false
}

/** Its journal remembers all, unless it is younger than a run (pulling-node.ts). */
export const PULLING_TRAITS: NodeTraits = { ...SCRAPYD_TRAITS, setsEnvironment: true }

export const LOCAL_TRAITS: NodeTraits = {
  answersAtOnce: true,
  isNeverAway: true,
  remembersAll: true,
  holdsLimits: true,
  keepsLogs: true,
  hidesSecrets: true,
  setsEnvironment: true,
  runsHere: true
}
