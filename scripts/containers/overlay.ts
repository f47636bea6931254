/**
 * Lines of a shell script that runs in a mount namespace of its own: `$root`, mounted at `place` (quoted), shows the
 * files of this machine; whatever is written there is gone with the namespace.
 */
export const overlayOfThisMachine = (place: string): string[] => [
  `mkdir -p ${place}`,
  `mount -t tmpfs none ${place}`,
  `mkdir ${place}/upper ${place}/work ${place}/root`,
  `mount -t overlay overlay -o lowerdir=/,upperdir=${place}/upper,workdir=${place}/work ${place}/root`,
  `root=${place}/root`
]
