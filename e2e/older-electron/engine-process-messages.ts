/** The messages between the shell, in an older Electron, and the process with its engine. */
export type ToEngineProcess =
  | { kind: 'call'; id: number; name: string; argument: unknown }
  | { kind: 'open'; id: number; to: string }
  | PortMessage

export type FromEngineProcess =
  | { kind: 'answer'; id: number; value?: unknown; error?: { message: string; code?: string } }
  | { kind: 'openInBrowser'; url: string }
  | { kind: 'live'; key: number; engine: RemoteLive }
  | { kind: 'notLive'; key: number }
  | PortMessage

/** `data` is encoded (electron-stand-in/clone-codec.ts). */
type PortMessage = { kind: 'data'; id: number; data: unknown } | { kind: 'close'; id: number }

export interface RemoteLive {
  id: string
  name: string
  isReadOnly: boolean
}
