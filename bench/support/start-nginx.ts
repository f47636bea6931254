import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ServerProcess } from '../../src/engine/testing/server-process.ts'
import { until } from '../../src/engine/testing/until.ts'

/** Includes the directories in which Debian installs nginx, because only root's PATH contains them. */
const PATH = [process.env['PATH'], '/usr/sbin', '/usr/local/sbin'].join(delimiter)

export const whyNoNginx = (): string | null =>
  spawnSync('nginx', ['-v'], { env: { ...process.env, PATH } }).error === undefined
    ? null
    : 'this machine has no nginx (Debian: apt-get install nginx-light)'

export interface Nginx {
  stop(): Promise<void>
}

/** Starts a real nginx, configured as in docs/scaling.md but without TLS: one port for each group of engines. */
export async function startNginx(groups: readonly { port: number; addresses: readonly string[] }[]): Promise<Nginx> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-nginx-'))
  const upstreams = groups.map(({ port, addresses }, index) => {
    const servers = addresses.map((address) => `server ${new URL(address).host} max_fails=1 fail_timeout=2s;`)
    return `upstream engines${index} { ${servers.join(' ')} keepalive 64; }
      server { listen 127.0.0.1:${port}; location / { proxy_pass http://engines${index}; } }`
  })
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${join(directory, kind)};`
  )
  const text = `daemon off; worker_processes auto; pid ${join(directory, 'pid')}; error_log ${join(directory, 'errors')} warn;
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    events { worker_connections 4096; }
    http {
      access_log off; ${places.join(' ')}
      client_max_body_size 0; keepalive_requests 1000000;
      proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto http;
      proxy_buffering off; proxy_request_buffering off; proxy_connect_timeout 2s;
      ${upstreams.join('\n')}
    }`
  const file = join(directory, 'nginx.conf')
  writeFileSync(file, text)
  const server = new ServerProcess('nginx', ['-c', file, '-e', join(directory, 'errors')], {
    env: { ...process.env, PATH }
  })
  server.start()
  const isReady = () => fetch(`http://127.0.0.1:${groups[0]!.port}/health/live`).then(Boolean, () => false)
  await until('nginx', isReady, Boolean, 20_000)
  return {
    async stop() {
      // The workers end only if the master gets the signal.
      server.signal('SIGTERM')
      await until('the end of nginx', () => isReady().then((ready) => !ready), Boolean, 10_000)
      await server.kill()
      rmSync(directory, { recursive: true, force: true })
    }
  }
}
