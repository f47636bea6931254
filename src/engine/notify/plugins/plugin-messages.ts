/** Sent to the plugin's thread. `call`: a hook, or `blobs.write` and the like. */
export interface PluginCall {
  id: number
  call: string
  args: unknown[]
}

export type FromPlugin =
  | { kind: 'ready'; hooks: string[] }
  /** The plugin cannot be used; the thread ends. */
  | { kind: 'refused'; problem: string }
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'failed'; id: number; problem: string }
