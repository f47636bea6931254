import { create } from 'zustand'

export interface Connection {
  state: 'connecting' | 'live' | 'reconnecting'
  sinceMs: number
}

export const useConnection = create<Connection>(() => ({ state: 'connecting', sinceMs: Date.now() }))

export function setConnection(state: Connection['state']): void {
  if (useConnection.getState().state !== state) useConnection.setState({ state, sinceMs: Date.now() })
}
