/** Tunnels are opened in the engine's process. */
export class SshTunnels {}
