/** The one IPC channel between preload and main: the frame asks on it for a wire and gets a MessagePort back on it. */
export const WIRE_CHANNEL = 'scrapdeck:wire'

/** What preload posts to the page with the MessagePort in `ports[0]`; the page checks that `event.source` is itself. */
export const WIRE_MESSAGE = 'scrapdeck-wire'
