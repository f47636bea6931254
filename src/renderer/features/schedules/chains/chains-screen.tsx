export function ChainsScreen() {
  return null
}
