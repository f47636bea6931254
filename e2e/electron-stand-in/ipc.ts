import { EventEmitter } from 'node:events'

/** The other end of a port that was transferred to a page, where it is a real MessagePort. */
export interface PortSink {
  post(data: unknown): void
  close(): void
}

export const ipcMain = new EventEmitter()

/** Electron's MessagePortMain: an EventEmitter that buffers messages until `start()`. */
export class MessagePortMain extends EventEmitter {
  #peer: MessagePortMain | null = null
  #sink: PortSink | null = null
  #waiting: unknown[] = []
  #isStarted = false
  #isClosed = false

  static entangle(port1: MessagePortMain, port2: MessagePortMain) {
    port1.#peer = port2
    port2.#peer = port1
  }

  postMessage(message: unknown, transfer: unknown[] = []) {
    if (transfer.length > 0) throw new Error('The stand-in passes no ports through ports')
    if (this.#sink) throw new Error('This port was transferred')
    this.#send(structuredClone(message))
  }

  start() {
    this.#isStarted = true
    for (const data of this.#waiting.splice(0)) this.#receive(data)
  }

  close() {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#sink?.close()
    setImmediate(() => this.emit('close'))
    this.#peer?.close()
  }

  /**
   * The port then belongs to the page and cannot be used in this process. The returned functions act for the page.
   */
  transferTo(sink: PortSink): { receiveFromPage(data: unknown): void; closedByPage(): void } {
    if (this.#sink || this.#isStarted) throw new Error('A port can be transferred once, and only before start()')
    this.#sink = sink
    for (const data of this.#waiting.splice(0)) sink.post(data)
    return { receiveFromPage: (data) => this.#send(data), closedByPage: () => this.close() }
  }

  #send(data: unknown) {
    if (this.#peer) this.#peer.#receive(data)
  }

  #receive(data: unknown) {
    if (this.#isClosed) return
    if (this.#sink) this.#sink.post(data)
    else if (this.#isStarted) setImmediate(() => this.emit('message', { data, ports: [] }))
    else this.#waiting.push(data)
  }
}

export class MessageChannelMain {
  readonly port1 = new MessagePortMain()
  readonly port2 = new MessagePortMain()
  constructor() {
    MessagePortMain.entangle(this.port1, this.port2)
  }
}
