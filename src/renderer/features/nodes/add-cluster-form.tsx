import { Button, PasswordInput, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { z } from 'zod'
import { KubernetesSettings, type NodeAddress, type NodeSettings } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { DialogFoot } from '../../ui/dialog.tsx'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'
import { FormFailure } from '../../ui/fields/form-failure.tsx'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { SchemaForm } from '../../ui/fields/schema-form.tsx'
import { textOrNull } from '../../ui/fields/texts.ts'
import { notifyDone } from '../../ui/notify.tsx'
import { texts } from '../../../shared/texts/ui/nodes.ts'

type NewCluster = NodeAddress & NodeSettings & { kubernetes: KubernetesSettings }

export function AddClusterForm({ onClose }: { onClose: () => void }) {
  const { client } = useApi()
  const [problem, setProblem] = useState<string | null>(null)
  const form = useFormOf<ClusterTexts, NewCluster>({
    schema,
    start: startCluster,
    save: async (cluster) => {
      setProblem(null)
      const found = await client.nodes.probe(cluster)
      if (found.health !== 'up' && found.duplicateOf === null) return setProblem(found.problem ?? texts.notResponding)
      const { name } = await client.nodes.add(cluster)
      notifyDone(texts.nodeAdded(name))
      onClose()
    }
  })
  const { url, kubeconfig } = form.values
  const usesKubeconfig = kubeconfig.trim() !== ''
  const isInCluster = url.trim().startsWith('in-cluster')
  return (
    <SchemaForm form={form} onEscape={onClose}>
      <Textarea
        {...form.input('kubeconfig')}
        label={texts.kubeconfig}
        description={texts.kubeconfigHint}
        {...CODE_INPUT}
        autosize
        minRows={2}
        maxRows={6}
      />
      {!usesKubeconfig && (
        <TextInput
          {...form.input('url')}
          label={texts.apiServer}
          description={texts.apiServerHint}
          placeholder="https://10.0.0.1:6443"
          {...CODE_INPUT}
          data-autofocus
        />
      )}
      <TextInput {...form.input('namespace')} label={texts.namespace} placeholder="default" {...CODE_INPUT} />
      {!usesKubeconfig && !isInCluster && (
        <>
          <PasswordInput
            {...form.input('password')}
            label={texts.token}
            description={texts.serviceTokenHint}
            autoComplete="off"
          />
          <Textarea
            {...form.input('caCertificate')}
            label={texts.caCertificate}
            description={texts.caCertificateHint}
            {...CODE_INPUT}
            minRows={2}
          />
        </>
      )}
      <TextInput {...form.input('image')} label={texts.image} description={texts.imageHint} {...CODE_INPUT} />
      <TextInput
        {...form.input('engineUrl')}
        label={texts.engineUrl}
        description={texts.engineUrlHint}
        placeholder={
          window.location.origin.startsWith('http') ? window.location.origin : 'https://scrapdeck.example.org'
        }
        {...CODE_INPUT}
      />
      <TextInput {...form.input('name')} label={texts.name} placeholder={texts.clusterNamePlaceholder} />
      <FormFailure error={form.failure ?? (problem === null ? null : new Error(problem))} />
      <DialogFoot>
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button type="submit" variant="filled" loading={form.isSaving}>
          {texts.addCluster}
        </Button>
      </DialogFoot>
    </SchemaForm>
  )
}

const startCluster = () => ({
  kubeconfig: '',
  url: '',
  namespace: '',
  password: '',
  caCertificate: '',
  image: '',
  engineUrl: '',
  name: ''
})
type ClusterTexts = ReturnType<typeof startCluster>

const schema: z.ZodType<NewCluster, ClusterTexts> = z
  .object({
    kubeconfig: textOrNull,
    url: z.string().trim(),
    namespace: z.string().trim(),
    password: textOrNull,
    caCertificate: textOrNull,
    image: z.string().trim().min(1, texts.imageMissing),
    engineUrl: textOrNull.pipe(KubernetesSettings.shape.engineUrl.unwrap()),
    name: textOrNull
  })
  .refine(({ kubeconfig, url }) => kubeconfig !== null || url !== '', { path: ['url'], error: texts.addressMissing })
  .transform(({ kubeconfig, url, namespace, password, caCertificate, image, engineUrl, name }) => ({
    url: addressOf(kubeconfig, url, namespace),
    kubeconfig,
    password,
    caCertificate,
    kubernetes: KubernetesSettings.parse({ engineUrl, pod: { image } }),
    ...(name !== null && { name })
  }))

function addressOf(kubeconfig: string | null, url: string, namespace: string): string {
  if (kubeconfig !== null) return namespace === '' ? 'kubeconfig' : `kubeconfig/${namespace}`
  if (url === 'in-cluster') return namespace === '' ? url : `${url}/${namespace}`
  if (/\/namespaces\/[^/]+\/?$/.test(url)) return url
  return `${url.replace(/\/$/, '')}/api/v1/namespaces/${namespace || 'default'}`
}
