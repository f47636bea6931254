import { addScheme, schemeOf, toAppUrl } from './address.ts'

type ProtocolHandler = (request: Request) => Promise<Response> | Response
type CheckHandler = (contents: null, permission: string, origin: string, details: { requestingUrl: string }) => boolean
type RequestHandler = (
  contents: null,
  permission: string,
  callback: (isGranted: boolean) => void,
  details: { requestingUrl: string }
) => void

const privileged = new Set<string>()
const handlers = new Map<string, ProtocolHandler>()
let checkPermission: CheckHandler = () => true
let requestPermission: RequestHandler = (_contents, _permission, callback) => callback(true)

export const protocol = {
  registerSchemesAsPrivileged(schemes: { scheme: string; privileges: { standard?: boolean; secure?: boolean } }[]) {
    for (const { scheme, privileges } of schemes) {
      if (!privileges.standard || !privileges.secure)
        throw new Error('The stand-in serves standard, secure schemes only')
      privileged.add(scheme)
    }
  },
  handle(scheme: string, handler: ProtocolHandler) {
    if (!privileged.has(scheme)) throw new Error(`${scheme} was not registered before ready`)
    if (handlers.has(scheme)) throw new Error(`${scheme} is handled already`)
    addScheme(scheme)
    handlers.set(scheme, handler)
  }
}

export const session = {
  defaultSession: {
    setPermissionCheckHandler: (handler: CheckHandler) => void (checkPermission = handler),
    setPermissionRequestHandler: (handler: RequestHandler) => void (requestPermission = handler),
    setDevicePermissionHandler: (_handler: () => boolean) => {}
  }
}

/**
 * Returns the app's response to one of its URLs, which is given in the browser's form. null: a URL of another scheme.
 */
export async function answerFromApp(method: string, browserUrl: string): Promise<Response | null> {
  const handler = handlers.get(schemeOf(browserUrl) ?? '')
  return handler ? handler(new Request(toAppUrl(browserUrl), { method })) : null
}

/** Electron uses both handlers: check for `navigator.permissions.query`, request when a page needs a permission. */
export async function isPermissionGranted(permission: string, appUrl: string): Promise<boolean> {
  const details = { requestingUrl: appUrl }
  const origin = appUrl.split('/').slice(0, 3).join('/')
  const isRequestGranted = await new Promise<boolean>((resolve) =>
    requestPermission(null, permission, resolve, details)
  )
  return isRequestGranted && checkPermission(null, permission, origin, details)
}
