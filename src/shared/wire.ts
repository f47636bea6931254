/** The only IPC channel between preload and main: the frame requests a wire on it and gets a MessagePort back. */
export const WIRE_CHANNEL = 'scrapdeck:wire'

/** What preload posts to the page with the MessagePort in `ports[0]`; the page checks that `event.source` is itself. */
export const WIRE_MESSAGE = 'scrapdeck-wire'
