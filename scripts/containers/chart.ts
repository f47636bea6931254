import { inRoot } from '../setup/platform.mjs'

export const CHART = inRoot('deploy', 'helm', 'scrapdeck')
export const HELM = { name: 'helm', module: 'helm.sh/helm/v4/cmd/helm@v4.3.1' }
export const POSTGRES = ['engine.mode=postgres', 'engine.store=postgres://scrapdeck@db/scrapdeck?sslmode=verify-full']
export const VALUE_SETS: Record<string, string[]> = {
  'the defaults: SQLite': [],
  'no Scrapyds': ['scrapyd.enabled=false', 'networkPolicy.enabled=false', 'podDisruptionBudget.enabled=false'],
  'PostgreSQL, S3 and a cache': [
    ...POSTGRES,
    'engine.blobs=s3://eggs/scrapdeck?region=eu-central-1',
    'engine.cache=redis://cache:6379/0',
    'secrets.existing=mine'
  ],
  everything: [
    ...POSTGRES,
    'engine.autoscaling.enabled=true',
    'scrapyd.keda.enabled=true',
    'ingress.enabled=true',
    'ingress.host=deck.example.org',
    'ingress.className=nginx',
    'ingress.tlsSecret=deck-tls',
    'engine.environment.SCRAPDECK_LOG_LEVEL=debug',
    'engine.persistence.storageClass=fast',
    'trustedProxies={10.0.0.0/8}',
    'imagePullSecrets[0].name=registry',
    'networkPolicy.from[0].namespaceSelector.matchLabels.name=ingress',
    'scrapyd.nodeSelector.pool=crawl',
    'engine.tolerations[0].key=spot'
  ]
}

export function setting(values: string[]): string[] {
  return values.flatMap((value) => ['--set', value])
}
