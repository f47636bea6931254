/** Sent to the plugin's thread. `call`: a hook, or a function of the blob store such as `blobs.write`. */
export interface PluginCall {
  id: number
  call: string
  args: unknown[]
}

export type FromPlugin =
  | { kind: 'ready'; hooks: string[] }
  | { kind: 'refused'; problem: string }
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'failed'; id: number; problem: string }
