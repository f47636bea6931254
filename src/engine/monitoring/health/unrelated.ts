/** Defaults: a problem relates to none of these unless it says so. */
export const UNRELATED = { sinceMs: null, nodeId: null, project: null, spider: null } as const
