export const PULLING_COMPONENTS = {
  application: 'scrapdeck_node.app.application',
  spiderqueue: 'scrapdeck_node.spiderqueue.PullSpiderQueue',
  eggstorage: 'scrapdeck_node.eggstorage.PullEggStorage',
  jobstorage: 'scrapdeck_node.jobstorage.PullJobStorage'
} as const

const TOKEN_FILE = '/etc/scrapyd/scrapdeck-token'

/** Commands for the server, and lines for its scrapyd.conf. `address`: Scrapdeck's address as seen from the server. */
export function pullingSetup({ address, token }: { address: string; token: string }): {
  commands: string
  configuration: string
} {
  const url = address.endsWith('/') ? address : `${address}/`
  const isPlain = url.startsWith('http:') && !/^http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]/.test(url)
  return {
    commands: [
      '# resources/python/node of Scrapdeck, copied to the server',
      'pip install ./node',
      `(umask 077 && echo '${token}' > ${TOKEN_FILE})`
    ].join('\n'),
    configuration: [
      '[scrapyd]',
      ...Object.entries(PULLING_COMPONENTS).map(([option, value]) => `${option} = ${value}`),
      '',
      '[scrapdeck]',
      `url = ${url}`,
      `token_file = ${TOKEN_FILE}`,
      // Without TLS, the token can be intercepted.
      ...(isPlain ? ['allow_http = on'] : [])
    ].join('\n')
  }
}
